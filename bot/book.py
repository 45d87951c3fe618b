"""Which book the settings name. What looks into the book, and into nothing else, loads no model and no Redis."""

from __future__ import annotations

from bot.settings import Settings
from bot.store import Database


def database_of(settings: Settings) -> Database:
    """The book that the settings name; not opened yet. Raises ConfigurationError."""
    if settings.database_url:
        return Database(
            settings.database_url.get_secret_value(),
            pooler=settings.database_pooler,
            connections=settings.database_connections,
        )
    return Database.in_folder(settings.data_dir)
