"""The database: does it open, and do its tables fit this program."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

from bot.app.doctor.case import Case, revealed
from bot.errors import StoreUnavailable
from bot.runtime.checks import Finding, ok, problem, warning
from bot.runtime.settings import Settings
from bot.store.book import database_of
from bot.store.database import OWN_DATABASE, in_words
from bot.store.operators.state import StoreState, damage, state_of

PART = "database"
_OLDEST_POSTGRES = 13
_SECONDS = 8.0
_READ_SECONDS = 4.0


async def check_database(case: Case) -> Sequence[Finding]:
    """Looks and changes nothing: tables are made and upgraded when the program starts."""
    settings = case.settings
    if not settings.database_url and not (settings.data_dir / "palimpsest.db").exists():
        return [ok(PART, "There is no SQLite file in DATA_DIR yet; it is made at the first start.")]
    database = database_of(settings)
    try:
        async with asyncio.timeout(_SECONDS):
            found = await state_of(database)
            if not settings.database_url and (wrong := await asyncio.to_thread(_damage, settings)):
                return [wrong]
    except StoreUnavailable as error:
        return [_unavailable(settings, error.reason)]
    except TimeoutError:
        return [_unavailable(settings, f"no answer within {_SECONDS:.0f} s")]
    finally:
        await database.close()
    return [_judge(found)]


def _damage(settings: Settings) -> Finding | None:
    """A large file is not read to its end."""
    path = settings.data_dir / "palimpsest.db"
    wrong = damage(path, seconds=_READ_SECONDS)
    advice = "Stop everything, and put a backup in its place."
    return problem(PART, f"{path} is damaged: {wrong.rstrip('.')[:200]}.", advice) if wrong else None


def _judge(found: StoreState) -> Finding:
    if found.of_others:
        sentence = f"{found.server} opens, and is another program's: it has {in_words(found.of_others)}."
        return problem(PART, sentence, OWN_DATABASE)
    if found.is_newer:
        advice = "Start the newer program, or restore the backup that was made before its upgrade."
        return problem(PART, f"{found.server}: its tables are of a newer version of this program.", advice)
    if found.postgres and found.postgres < _OLDEST_POSTGRES:
        advice = f"Upgrade to PostgreSQL {_OLDEST_POSTGRES} or newer: this one gets no fixes any more."
        return warning(PART, f"{found.server} opens.", advice)
    if found.revision is None:
        return ok(PART, f"{found.server} opens and is empty; the tables are made at the first start.")
    if found.is_older:
        return ok(PART, f"{found.server} opens; its tables are upgraded at the next start.", "Make a backup first.")
    return ok(PART, f"{found.server} opens, and its tables are up to date.")


def _unavailable(settings: Settings, reason: str) -> Finding:
    if not settings.database_url:
        advice = "Look whether the file is damaged or belongs to another user; a backup can be put in its place."
        return problem(PART, f"{settings.data_dir / 'palimpsest.db'} cannot be opened: {reason.rstrip('.')}.", advice)
    url = revealed(settings.database_url)
    place = urlsplit(url)
    if "@" in url and "@" not in place.netloc:  # what follows would be a piece of the password
        advice = "Write / as %2F, # as %23, ? as %3F and @ as %40 in the password of DATABASE_URL."
        return problem(PART, "DATABASE_URL cannot be read: its password holds a letter with a meaning in URLs.", advice)
    where = f"{place.netloc.rpartition('@')[2] or 'no host'}{place.path}"
    advice = (
        "Check host, port, user, password and database name in DATABASE_URL, that PostgreSQL runs, and that it takes "
        "connections from this machine (listen_addresses, pg_hba.conf, firewall)."
    )
    return problem(PART, f"DATABASE_URL: {where} cannot be opened: {reason.rstrip('.')}.", advice)
