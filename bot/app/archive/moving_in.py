"""Brings conversations of other programs (:mod:`bot.app.archive.foreign`) into the book.

::

    file ─▶ conversations, message by message ─▶ pieces of a megabyte ─▶ words and tokens counted (other processes)
                                                                       ─▶ some pieces a transaction: entries, beneath
                                                                          a layer that sets them aside
                     the last piece of a conversation ─▶ that layer goes, and one comes that says what lies beneath

So no more than some pieces of a file are in memory, and the rest of the program waits for a short transaction at most.
An import that is cut off leaves what it has written set aside: nobody sees it, and the same import goes on from there,
since every message has a key that names it for ever.
"""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2s
from multiprocessing import get_context
from typing import Self

from bot.app.archive.foreign import READERS, ForeignConversation, ForeignMessage, Piece
from bot.app.archive.taking import Hold, taken, wake
from bot.bus.bus import Bus
from bot.compaction import Plan
from bot.compaction.facts.candidates import candidates_by_entry
from bot.compaction.facts.choice import checkpoint_of
from bot.compaction.facts.life import merged
from bot.compaction.plan import Inserted
from bot.errors import PalimpsestError
from bot.estimate import Family
from bot.estimate.cuts import beginning, cut_before
from bot.history import ASKED, IMPORTED, SET_ASIDE, Entry, EntryKind, Layer, Ranges, merge_ranges
from bot.history.entries import entries_tokens, entry_tokens
from bot.history.entry_text import text_to_find
from bot.history.quotations import quotation_block, spoken_by
from bot.history.times import Said
from bot.messages import Address, AgentId, Block, Quote, Role, as_quoted, cleaned, in_brackets, text_block
from bot.runtime.zones import local_time
from bot.store import Database, Tx, agents, histories
from bot.store.archive import moving_in
from bot.store.archive.moving_in import Dated
from bot.store.search.words import Counted, counted, remember

_LONGEST_ENTRY = 50_000
"""Characters: a longer text is several entries, so that all of its words are found."""
_LONGEST_WORD = 500
_MOST_MESSAGES, _MOST_CHARACTERS = 500, 250_000
"""Of a piece that is counted and written at once."""
_MOST_AT_ONCE = 1_000_000
"""Characters of one transaction. Each costs the same besides, and leaves the index of words a piece to merge."""
_AHEAD = 500_000
"""Characters that are being counted while others are written."""
_EACH = 20_000
"""What a piece costs besides its characters, in characters: it may be a conversation of its own."""
_REMEMBERED = 2_000
"""Messages of a conversation, the last ones, that another may quote by answering it."""
_LONGEST_QUOTE, _LOOKED_AT = 200, 1_000
"""Characters of a quotation, and of the text from which it is made."""
_FEW = 2_000_000
"""Characters of an import that is counted here: for less it does not pay to start other processes."""
_MOST_PROCESSES = 4
_WORDS = 60_000
"""That each of them keeps at hand: some thirty megabytes, and half of its time."""

_TAIL_TOKENS, _TAIL_MESSAGES = 1_200, 8
"""What stays in view, word for word, of a conversation that goes on as its own."""
_FACTS_FROM, _FACTS_CHARACTERS, _FACTS_TOKENS = 40, 12_000, 600
"""The last entries in which facts are looked for, and the room for them."""
_MESSAGES = ASKED | {EntryKind.REPLY}
_FIRST_SEQ = 2
"""Of a new conversation, after the note that begins it."""
_LONGEST_NAME = 40
_LONGEST_TITLE = 120


class CannotMoveIn(PalimpsestError):
    """The text is one sentence that says why, and what to do."""


@dataclass(frozen=True)
class Where:
    """Where conversations go: each into one of its own of this ``connector``, or all into ``agent``, whose address it
    is. ``zone``: the IANA name of the time zone by which models are told when things were said; empty: they are not."""

    connector: str
    agent: Address | None = None
    zone: str = ""


@dataclass
class Brought:
    """What became of one conversation. ``known``: messages that were there already; ``back``: it had been taken away,
    and is there again."""

    conversation: ForeignConversation
    agent_id: AgentId
    messages: int = 0
    known: int = 0
    back: bool = False


@dataclass(frozen=True)
class _Item:
    """An entry in the making. ``key``: of the message, where it is the first entry of one."""

    kind: EntryKind
    blocks: tuple[Block, ...]
    at: float
    person: str
    key: str
    said: Said | None = None

    @property
    def role(self) -> Role:
        return "assistant" if self.kind is EntryKind.REPLY else "user"


@dataclass(frozen=True)
class _Chunk:
    """Some of a conversation, in its order: of each message its entries, which have so many ``characters``."""

    conversation: ForeignConversation
    messages: Sequence[Sequence[_Item]]
    characters: int
    is_first: bool
    is_last: bool

    @property
    def size(self) -> int:
        """What it costs, in characters."""
        return self.characters + _EACH


Counts = tuple[int, Counted]


@dataclass
class _Target:
    """The conversation of ours that one of theirs goes into."""

    brought: Brought
    address: Address
    is_there: bool
    aside: list[Layer] = field(default_factory=list)
    """What lies over stretches of it that are out of sight."""
    epoch: int | None = None
    """Of this import, once it has written."""
    is_new: bool = False
    """It begins with this import."""
    layer: Layer | None = None
    """Over what this import has written so far, where that is not all of it."""
    span: tuple[int, int] | None = None
    """What it has written so far."""
    recent: deque[_Item] = field(default_factory=lambda: deque(maxlen=_FACTS_FROM))
    """The last of what was taken."""
    taken: int = 0
    """Entries that were."""
    written: deque[Entry] = field(default_factory=lambda: deque(maxlen=_FACTS_FROM))
    """The last of what was written."""
    extent: moving_in.Extent | None = None
    """Of what was written."""

    @property
    def id(self) -> AgentId:
        return self.address.agent_id


@dataclass(frozen=True)
class _Ready:
    """What is to be written of a chunk, counted."""

    chunk: _Chunk
    target: _Target
    items: Sequence[_Item]
    messages: int
    counts: asyncio.Future[list[Counts]]
    checkpoint: asyncio.Future[str] | None
    """What is known from the last entries, where their numbers are known before they are written."""


async def bring_in(
    found: Iterator[tuple[ForeignConversation, Iterator[ForeignMessage]]],
    database: Database,
    bus: Bus,
    where: Where,
    *,
    family: Family,
    size: int,
) -> AsyncGenerator[Brought]:
    """Bring these conversations in, one after the other. ``size``: bytes of all, about.

    Raises CannotMoveIn, BadExport, StoreUnavailable.
    """
    async with _Counting(family, size) as counting, _MovingIn(database, bus, where, counting) as work:
        chunks = _chunks(found, where)
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            async for brought in work.take(chunk):
                yield brought
        async for brought in work.finish():
            yield brought


async def look_at(
    found: Iterator[tuple[ForeignConversation, Iterator[ForeignMessage]]], database: Database, bus: Bus, where: Where
) -> AsyncIterator[Brought]:
    """What :func:`bring_in` would bring where; nothing is written. Raises BadExport, StoreUnavailable."""
    work = _MovingIn(database, bus, where, None)
    for chunk in _chunks(found, where):
        brought = await work.look(chunk)
        if chunk.is_last:
            yield brought


class _MovingIn:
    def __init__(self, database: Database, bus: Bus, where: Where, counting: _Counting | None) -> None:
        self._database = database
        self._bus = bus
        self._where = where
        self._counting = counting
        self._ready: deque[_Ready] = deque()
        self._waiting = 0
        """The size of these."""
        self._target: _Target | None = None
        """Of the conversation that is being read."""
        self._named: set[AgentId] = set()
        """Conversations that begin with this import."""
        self._seen: set[str] = set()
        self._held = AsyncExitStack()
        self._holds: set[AgentId] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._held.aclose()
        for agent_id in self._holds:
            await wake(self._database, self._bus, agent_id)

    async def take(self, chunk: _Chunk) -> AsyncIterator[Brought]:
        """Have it counted, and write what is."""
        if chunk.is_first:
            if chunk.conversation.key in self._seen:  # it stands there twice: its messages are to be known
                async for brought in self.finish():
                    yield brought
            self._seen.add(chunk.conversation.key)
            self._target = await self._target_of(chunk.conversation)
        target, counting = self._target, self._counting
        assert target is not None
        assert counting is not None
        news = await self._news(target, chunk.messages)
        items = [item for message in news for item in message]
        target.brought.known += len(chunk.messages) - len(news)
        target.recent.extend(items)
        target.taken += len(items)
        checkpoint = None
        if chunk.is_last and target.is_new and target.taken:
            checkpoint = counting.checkpoint_of(target.recent, _FIRST_SEQ + target.taken)
        self._ready.append(_Ready(chunk, target, items, len(news), counting.of(items), checkpoint))
        self._waiting += chunk.size
        while self._waiting > _AHEAD + _MOST_AT_ONCE:
            async for brought in self._write_some():
                yield brought

    async def look(self, chunk: _Chunk) -> Brought:
        """What would become of it."""
        if chunk.is_first or self._target is None:
            self._target = await self._target_of(chunk.conversation)
        brought, news = self._target.brought, await self._news(self._target, chunk.messages)
        brought.messages += len(news)
        brought.known += len(chunk.messages) - len(news)
        brought.back = bool(self._target.aside) and not brought.messages
        return brought

    async def finish(self) -> AsyncIterator[Brought]:
        """Write all that was taken."""
        while self._ready:
            async for brought in self._write_some():
                yield brought

    async def _target_of(self, conversation: ForeignConversation) -> _Target:
        where = self._where
        async with self._database.read() as tx:
            if where.agent:
                address = where.agent
            else:
                own = [name for name in await moving_in.holders(tx, conversation.key) if _is_of(name, where.connector)]
                address = _address_of(own[0]) if own else await self._new_address(tx, conversation)
            is_there = await moving_in.connector_of(tx, address.agent_id) is not None
            aside = await moving_in.set_aside(tx, address.agent_id, conversation.key) if is_there else []
        is_new = not is_there and address.agent_id not in self._named
        self._named.add(address.agent_id)
        return _Target(Brought(conversation, address.agent_id), address, is_there, aside, is_new=is_new)

    async def _new_address(self, tx: Tx, conversation: ForeignConversation) -> Address:
        name, number = name_of(conversation), 1
        while True:
            address = Address(self._where.connector, name if number == 1 else f"{name}-{number}")
            is_free = await moving_in.connector_of(tx, address.agent_id) is None
            if is_free and address.agent_id not in self._named:
                return address
            number += 1

    async def _news(self, target: _Target, messages: Sequence[Sequence[_Item]]) -> list[Sequence[_Item]]:
        """Those that are not in the book, each once."""
        keys = [message[0].key for message in messages]
        there: set[str] = set()
        if target.is_there and keys:
            async with self._database.read() as tx:
                there.update(await moving_in.known(tx, target.id, keys))
        news: list[Sequence[_Item]] = []
        for key, message in zip(keys, messages, strict=True):
            if key not in there:
                there.add(key)
                news.append(message)
        return news

    async def _write_some(self) -> AsyncIterator[Brought]:
        """One transaction, of as much as is worth one."""
        some, size = list[_Ready](), 0
        while self._ready and size < _MOST_AT_ONCE:
            one = self._ready.popleft()
            await one.counts
            if one.checkpoint:
                await one.checkpoint
            if one.items or one.target.aside:
                await self._hold(one.target)
            some.append(one)
            size += one.chunk.size
        self._waiting -= size
        async with self._database.write() as tx:
            for one in some:
                await self._write(tx, one)
        for one in some:
            if one.chunk.is_last:
                yield one.target.brought

    async def _hold(self, target: _Target) -> None:
        """Nobody else writes into a conversation that is there."""
        if not target.is_there or target.epoch is not None or target.id in self._holds:
            return
        hold = await self._held.enter_async_context(taken(self._database, self._bus, target.id))
        self._holds.add(target.id)
        if hold is Hold.HELD:
            raise CannotMoveIn(f"{target.id} is busy, and does not let go of itself: try again when it is not.")

    async def _write(self, tx: Tx, ready: _Ready) -> None:
        target, brought = ready.target, ready.target.brought
        is_last, now = ready.chunk.is_last, self._database.clock()
        if not ready.items and not (is_last and (target.aside or target.span)):
            return
        await self._begin(tx, ready)
        if ready.items:
            await self._append(tx, target, ready.items, await ready.counts)
            brought.messages += ready.messages
            if not is_last:
                await self._set_aside(tx, target)
        if is_last:
            known = await ready.checkpoint if ready.checkpoint else None
            await _show(tx, target, is_own=self._where.agent is None, checkpoint=known, now=now)
            await agents.set_starts(tx, target.id, 0)

    async def _begin(self, tx: Tx, ready: _Ready) -> None:
        """Be the only one that writes there."""
        target = ready.target
        if target.epoch is not None:
            if await agents.epoch(tx, target.id) != target.epoch:
                raise CannotMoveIn(
                    f"Somebody else writes into {target.id}: what was read of it stays out of sight. The same command "
                    "goes on from there."
                )
            return
        now = self._database.clock()
        await agents.ensure(tx, target.address, now=target.brought.conversation.at or now)
        row = await agents.claim(tx, target.id)
        assert row is not None
        target.epoch, target.is_there = row.epoch, True

    async def _append(self, tx: Tx, target: _Target, items: Sequence[_Item], counts: Sequence[Counts]) -> None:
        first = (target.span[1] if target.span else await histories.last_seq(tx, target.id)) + 1
        if target.span is None:
            note = _heading(target.brought.conversation, items[0].at)
            items, counts = [note, *items], [(0, counted(text_to_find(note.blocks))), *counts]
        rows = [
            Dated(_entry(item, first + at, tokens), item.at, words)
            for at, (item, (tokens, words)) in enumerate(zip(items, counts, strict=True))
        ]
        await moving_in.append(tx, target.id, rows)
        target.span = (target.span[0] if target.span else first, first + len(rows) - 1)
        target.written.extend(row.entry for row in rows)
        target.extent = _longer(target.extent, items)
        await moving_in.touched(tx, target.id, items[-1].at)

    async def _set_aside(self, tx: Tx, target: _Target) -> None:
        """Nobody sees it before it is whole."""
        assert target.span is not None
        if target.layer is None:
            number = await histories.next_layer(tx, target.id)
            target.layer = Layer(number, target.span[1], (target.span,), kind=SET_ASIDE)
            await histories.put_alone(tx, target.id, target.layer, now=self._database.clock())
        else:
            target.layer = replace(target.layer, upto=target.span[1], hidden=(target.span,))
            await moving_in.stretch(tx, target.id, target.layer)


def _longer(extent: moving_in.Extent | None, items: Sequence[_Item]) -> moving_in.Extent:
    said = [item.at for item in items if item.kind in _MESSAGES] or [items[0].at]
    if extent is None:
        return moving_in.Extent(len(said), min(said), max(said))
    return moving_in.Extent(extent.messages + len(said), min(extent.first, *said), max(extent.last, *said))


async def _show(tx: Tx, target: _Target, *, is_own: bool, checkpoint: str | None, now: float) -> None:
    """What was written lies beneath a layer that says what it is, with what was out of sight until now."""
    covers = [*target.aside, *([target.layer] if target.layer else [])]
    target.brought.back = bool(target.aside) and not target.span
    hidden = [span for layer in target.aside for span in layer.hidden]
    ranges = merge_ranges([*hidden, target.span] if target.span else hidden)
    extent = target.extent
    if extent is None or target.aside:
        extent = await moving_in.extent(tx, target.id, ranges)
    recent = await moving_in.newest(tx, target.id, ranges, _FACTS_FROM) if target.aside else [*target.written]
    is_end = is_own and (target.is_new or ranges[-1][1] == await moving_in.last_said(tx, target.id))
    tail = _tail([entry for entry in recent if entry.seq > ranges[-1][0]]) if is_end else []
    if checkpoint is None:
        checkpoint = _checkpoint(recent[: len(recent) - len(tail)])
    plan = _plan(target.brought.conversation, ranges, extent, tail, checkpoint)
    number = await histories.next_layer(tx, target.id)
    last = target.span[1] if target.span else await histories.last_seq(tx, target.id)
    layer, inserted = plan.layer(number, last + 1, run=None, recall=True)
    tokens = entries_tokens([(entry.role, entry.blocks) for entry in inserted], Family.NEWER)
    inserted = [replace(entry, tokens=own) for entry, own in zip(inserted, tokens, strict=True)]
    for cover in covers:
        await histories.take_off(tx, target.id, cover.number, now=now)
    await histories.put_alone(tx, target.id, layer, now=now)
    await histories.append_dated(tx, target.id, [(entry, now) for entry in inserted])  # all that it says is found


def _plan(
    conversation: ForeignConversation,
    ranges: Ranges,
    extent: moving_in.Extent,
    tail: Sequence[Entry],
    checkpoint: str,
) -> Plan:
    """The layer over stretches of a conversation, but for its end where that stays in view."""
    first, last = ranges[-1]
    place = tail[0].seq if tail else last + 1
    hidden = (*ranges[:-1], (first, place - 1))
    told = [_told(conversation, extent, shown=bool(tail)), *([checkpoint] if checkpoint else [])]
    inserted = tuple(Inserted(place, EntryKind.NOTE, text) for text in told)
    return Plan("import", last, 0, hidden, inserted=inserted, kind=IMPORTED)


def _checkpoint(entries: Sequence[Entry]) -> str:
    """What is known from the last of these entries, found without a model; empty where that is nothing."""
    found = candidates_by_entry(_short(entries))
    facts = merged(candidate for _, candidates in found for candidate in candidates).facts
    return checkpoint_of(facts, _FACTS_TOKENS) if facts else ""


def _told(conversation: ForeignConversation, extent: moving_in.Extent, *, shown: bool) -> str:
    program, title = READERS[conversation.format].program, _title_of(conversation)
    named = f" “{title}”" if title else ""
    dates = " to ".join(dict.fromkeys((_day(extent.first), _day(extent.last))))
    rest = " Its last messages follow." if shown else ""
    return (
        f"[A conversation was brought over from {program}:{named}, {extent.messages:,} messages, {dates}. "
        f"They are kept word for word and are not shown.{rest}]"
    )


def _tail(recent: Sequence[Entry]) -> list[Entry]:
    """The last messages, as far as there is room for them, from something that a person said on."""
    tail: list[Entry] = []
    tokens = 0
    for entry in reversed(recent):
        tokens += entry.tokens
        if tokens > _TAIL_TOKENS or len(tail) == _TAIL_MESSAGES:
            break
        tail.append(entry)
    while tail and tail[-1].kind not in ASKED:
        tail.pop()
    return tail[::-1]


def _short(recent: Sequence[Entry]) -> list[Entry]:
    """The last of them that are not too long together."""
    kept: list[Entry] = []
    characters = 0
    for entry in reversed(recent):
        characters += sum(len(str(block.get("text", ""))) for block in entry.blocks)
        if characters > _FACTS_CHARACTERS:
            break
        kept.append(entry)
    return kept[::-1]


def _heading(conversation: ForeignConversation, at: float) -> _Item:
    """The note that begins a stretch, and names what it is of."""
    program, title = READERS[conversation.format].program, _title_of(conversation)
    text = f"[Brought over from {program}: {title or 'a conversation without a title'}]"
    return _Item(EntryKind.NOTE, (text_block(text),), at, "", conversation.key)


def _title_of(conversation: ForeignConversation) -> str:
    return beginning(in_brackets(cleaned(conversation.title)), _LONGEST_TITLE)


def _day(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def _entry(item: _Item, seq: int, tokens: int) -> Entry:
    person, key = item.person, item.key
    return Entry(seq, item.role, item.blocks, item.kind, tokens=tokens, person=person, key=key, said=item.said)


def name_of(conversation: ForeignConversation) -> str:
    """What a conversation is called here: by its title where that can be a name, else by its program."""
    plain = unicodedata.normalize("NFKD", conversation.title).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain)[:_LONGEST_NAME].strip("-")
    return name or f"{conversation.format}-{blake2s(conversation.id.encode(), digest_size=4).hexdigest()}"


def _is_of(agent_id: AgentId, connector: str) -> bool:
    return agent_id.startswith(f"{connector}-")


def _address_of(agent_id: AgentId) -> Address:
    """Of a conversation that has a name, as those of terminals and of the web have."""
    connector, _, name = agent_id.partition("-")
    return Address(connector, name)


def _chunks(found: Iterator[tuple[ForeignConversation, Iterator[ForeignMessage]]], where: Where) -> Iterator[_Chunk]:
    for conversation, messages in found:
        making = _Making(conversation, where)
        chunk, characters, is_first = list[Sequence[_Item]](), 0, True
        for message in messages:
            items = making.items(message)
            if not items:
                continue
            if chunk and (len(chunk) >= _MOST_MESSAGES or characters >= _MOST_CHARACTERS):
                yield _Chunk(conversation, chunk, characters, is_first, is_last=False)
                chunk, characters, is_first = [], 0, False
            chunk.append(items)
            characters += sum(len(piece.text) for piece in message.pieces)
        yield _Chunk(conversation, chunk, characters, is_first, is_last=True)


@dataclass(frozen=True)
class _Answerable:
    """What another message may quote."""

    speaker: str
    begin: str
    key: str
    person: str

    def quote(self) -> Quote:
        words = beginning(" ".join(cleaned(self.begin).split()), _LONGEST_QUOTE)
        said = f"{self.speaker}: {words}" if self.speaker else words
        return Quote(as_quoted(said), key=self.key, person=self.person)


class _Making:
    """Makes entries of the messages of one conversation."""

    def __init__(self, conversation: ForeignConversation, where: Where) -> None:
        self._conversation = conversation
        self._prefix = "" if where.connector == conversation.format else f"{conversation.format}:"
        self._at = conversation.at or 0.0
        self._zone = where.zone
        self._recent: OrderedDict[str, _Answerable] = OrderedDict()

    def items(self, message: ForeignMessage) -> list[_Item]:
        """Its entries; none where it says nothing."""
        self._at = message.at or self._at
        person = f"{self._prefix}{message.person}" if message.person else ""
        key, speaker = self._conversation.key_of(message), cleaned(in_brackets(message.speaker).replace(":", " "))
        answered = self._recent.get(message.answers) if message.answers else None
        quote = answered.quote() if answered else None
        self._remember(message, speaker, key, person)
        made: list[_Item] = []
        for piece in message.pieces:
            for text in _pieces_of(cleaned(piece.text).strip()):
                is_said = piece.kind is EntryKind.SAID
                block = spoken_by(speaker, text) if speaker and is_said else text_block(text)
                blocks = (quotation_block(quote), block) if quote and is_said else (block,)
                quote = None if is_said else quote
                by = person if piece.kind in ASKED else ""
                when = self._said(message) if is_said and not made else None
                made.append(_Item(piece.kind, blocks, self._at, by, "" if made else key, when))
        return made

    def _said(self, message: ForeignMessage) -> Said | None:
        """When, as models are told; None where the file does not say."""
        if not self._zone or message.at is None:
            return None
        with suppress(ValueError, OverflowError, OSError):  # no clock shows that
            return Said.of(local_time(message.at, self._zone), self._zone)
        return None

    def _remember(self, message: ForeignMessage, speaker: str, key: str, person: str) -> None:
        piece: Piece | None = next(iter(message.pieces), None)
        if piece is None:
            return
        self._recent[message.id] = _Answerable(speaker, piece.text[:_LOOKED_AT], key, person)
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)


def _pieces_of(text: str) -> Iterator[str]:
    """A text that is too long for one entry, cut where that harms least."""
    while len(text) > _LONGEST_ENTRY:
        line_end = text.rfind("\n", _LONGEST_ENTRY // 2, _LONGEST_ENTRY)
        space = text.rfind(" ", _LONGEST_ENTRY - _LONGEST_WORD, _LONGEST_ENTRY)
        at = max(line_end, space) if max(line_end, space) > 0 else cut_before(text, _LONGEST_ENTRY)
        yield text[:at].rstrip()
        text = text[at:].lstrip()
    if text:
        yield text


class _Counting:
    """Counts words and tokens: here, or for much in other processes."""

    def __init__(self, family: Family, size: int) -> None:
        self.family = family
        self._pool: Executor | None = None
        if size > _FEW:
            processes = max(1, min(_MOST_PROCESSES, os.cpu_count() or 1))
            method = get_context("spawn")
            self._pool = ProcessPoolExecutor(processes, method, initializer=remember, initargs=(_WORDS,))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def checkpoint_of(self, recent: Iterable[_Item], end: int) -> asyncio.Future[str]:
        """What is known from the last entries of a new conversation, of which the next one has this number."""
        items = list(recent)
        entries = [_entry(item, end - len(items) + at, 0) for at, item in enumerate(items)]
        work = asyncio.get_running_loop().run_in_executor
        return work(self._pool, _checkpoint_before_tail, entries, self.family)

    def of(self, items: Sequence[_Item]) -> asyncio.Future[list[Counts]]:
        """The counts of these, some time."""
        given = [(item.role, item.blocks) for item in items]
        return asyncio.get_running_loop().run_in_executor(self._pool, _count, given, self.family)


def _checkpoint_before_tail(entries: Sequence[Entry], family: Family) -> str:
    last = [replace(one, tokens=entry_tokens(one.role, one.blocks, family)) for one in entries[-_TAIL_MESSAGES:]]
    return _checkpoint(entries[: len(entries) - len(_tail(last))])


def _count(given: Sequence[tuple[Role, tuple[Block, ...]]], family: Family) -> list[Counts]:
    tokens = entries_tokens(given, family)
    return [(own, counted(text_to_find(blocks))) for own, (_, blocks) in zip(tokens, given, strict=True)]


def only(
    found: Iterator[tuple[ForeignConversation, Iterator[ForeignMessage]]], wanted: Sequence[str]
) -> Iterator[tuple[ForeignConversation, Iterator[ForeignMessage]]]:
    """Those of these conversations with one of these titles or ids."""
    names = {name.strip().casefold() for name in wanted}
    for conversation, messages in found:
        if not names or names & {conversation.title.strip().casefold(), conversation.id.casefold()}:
            yield conversation, messages
