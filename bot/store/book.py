"""Which book the settings name. What looks into the book, and into nothing else, loads no model and no Redis."""

from __future__ import annotations

from bot.runtime.settings import Settings
from bot.store import Database, installation


def database_of(settings: Settings) -> Database:
    """The book that the settings name; not opened yet. Raises ConfigurationError."""
    if settings.database_url:
        return Database(
            settings.database_url.get_secret_value(),
            pooler=settings.database_pooler,
            connections=settings.database_connections,
        )
    return Database.in_folder(settings.data_dir)


async def bell_of(database: Database) -> str:
    """What the processes on this book are called in Redis. Raises StoreUnavailable."""
    async with database.read() as tx:
        known = await installation.look_for_bell(tx)
    if known is None:
        async with database.write() as tx:
            known = await installation.bell_of(tx)
    return known
