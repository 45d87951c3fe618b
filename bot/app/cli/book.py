"""What commands that look into the book share: its settings, times as people write them, one agent by its name."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bot.app.cli.process import WronglyCalled, log_quietly
from bot.errors import ConfigurationError, PalimpsestError
from bot.runtime.env_file import place_in_words

if TYPE_CHECKING:
    from bot.bus.bus import Bus
    from bot.runtime.settings import Settings
    from bot.store import Database

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class NothingFound(PalimpsestError):
    """Nothing of this name is there; the text is one sentence that says what to do."""


def settings_for_looking() -> Settings:
    """The settings, with a log that only says errors."""
    from bot.runtime.settings import load_settings

    settings = load_settings()
    log_quietly(settings)
    return settings


def moment(text: str, now: float) -> float:
    """A time in seconds since 1970: a UTC day (20261121, 2026-11-21, today, yesterday), a time in ISO 8601 (UTC where
    it names no zone), or so long ago (90m, 24h, 7d, 2w).

    Raises WronglyCalled for what is none.
    """
    word = text.strip().lower()
    if word in ("today", "yesterday") or re.fullmatch(r"\d{8}", word):
        return day_bounds(word, now)[0]
    if ago := _AGO.fullmatch(word):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])}).total_seconds()
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise WronglyCalled(
            f"{text!r} is no time: give a UTC day (20261121, today), a time (2026-11-21T10:30), or how long ago (24h)."
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def day_named(text: str, now: float) -> str:
    """A UTC day as the files are named, e.g. 20261121. Raises WronglyCalled for what is none."""
    today = datetime.fromtimestamp(now, UTC)
    words = {"today": today, "yesterday": today - timedelta(days=1)}
    if found := words.get(text.strip().lower()):
        return f"{found:%Y%m%d}"
    for form in ("%Y%m%d", "%Y-%m-%d"):
        try:
            return f"{datetime.strptime(text.strip(), form).replace(tzinfo=UTC):%Y%m%d}"
        except ValueError:
            continue
    raise WronglyCalled(f"{text!r} is no day: write it as 20261121, or today.")


def day_bounds(text: str, now: float) -> tuple[float, float]:
    """When that day begins and ends, in seconds since 1970. Raises WronglyCalled for what is none."""
    from bot.runtime.utc_day import bounds_of

    return bounds_of(day_named(text, now))


def refuse_missing_book(settings: Settings) -> None:
    """Raises ConfigurationError where the program has no book yet."""
    if not settings.database_url and not (settings.data_dir / "palimpsest.db").exists():
        raise ConfigurationError(
            f"There is no database in DATA_DIR={settings.data_dir.absolute()}. {place_in_words()} Call this in the "
            "folder in which you start the program."
        )


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Database]:
    """The book of the program. Raises ConfigurationError where there is none yet."""
    from bot.store.book import database_of

    refuse_missing_book(settings)
    database = database_of(settings)
    try:
        await database.open()
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def opened_with_files(settings: Settings) -> AsyncIterator[Database]:
    """The book of the program, where DATA_DIR holds the folders that belong to it. Raises ConfigurationError."""
    async with opened(settings) as database:
        await refuse_strange_files(settings, database)
        yield database


async def refuse_strange_files(settings: Settings, database: Database) -> None:
    """Raises ConfigurationError where the folders in DATA_DIR are those of another book."""
    from bot.store import volume

    async with database.read() as tx:
        known = await volume.known(tx) if settings.database_url else None
    if known and (reason := volume.strange(known, volume.read(settings.data_dir))):
        raise ConfigurationError(
            f"DATA_DIR={settings.data_dir} {reason}. Call this where the volume is that all processes share."
        )


@asynccontextmanager
async def bus_of(settings: Settings, database: Database) -> AsyncIterator[Bus]:
    """The bell of a program that runs; no server is started for it, and none may answer."""
    import asyncio

    from bot.app.embedded.valkey import EmbeddedValkey
    from bot.app.resources import bus_at
    from bot.runtime.tasks import stop
    from bot.store.book import bell_of

    url = settings.redis_url.get_secret_value() if settings.redis_url else EmbeddedValkey(settings.data_dir).url
    bus = bus_at(url, await bell_of(database))
    hearing = asyncio.create_task(bus.run())
    try:
        yield bus
    finally:
        await stop(hearing)
        await bus.close()
