"""How a conversation is compacted, and what is remembered of it."""
