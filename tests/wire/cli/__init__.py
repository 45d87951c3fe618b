"""Commands of `palimpsest`, as processes."""
