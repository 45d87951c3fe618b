"""`palimpsest pair`: who may talk to the bot because of a code. It opens the database and nothing else."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.app.cli.book import opened, settings_for_looking
from bot.app.cli.process import one_line_errors, run_to_its_end
from bot.app.cli.text import json_text
from bot.bus import topics
from bot.bus.topics import Topic
from bot.errors import PalimpsestError

if TYPE_CHECKING:
    from bot.runtime.settings import Settings
    from bot.store import Database
    from bot.store.people import Person

app = typer.Typer(help="Let people in by their codes, and forget them again.", no_args_is_help=True)


class NobodyFound(PalimpsestError):
    """No such code, or no such person; the text is one sentence that says what to do."""


@app.command("list")
def list_people(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Who was let in, and who waits with which code."""
    with one_line_errors():
        settings = settings_for_looking()
        found = run_to_its_end(_everybody(settings))
        if as_json:
            print(json_text([_as_json(person) for person in found]))
            return
        for line in _table(found):
            print(line)


@app.command()
def approve(code: Annotated[str, typer.Argument(help="What the person was told, e.g. ABCD-EFGH.")]) -> None:
    """Let in whoever has this code, and tell them in their chat."""
    with one_line_errors():
        settings = settings_for_looking()
        person = run_to_its_end(_approve(settings, code.strip().upper()))
        print(f"{_id(person)} ({_shown(person.name)}) is let in.")
        if settings.access != "pairing" and _id(person) not in settings.allow | settings.admins:
            print(f"ACCESS={settings.access}: people who were let in by a code count only with ACCESS=pairing.")


@app.command()
def revoke(person: Annotated[str, typer.Argument(help="As the list names them, e.g. telegram:12345.")]) -> None:
    """Forget somebody: what they write from now on is not taken, and their code is worth nothing."""
    connector, _, name = person.strip().partition(":")
    if not connector or not name:
        raise typer.BadParameter("a person is connector:id, e.g. telegram:12345; `palimpsest pair list` names them")
    with one_line_errors():
        settings = settings_for_looking()
        known = run_to_its_end(_revoke(settings, connector, name))
        named = [list_ for list_ in ("ALLOW", "ADMINS") if person.strip() in getattr(settings, list_.lower())]
        still = f"{person.strip()} is in {' and '.join(named)} and may talk because of that." if named else ""
        if not known:
            raise NobodyFound(f"I know no {person.strip()}. {still or '`palimpsest pair list` says whom I know.'}")
        print(f"{person.strip()} is forgotten. {still}".rstrip())


async def _everybody(settings: Settings) -> list[Person]:
    from bot.store import people

    async with opened(settings) as database, database.read() as tx:
        return await people.everybody(tx, now=database.clock())


async def _approve(settings: Settings, code: str) -> Person:
    from bot.store import people

    async with opened(settings) as database:
        async with database.write() as tx:
            now = database.clock()
            person = await people.let_in(tx, code, now=now)
            if person is None:
                raise NobodyFound(
                    f"I know no code {code}, or it has expired. `palimpsest pair list` shows who waits; whoever writes "
                    "to the bot an hour later gets a new code."
                )
        await ring(settings, database, topics.outbox(person.connector))
        return person


async def _revoke(settings: Settings, connector: str, person: str) -> bool:
    from bot.store import people

    async with opened(settings) as database, database.write() as tx:
        return await people.revoke(tx, connector, person)


async def ring(settings: Settings, database: Database, topic: Topic) -> None:
    """For a program that runs; without a bell its sweep finds the message within 5 s. No server is started for it."""
    from bot.app.embedded.valkey import EmbeddedValkey
    from bot.bus.bus import Bus
    from bot.store.book import bell_of

    url = settings.redis_url.get_secret_value() if settings.redis_url else EmbeddedValkey(settings.data_dir).url
    bell = await bell_of(database)
    with suppress(ValueError):  # not a URL; who serves says so
        bus = Bus(url, bell)
        bus.ring(topic)
        await bus.close()


def _id(person: Person) -> str:
    return f"{person.connector}:{person.person}"


def _shown(name: str) -> str:
    """A name that somebody gave themselves, without what a terminal would obey."""
    return re.sub(r"\s+", " ", "".join(letter for letter in name if letter.isprintable())).strip() or "no name"


def _expires(person: Person) -> str | None:
    """When the code does; None for who was let in."""
    if person.state != "pending":
        return None
    return datetime.fromtimestamp(person.expires_at, UTC).isoformat(timespec="seconds")


def _as_json(person: Person) -> dict[str, Any]:
    waits = person.state == "pending"
    return {
        "person": _id(person),
        "name": person.name,
        "state": person.state,
        "code": person.code if waits else None,
        "expires": _expires(person),
    }


def _table(found: list[Person]) -> list[str]:
    if not found:
        return ["Nobody was let in by a code, and nobody waits."]
    width = max(len(_id(person)) for person in found)
    lines = []
    for person in found:
        state = f"waits with {person.code} until {_expires(person)}" if person.state == "pending" else "let in"
        lines.append(f"{_id(person):{width}}  {state}  {_shown(person.name)}")
    return lines
