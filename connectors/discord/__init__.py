"""Discord: direct messages, channels and threads."""

from connectors.discord.connector import Discord

__all__ = ["Discord"]
