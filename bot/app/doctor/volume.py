"""The volume that all hosts share: is DATA_DIR the one that the database knows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bot.app.doctor.case import Case
from bot.errors import StoreUnavailable
from bot.runtime.checks import Finding, ok, problem
from bot.store.book import database_of
from bot.store.volume import ADOPT, look, read, strange

PART = "volume"
_SECONDS = 8.0


async def check_volume(case: Case) -> Sequence[Finding]:
    """Only with a database that several hosts can share; whether that opens is another check's question."""
    settings = case.settings
    if not settings.database_url:
        return []
    database = database_of(settings)
    try:
        async with asyncio.timeout(_SECONDS), database.read() as tx:
            known = await look(tx)
    except (StoreUnavailable, TimeoutError):
        return []
    finally:
        await database.close()
    try:
        found = await asyncio.to_thread(read, settings.data_dir)
    except OSError as error:
        sentence = f"DATA_DIR={settings.data_dir} cannot be read: {error.strerror or error}."
        return [problem(PART, sentence, "Look whether the shared volume is mounted there.")]
    if known is None:
        advice = "Mount the volume that all processes share first: every host has to see the same files."
        return [ok(PART, "The database knows no volume yet; the first process that starts names its DATA_DIR.", advice)]
    if reason := strange(known, found):
        advice = (
            "Mount the volume there that all processes share. If this one is to be it from now on (a restored backup, "
            f"a new disk), run `{ADOPT}` here."
        )
        return [problem(PART, f"DATA_DIR={settings.data_dir} {reason}: the program does not start here.", advice)]
    return [ok(PART, f"{settings.data_dir} is the volume of this database.")]
