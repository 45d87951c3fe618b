"""What was said in one conversation, as its people see it: the newest lines, and page by page what came before.

Lines come from the queues, which know most of them: the person's own, the program's notices, buttons, files. What was
settled long ago has left the queues (:mod:`bot.store.archive.settled`); then the history says it. An entry whose turn
still stands in a queue is left to that, so that nothing is shown twice.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sqlalchemy import BindParameter, RowMapping, Select, Text, and_, bindparam, cast, exists, func, or_, select

from bot.estimate.meter import MeterRecord
from bot.history import ASKED, EntryKind
from bot.history.file_headers import sent_path
from bot.messages import Address, Audience, Button, Kept, text_of
from bot.store.inbox import WAKE
from bot.store.outbox import NOTICE
from bot.store.schema import agents, compactions, entries, inbox, outbox, turns
from bot.store.tx import Tx

Who: TypeAlias = Literal["person", "model", "program"]
_COMPACTION = "🗜"
"""What status messages of compactions begin with."""
_END, _LAST_ENTRY = 2**62, 2**31 - 1
"""Above every number of a row, and of an entry."""


@dataclass(frozen=True)
class Line:
    """One thing that was said. ``id`` names it for ever, ``version`` tells two states of it apart; ``at`` in seconds
    since 1970."""

    id: str
    version: str
    who: Who
    at: float
    text: str
    buttons: tuple[Button, ...] = ()
    files: tuple[Kept, ...] = ()
    """A file without a path has not arrived (yet)."""
    key: str = ""
    """Of what a person said: the platform's own name of it."""
    ref: str = ""
    answers: str = ""
    waits: bool = False
    """It shows a mark that says so."""
    slot: int | None = None
    """Of a reply that is still being written: where it will stand."""
    payload: str = ""
    """Of what the program says: the same for machines."""


@dataclass(frozen=True)
class Place:
    """A place between two lines: what came before it has lower numbers in each of the three books."""

    heard: int = _END
    said: int = _END
    kept: int = _LAST_ENTRY

    def __str__(self) -> str:
        return f"{self.heard}.{self.said}.{self.kept}"

    @classmethod
    def parse(cls, text: str) -> Place:
        """What ``str`` made of one. Raises ValueError."""
        if not re.fullmatch(r"\d{1,19}\.\d{1,19}\.\d{1,19}", text, re.ASCII):
            raise ValueError(text)
        heard, said, kept = map(int, text.split("."))
        return cls(min(heard, _END), min(said, _END), min(kept, _LAST_ENTRY))


@dataclass(frozen=True)
class Conversation:
    """One conversation of a connector. ``meter``: None before its
    first answer; ``last``: what was said last, as far as the queues know it."""

    address: Address
    touched_at: float
    meter: MeterRecord | None
    last: str


_BELOW: BindParameter[int] = bindparam("below")
_MOST: BindParameter[int] = bindparam("most")
_NOT_SEEN = ("press", "delete", WAKE)
"""Events that are nothing that somebody said."""
_HEARD = (
    select(inbox)
    .where(inbox.c.agent_id == bindparam("agent"), inbox.c.kind.not_in(_NOT_SEEN), inbox.c.id < _BELOW)
    .order_by(inbox.c.id.desc())
    .limit(_MOST)
)
_SHOWS = or_(outbox.c.text != "", func.coalesce(cast(outbox.c.file, Text), "null") != "null")
"""It was not taken back."""
_SAID = (
    select(outbox)
    .where(
        outbox.c.connector == bindparam("of"),
        outbox.c.chat == bindparam("chat"),
        outbox.c.thread == bindparam("thread"),
        or_(outbox.c.state == "open", and_(outbox.c.state == "ready", _SHOWS)),
        outbox.c.id < _BELOW,
    )
    .order_by(outbox.c.id.desc())
    .limit(_MOST)
)
_IS_HEARD = exists().where(inbox.c.turn_id == entries.c.turn_id)
_IS_SAID = exists().where(turns.c.id == entries.c.turn_id, outbox.c.id == turns.c.slot)
_KEPT = (
    select(entries.c.seq, entries.c.blocks, entries.c.kind, entries.c.created_at)
    .where(
        entries.c.agent_id == bindparam("agent"),
        entries.c.seq < _BELOW,
        entries.c.layer.is_(None),
        entries.c.audience != Audience.MODEL,
        or_(
            and_(entries.c.kind.in_(sorted(ASKED)), or_(entries.c.turn_id.is_(None), ~_IS_HEARD)),
            and_(entries.c.kind == EntryKind.REPLY, or_(entries.c.turn_id.is_(None), ~_IS_SAID)),
        ),
    )
    .order_by(entries.c.seq.desc())
    .limit(_MOST)
)


async def lines(tx: Tx, address: Address, *, before: Place | None = None, most: int) -> tuple[list[Line], Place | None]:
    """The last lines before a place, the oldest first, and the place before them; None where nothing is before it."""
    place = before or Place()
    here = {"agent": address.agent_id, "of": address.connector, "chat": address.chat, "thread": address.thread}
    heard = await _book(tx, _HEARD, _heard, {**here, "below": place.heard}, most)
    said = await _book(tx, _SAID, _said, {**here, "below": place.said}, most)
    kept = _Book(deque(), is_whole=False, passed=place.kept)
    if are_older_kept := heard.is_whole and said.is_whole:
        kept = await _book(tx, _KEPT, _kept, {**here, "below": place.kept}, most)
    books = (heard, said, kept)
    taken = _newest(books if are_older_kept else books[:2], most)
    further = Place(heard.passed, said.passed, kept.passed)
    is_all = all(book.is_whole and not book.lines for book in books)
    return await _in_reading_order(tx, address, taken), None if is_all else further


@dataclass
class _Book:
    """Lines of one book by their numbers, the newest first. ``is_whole``: there are no older ones than these;
    ``passed``: the lowest number that was taken from it."""

    lines: deque[tuple[int, Line | None]]
    is_whole: bool
    passed: int

    def skip(self) -> None:
        """Past what is no line."""
        while self.lines and self.lines[0][1] is None:
            self.passed, _ = self.lines.popleft()


async def _book(
    tx: Tx, query: Select[Any], made: Callable[[RowMapping], Line | None], values: Mapping[str, Any], most: int
) -> _Book:
    """The first column of the query is the number."""
    rows = (await tx.execute(query, {**values, "most": most + 1})).mappings().all()
    number = query.selected_columns[0]
    found = deque((int(row[number]), made(row)) for row in rows[:most])
    return _Book(found, is_whole=len(rows) <= most, passed=values["below"])


def _newest(books: Sequence[_Book], most: int) -> list[Line]:
    """The newest lines of all books, each book in its own order."""
    taken: list[Line] = []
    while len(taken) < most:
        for book in books:
            book.skip()
        heads = [(line.at, book) for book in books if book.lines and (line := book.lines[0][1])]
        if not heads or any(not book.lines and not book.is_whole for book in books):
            break
        _, newest = max(heads, key=lambda head: head[0])
        newest.passed, line = newest.lines.popleft()
        if line:
            taken.append(line)
    return taken


_JUST_AFTER = 1e-5
_RANKS: Mapping[Who, int] = {"person": 0, "program": 1, "model": 2}
_SLOTS: BindParameter[int] = bindparam("slots", expanding=True)
_STATUSES = (
    select(turns.c.slot, compactions.c.status_slot)
    .join(turns, turns.c.id == compactions.c.turn_id)
    .where(compactions.c.agent_id == bindparam("agent"), compactions.c.status_slot.in_(_SLOTS))
)


async def _in_reading_order(tx: Tx, address: Address, taken: Sequence[Line]) -> list[Line]:
    """The oldest first. A reply has its place from the beginning of its turn; people read it after what it answers
    (another machine's clock may be behind), and after what was said of its files and of making room for it."""
    asked = {line.ref: line.at for line in taken if line.who == "person" and line.ref}
    at = {line.id: max(line.at, asked.get(line.answers, 0.0)) + _JUST_AFTER * _RANKS[line.who] for line in taken}
    if slots := [int(line.id[1:]) for line in taken if line.who == "program" and line.text.startswith(_COMPACTION)]:
        found = await tx.execute(_STATUSES, {"agent": address.agent_id, "slots": slots})
        for reply, status in found:
            if f"o{reply}" in at:
                at[f"o{reply}"] = max(at[f"o{reply}"], at[f"o{status}"] + _JUST_AFTER)
    taken = [*reversed(taken)]
    return sorted(taken, key=lambda line: at[line.id])


def _heard(row: RowMapping) -> Line:
    files = tuple(Kept(**file) if "path" in file else Kept(file["name"], size=file["size"] or 0)
                  for file in row["attachments"])  # fmt: skip
    return Line(
        id=f"i{row['id']}",
        version=f"{row['state'] == 'fetching':d}{row['marked']:d}{len(row['text'])}",
        who="person",
        at=row["received_at"],
        text=row["text"],
        files=files,
        key=row["key"],
        ref=row["ref"],
        waits=row["marked"],
    )


def _said(row: RowMapping) -> Line:
    file = row["file"]
    return Line(
        id=f"o{row['id']}",
        version=str(row["version"]),
        who="program" if row["kind"] == NOTICE else "model",
        at=row["created_at"],
        text=row["text"],
        buttons=tuple(Button(**button) for button in row["buttons"]),
        files=(Kept(file["name"], file["path"]),) if file else (),
        answers=row["answers"],
        slot=row["id"] if row["state"] == "open" else None,
        payload=row["payload"],
    )


def _kept(row: RowMapping) -> Line | None:
    """None for what people did not see: a reply that only called tools."""
    blocks = row["blocks"]
    files: tuple[Kept, ...] = ()
    text = text_of(blocks)
    if any(block.get("type") == "tool_use" for block in blocks) or not text.strip():
        return None
    if row["kind"] == EntryKind.FILE:
        path = sent_path(text)
        text, files = ("", (Kept(path.removeprefix("files/"), path),)) if path else (text, ())
    return Line(
        id=f"e{row['seq']}",
        version="",
        who="model" if row["kind"] == EntryKind.REPLY else "person",
        at=row["created_at"],
        text=text,
        files=files,
    )


_LAST = (
    select(outbox.c.text)
    .where(
        outbox.c.connector == agents.c.connector,
        outbox.c.chat == agents.c.chat,
        outbox.c.thread == agents.c.thread,
        outbox.c.state == "ready",
        outbox.c.text != "",
    )
    .order_by(outbox.c.id.desc())
    .limit(1)
    .scalar_subquery()
)


async def conversations(tx: Tx, connector: str, *, most: int, offset: int = 0) -> list[Conversation]:
    """The conversations of a connector, the last active first."""
    rows = await tx.execute(
        select(agents.c.connector, agents.c.chat, agents.c.thread, agents.c.touched_at, agents.c.meter, _LAST)
        .where(agents.c.connector == connector)
        .order_by(agents.c.touched_at.desc(), agents.c.id)
        .limit(most)
        .offset(offset)
    )
    return [Conversation(Address(*row[:3]), row[3], _record(row[4]), row[5] or "") for row in rows]


async def count(tx: Tx, connector: str) -> int:
    """How many it has."""
    found = await tx.execute(select(func.count()).select_from(agents).where(agents.c.connector == connector))
    return int(found.scalar_one())


async def meter(tx: Tx, address: Address) -> MeterRecord | None:
    """How full its context was when it last changed; None before that is known."""
    found = await tx.execute(select(agents.c.meter).where(agents.c.id == address.agent_id))
    return _record(found.scalar_one_or_none())


def _record(kept: Mapping[str, Any] | None) -> MeterRecord | None:
    return MeterRecord.from_json(kept) if kept else None
