"""How a conversation goes."""
