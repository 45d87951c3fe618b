"""arq: where summaries are written."""
