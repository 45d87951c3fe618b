"""Chat Completions over HTTP, spoken by the same server as the Messages API: `rules` refuse, `reading` hands what was
asked to the one brain, `shapes` are how an answer is cut into chunks, `manners` is how each provider differs."""
