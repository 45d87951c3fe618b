"""`palimpsest import`: what was said with other programs becomes conversations of this one."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.app.cli.book import NothingFound, bus_of, refuse_strange_files, settings_for_looking
from bot.app.cli.process import Json, WronglyCalled, one_line_errors, run_to_its_end
from bot.app.cli.text import columns, cut, json_text

if TYPE_CHECKING:
    from bot.app.archive.foreign import ForeignConversation, ForeignMessage, FormatName, Part, Reader
    from bot.app.archive.moving_in import Brought, Where
    from bot.runtime.settings import Settings
    from bot.store import Database

_OWN_CONNECTORS = ("terminal", "web")
_FORMATS = ("chatgpt", "claude", "telegram", "openclaw", "hermes")
_LONGEST_TITLE = 60
_SHOWN = 20


@dataclass
class _Looked:
    """One conversation of a file."""

    conversation: ForeignConversation
    messages: int = 0
    first: float | None = None
    last: float | None = None

    def saw(self, message: ForeignMessage) -> None:
        """One of its messages."""
        self.messages += 1
        if message.at is not None:
            self.first = message.at if self.first is None else min(self.first, message.at)
            self.last = message.at if self.last is None else max(self.last, message.at)


def import_(  # noqa: PLR0917  # each is an option of the command line
    file: Annotated[Path, typer.Argument(help="An export: a file, a zip archive or a folder.", show_default=False)],
    form: Annotated[
        str, typer.Option("--format", help=f"Whose it is ({', '.join(_FORMATS)}), if it is not recognised.")
    ] = "",
    listed: Annotated[bool, typer.Option("--list", help="Only say what is in it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be brought where.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="A conversation's title or id; may be repeated.")] = None,
    into: Annotated[
        str,
        typer.Option(help="terminal or web: each into one of its own there; or the id of one conversation for all."),
    ] = "terminal",
    as_json: Json = False,
) -> None:
    """Bring conversations over from ChatGPT, Claude, Telegram Desktop, OpenClaw or Hermes; or one of its own back."""
    with one_line_errors():
        if form and form not in _FORMATS:
            raise WronglyCalled(f"{form!r} is no format: --format takes {', '.join(_FORMATS)}.")
        if _is_own(file):
            _import_own(file, plain=not (form or listed or dry_run or only or into != "terminal"), as_json=as_json)
            return
        with _opened(file, form) as (reader, parts):
            if listed:
                _print_looked(reader, _look(reader, parts, only or []), as_json=as_json)
                return
            settings = settings_for_looking()
            if dry_run:
                found = run_to_its_end(_try(settings, reader, parts, only or [], into))
            else:
                found = run_to_its_end(_bring(settings, reader, parts, only or [], into))
        _print_brought(reader, found, would=dry_run, as_json=as_json)


def _is_own(path: Path) -> bool:
    """Whether `agents export` wrote it."""
    from zipfile import BadZipFile, ZipFile

    from bot.app.archive.exporting import MANIFEST

    try:
        with ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (BadZipFile, OSError, ValueError):
        return False


def _import_own(path: Path, *, plain: bool, as_json: bool) -> None:
    from bot.app.cli.export_import import import_ as import_own

    if not plain:
        raise WronglyCalled(f"{path} is a conversation of this program: it is brought back whole, without options.")
    import_own(path, as_json=as_json)


@contextmanager
def _opened(path: Path, form: str) -> Iterator[tuple[Reader, Sequence[Part]]]:
    from bot.app.archive.foreign import reader_of, source_at

    with source_at(path) as source:
        wanted: FormatName | None = form or None  # type: ignore[assignment]
        yield reader_of(source, wanted)


def _look(reader: Reader, parts: Sequence[Part], wanted: Sequence[str]) -> list[_Looked]:
    """What is in a file."""
    from bot.app.archive.moving_in import only

    found: list[_Looked] = []
    for conversation, messages in only(reader.read(parts), wanted):
        one = _Looked(conversation)
        for message in messages:
            one.saw(message)
        found.append(one)
    _refuse_nothing(found, wanted)
    return found


def _refuse_nothing(found: Sequence[object], wanted: Sequence[str]) -> None:
    if not found and wanted:
        raise NothingFound(f"There is no conversation {wanted[0]!r} in it: --list shows which there are.")
    if not found:
        raise NothingFound("There is no conversation in it.")


async def _try(
    settings: Settings, reader: Reader, parts: Sequence[Part], wanted: Sequence[str], into: str
) -> list[Brought]:
    """What would be brought where."""
    from bot.app.archive.moving_in import look_at, only

    async with _book(settings) as database, bus_of(settings, database) as bus:
        where = await _where(settings, database, into)
        found = [one async for one in look_at(only(reader.read(parts), wanted), database, bus, where)]
    _refuse_nothing(found, wanted)
    return found


async def _bring(
    settings: Settings, reader: Reader, parts: Sequence[Part], wanted: Sequence[str], into: str
) -> list[Brought]:
    from bot.app.archive import moving_in
    from bot.estimate import family_of

    for part in parts:
        part.check()  # of a file that breaks off nothing is brought
    async with _book(settings) as database, bus_of(settings, database) as bus:
        where = await _where(settings, database, into)
        found: list[Brought] = []
        bringing = moving_in.bring_in(
            moving_in.only(reader.read(parts), wanted),
            database,
            bus,
            where,
            family=family_of(settings.model),
            size=sum(part.size for part in parts),
        )
        with _told_where_it_stopped(found):
            async with aclosing(bringing):
                async for brought in bringing:
                    found.append(brought)
                    _progress(found)
    _refuse_nothing(found, wanted)
    return found


@contextmanager
def _told_where_it_stopped(found: Sequence[Brought]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        print(
            f"palimpsest: {len(found):,} conversations are whole; of the others nothing is seen. The same command goes "
            "on from there.",
            file=sys.stderr,
        )
        raise
    finally:
        _progress([], end=True)


def _progress(found: Sequence[Brought], *, end: bool = False) -> None:
    """One line that changes, where somebody looks on."""
    if sys.stderr.isatty():
        with_any = sum(bool(one.messages) for one in found)
        said = "" if end else f"{with_any:,} conversations, {sum(one.messages for one in found):,} messages"
        print(f"\r{said:60}\r", end="", file=sys.stderr, flush=True)


@asynccontextmanager
async def _book(settings: Settings) -> AsyncIterator[Database]:
    """The book of the program, which is made where there is none yet: moving in may come first."""
    from bot.store.book import database_of

    database = database_of(settings)
    try:
        await database.open()
        await refuse_strange_files(settings, database)
        yield database
    finally:
        await database.close()


async def _where(settings: Settings, database: Database, into: str) -> Where:
    """Raises WronglyCalled, NothingFound."""
    from bot.app.archive.moving_in import Where
    from bot.messages import NAMES, Address, AgentId, is_name
    from bot.runtime.zones import default_zone
    from bot.store import zones
    from bot.store.operators import conversations

    zone = default_zone(settings.timezone) if settings.agents.tell_time else ""
    if into in _OWN_CONNECTORS:
        return Where(into, zone=zone)
    async with database.read() as tx:
        known = await conversations.get(tx, AgentId(into))
        chosen = await zones.of_chat(tx, known.address) if known else ""
    if known:
        return Where(known.address.connector, known.address, chosen if zone and chosen else zone)
    connector, _, name = into.partition("-")
    if connector not in _OWN_CONNECTORS:
        raise NothingFound(f"There is no conversation {into}: `palimpsest agents list` shows which there are.")
    if not is_name(name):
        raise WronglyCalled(f"{into!r} is no conversation: {NAMES}.")
    return Where(connector, Address(connector, name), zone)


def _print_looked(reader: Reader, found: Sequence[_Looked], *, as_json: bool) -> None:
    if as_json:
        shown = [
            {
                "id": one.conversation.id,
                "title": one.conversation.title,
                "messages": one.messages,
                "first": _day(one.first),
                "last": _day(one.last),
            }
            for one in found
        ]
        print(json_text({"format": reader.name, "conversations": shown}))
        return
    rows = [
        (
            cut(one.conversation.title or "(no title)", _LONGEST_TITLE),
            f"{one.messages:,}",
            _day(one.first) or "",
            _day(one.last) or "",
            one.conversation.id,
        )
        for one in found
    ]
    for row in columns([("title", "messages", "from", "to", "id"), *rows]):
        print(row)
    said = sum(bool(one.messages) for one in found)
    empty = f" ({_count(len(found) - said, 'empty one')} besides)" if said < len(found) else ""
    print(
        f"{reader.program}: {_count(said, 'conversation')}{empty}, {_count(sum(o.messages for o in found), 'message')}."
    )


def _print_brought(reader: Reader, found: Sequence[Brought], *, would: bool, as_json: bool) -> None:
    if as_json:
        shown = [
            {
                "id": one.conversation.id,
                "title": one.conversation.title,
                "agent": one.agent_id,
                "new": one.messages,
                "known": one.known,
                "back": one.back,
            }
            for one in found
        ]
        print(json_text({"format": reader.name, "dry_run": would, "conversations": shown}))
        return
    told = [one for one in found if one.messages or one.back]
    for row in columns([_cells(one) for one in told[:_SHOWN]]):
        print(row)
    if len(told) > _SHOWN:
        print(f"{len(told) - _SHOWN:,} more; --json names all.")
    new, known = sum(one.messages for one in found), sum(one.known for one in found)
    verb = "would be brought over" if would else "brought over"
    there = f"; {_count(known, 'message')} {'was' if known == 1 else 'were'} there already" if known else ""
    said = sum(bool(one.messages or one.known or one.back) for one in found)  # and not those in which nothing stands
    print(f"{reader.program}: {_count(new, 'message')} of {_count(said, 'conversation')} {verb}{there}.")
    first = next((one.agent_id for one in told), "")
    if first.startswith("terminal-") and not would:
        print(f"`palimpsest chat --agent {first.removeprefix('terminal-')}` goes on with it.")
    elif first.startswith("web-") and not would:
        print(f"/chat/{first.removeprefix('web-')} on the page goes on with it.")


def _cells(one: Brought) -> tuple[str, ...]:
    count = _count(one.messages, "message") if one.messages else "back again"
    return one.agent_id, count, cut(one.conversation.title, _LONGEST_TITLE)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _day(at: float | None) -> str | None:
    return None if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"
