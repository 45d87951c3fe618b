"""What operators look at in one conversation: how full it was when, where time went, what was said, which layers lie
over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import RowMapping, func, or_, select

from bot.estimate.meter import MeterRecord
from bot.history import Entry, History, Layer, Usage
from bot.messages import Address, AgentId, Audience
from bot.runtime.turn_seconds import TurnSeconds
from bot.store import histories
from bot.store.runs import OPEN
from bot.store.schema import agents, compactions, entries, inbox, layers, outbox, turns
from bot.store.search import recall
from bot.store.search.recall import Recalled
from bot.store.turns import TurnState
from bot.store.tx import Tx

Side = Literal["all", "people", "model"]
"""Whose eyes: all entries, what people saw, what the model sees now."""
_MOST_WAITING = 100
_SEEN = {"all": frozenset(Audience), "people": recall.PEOPLE}


@dataclass(frozen=True)
class Turn:
    """One turn. ``timing``: None while it runs, and where nothing was measured."""

    id: str
    state: TurnState
    started_at: float
    ended_at: float | None
    recoveries: int
    tries: int
    tokens: int | None
    limit: int | None
    usage: Usage | None
    timing: TurnSeconds | None


@dataclass(frozen=True)
class Cover:
    """A layer and what became of it. ``removed_at``: when it was taken off, None while it is on."""

    layer: Layer
    created_at: float
    removed_at: float | None

    @property
    def is_on(self) -> bool:
        """Whether it still hides what it hides."""
        return self.removed_at is None


@dataclass(frozen=True)
class Fill:
    """How full a context was at a moment, in tokens, after a turn."""

    at: float
    tokens: int
    limit: int


@dataclass(frozen=True)
class Drop:
    """A compaction as a moment of it: ``after`` is None where nothing was changed, or it has not ended."""

    run: str
    at: float
    trigger: str
    state: str
    before: int
    after: int | None
    limit: int


@dataclass(frozen=True)
class Notice:
    """Something that the program said, and when its message was made; it may have been edited since."""

    text: str
    at: float


@dataclass(frozen=True)
class Stretch:
    """Some entries in reading order; whether there are earlier and later ones."""

    entries: tuple[Recalled, ...]
    earlier: bool
    later: bool


async def turns_of(tx: Tx, agent_id: AgentId, *, most: int) -> list[Turn]:
    """The newest turns, the newest first."""
    query = select(turns).where(turns.c.agent_id == agent_id).order_by(turns.c.started_at.desc()).limit(most)
    return [_turn(row) for row in (await tx.execute(query)).mappings()]


async def fills(tx: Tx, agent_id: AgentId, *, since: float, most: int) -> list[Fill]:
    """How full it was after each turn, the oldest first; of more than ``most``, the newest."""
    table = turns.c
    query = (
        select(table.ended_at, table.context_tokens, table.context_limit)
        .where(table.agent_id == agent_id, table.started_at >= since, table.context_tokens.is_not(None))
        .order_by(table.started_at.desc())
        .limit(most)
    )
    return [Fill(row[0], row[1], row[2]) for row in reversed((await tx.execute(query)).all())]


async def drops(tx: Tx, agent_id: AgentId, *, since: float, most: int) -> list[Drop]:
    """Its compactions, the oldest first; of more than ``most``, the newest."""
    table = compactions.c
    columns = (table.id, table.started_at, table.finished_at, table.trigger, table.state)
    query = (
        select(*columns, table.meter_before, table.meter_after)
        .where(table.agent_id == agent_id, table.started_at >= since)
        .order_by(table.started_at.desc())
        .limit(most)
    )
    return [
        Drop(
            run=row.id,
            at=row.finished_at or row.started_at,
            trigger=row.trigger,
            state=row.state,
            before=(before := MeterRecord.from_json(row.meter_before)).total,
            after=MeterRecord.from_json(row.meter_after).total if row.meter_after else None,
            limit=before.limit,
        )
        for row in reversed((await tx.execute(query)).all())
    ]


async def covers(tx: Tx, agent_id: AgentId) -> list[Cover]:
    """All layers that ever were, the lowest first."""
    rows = await tx.execute(select(layers).where(layers.c.agent_id == agent_id).order_by(layers.c.number))
    return [Cover(histories.layer_of(row), row["created_at"], row["removed_at"]) for row in rows.mappings()]


async def cover_of(tx: Tx, agent_id: AgentId, run: str) -> Cover | None:
    """The layer that a compaction put down, if it did."""
    return next((cover for cover in await covers(tx, agent_id) if cover.layer.run == run), None)


async def said(
    tx: Tx, agent_id: AgentId, side: Side, *, before: int | None = None, after: int | None = None, most: int
) -> Stretch:
    """What was said: the newest, or what stands before or after an entry's number."""
    if side == "model":
        return await _seen_by_model(tx, agent_id, before=before, after=after, most=most)
    seq = entries.c.seq
    query = select(seq).where(entries.c.agent_id == agent_id, entries.c.audience.in_(_SEEN[side]))
    if after is not None:
        rows = await tx.execute(query.where(seq > after).order_by(seq).limit(most + 1))
    else:
        wanted = query if before is None else query.where(seq < before)
        rows = await tx.execute(wanted.order_by(seq.desc()).limit(most + 1))
    found = [row[0] for row in rows]
    more, shown = len(found) > most, found[:most]
    stretch = tuple(sorted(await recall.these(tx, agent_id, shown), key=lambda item: item.seq))
    if after is not None:
        return Stretch(stretch, earlier=True, later=more)
    return Stretch(stretch, earlier=more, later=before is not None)


async def _seen_by_model(tx: Tx, agent_id: AgentId, *, before: int | None, after: int | None, most: int) -> Stretch:
    """The page through all layers, in reading order; it is never longer than a context."""
    page = (await histories.load(tx, agent_id)).visible
    places = {entry.seq: at for at, entry in enumerate(page)}
    if after is not None:
        low = places.get(after, -1) + 1
        high = min(len(page), low + most)
    else:
        high = places.get(before, len(page)) if before is not None else len(page)
        low = max(0, high - most)
    chosen = page[low:high]
    found = {item.seq: item for item in await recall.these(tx, agent_id, [entry.seq for entry in chosen])}
    return Stretch(tuple(found[entry.seq] for entry in chosen), earlier=low > 0, later=high < len(page))


async def page_before(tx: Tx, agent_id: AgentId, stack: Sequence[int], upto: int, *, most: int) -> tuple[Entry, ...]:
    """What the model saw up to an entry, through these layers alone; the last ``most`` of it."""
    through = [cover.layer for cover in await covers(tx, agent_id) if cover.layer.number in stack]
    floor = max((layer.floor for layer in through), default=0)
    inserted = entries.c.layer.in_([layer.number for layer in through])
    query = (
        select(entries)
        .where(
            entries.c.agent_id == agent_id,
            or_(entries.c.seq.between(floor, upto) & entries.c.layer.is_(None), inserted),
        )
        .order_by(entries.c.seq.desc())
        .limit(most * 4)
    )
    rows = list(reversed((await tx.execute(query)).mappings().all()))
    history = History(tuple(histories.entry_of(row) for row in rows), tuple(through))
    return history.visible[-most:]


async def notices(tx: Tx, address: Address, *, most: int) -> list[Notice]:
    """What the program said in a conversation, the newest first; also in place of an answer that failed."""
    table = outbox.c
    failed = select(turns.c.slot).where(turns.c.agent_id == address.agent_id, turns.c.state == TurnState.FAILED)
    query = (
        select(table.text, table.created_at)
        .where(
            table.connector == address.connector,
            table.chat == address.chat,
            table.thread == address.thread,
            or_(table.kind == "notice", table.id.in_(failed)),
            table.text != "",
        )
        .order_by(table.id.desc())
        .limit(most)
    )
    return [Notice(row.text, row.created_at) for row in await tx.execute(query)]


async def commands_waiting(tx: Tx, agent_id: AgentId) -> frozenset[str]:
    """The names of the commands that its agent has not obeyed yet."""
    text = inbox.c.text
    waiting = (inbox.c.agent_id == agent_id, inbox.c.state == "waiting", text.startswith("/"))
    rows = await tx.execute(select(text).where(*waiting).limit(_MOST_WAITING))
    return frozenset(row[0].split(maxsplit=1)[0].removeprefix("/").lower() for row in rows)


async def state(tx: Tx, agent_id: AgentId) -> str:
    """Changes whenever the page of this conversation would be another one."""
    own = compactions.c.agent_id == agent_id
    asked = (
        select(func.max(entries.c.seq)).where(entries.c.agent_id == agent_id),
        select(func.max(turns.c.ended_at)).where(turns.c.agent_id == agent_id),
        select(func.count()).select_from(turns).where(turns.c.agent_id == agent_id, turns.c.state == "running"),
        select(func.max(compactions.c.started_at)).where(own),
        select(func.max(compactions.c.finished_at)).where(own),
        select(func.count()).select_from(compactions).where(own, compactions.c.state.in_(OPEN)),
        select(func.max(layers.c.removed_at)).where(layers.c.agent_id == agent_id),
        select(func.count()).select_from(inbox).where(inbox.c.agent_id == agent_id, inbox.c.state == "waiting"),
        select(agents.c.touched_at).where(agents.c.id == agent_id),
    )
    return "|".join([str((await tx.execute(query)).scalar_one()) for query in asked])


def _turn(row: RowMapping) -> Turn:
    usage: Any = row["usage"]
    return Turn(
        id=row["id"],
        state=TurnState(row["state"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        recoveries=row["recoveries"],
        tries=row["tries"],
        tokens=row["context_tokens"],
        limit=row["context_limit"],
        usage=Usage(**usage) if usage else None,
        timing=TurnSeconds.from_json(row["timing"]) if row["timing"] else None,
    )
