"""Histories: entries and the layers over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import RowMapping, bindparam, func, or_, select, update

from bot.estimate.text import Family
from bot.history import IMPORTED, SET_ASIDE, Anchor, Entry, EntryKind, History, Layer, Ranges, Usage, merge_ranges
from bot.history.quotations import quoted_in
from bot.history.times import Said
from bot.messages import AgentId, Audience, Block, Quote
from bot.store.schema import entries, heads, layers
from bot.store.search import word_index
from bot.store.tx import Tx, insert_into

_LAYERS = (
    select(layers)
    .where(layers.c.agent_id == bindparam("agent"), layers.c.removed_at.is_(None))
    .order_by(layers.c.number)
)
_BROUGHT = select(layers.c.number, layers.c.kind, layers.c.hidden, layers.c.removed_at).where(
    layers.c.agent_id == bindparam("agent"), layers.c.kind.in_((IMPORTED, SET_ASIDE))
)
_LAST = select(func.max(entries.c.seq)).where(entries.c.agent_id == bindparam("agent"))
_APPEND = entries.insert()
_LAST_LAYER = select(func.max(layers.c.number)).where(layers.c.agent_id == bindparam("agent"))
_PUT = layers.insert()
_LOOKED_AT = 1_000
"""Entries at each end of what is hidden that may say when it was said."""
_MOST_SPANS = 200
"""Stretches of visible entries that one query names; small gaps between more of them are read along."""


async def load(tx: Tx, agent_id: AgentId, family: Family = Family.NEWER) -> History:
    """The entries that can be seen through all layers, and perhaps a few more. Its cost does not grow with what
    layers hide."""
    stack = await load_layers(tx, agent_id)
    spans = [
        entries.c.seq >= low if high is None else entries.c.seq.between(low, high) for low, high in _open_spans(stack)
    ]
    rows = await tx.execute(select(entries).where(entries.c.agent_id == agent_id, or_(*spans)).order_by(entries.c.seq))
    return History(tuple(entry_of(row) for row in rows.mappings()), stack, family)


async def beneath(tx: Tx, agent_id: AgentId, stack: Sequence[Layer], upto: int) -> list[Entry]:
    """The entries up to this one that no layer of such a stack hides, and perhaps a few more; none that layers put
    in."""
    spans = [entries.c.seq.between(low, upto if high is None else min(high, upto)) for low, high in _open_spans(stack)]
    own = (entries.c.agent_id == agent_id) & entries.c.layer.is_(None)
    rows = await tx.execute(select(entries).where(own, or_(*spans)).order_by(entries.c.seq))
    return [entry_of(row) for row in rows.mappings()]


async def load_layers(tx: Tx, agent_id: AgentId) -> tuple[Layer, ...]:
    """The layers that are on, the lowest first."""
    rows = await tx.execute(_LAYERS, {"agent": agent_id})
    return tuple(layer_of(row) for row in rows.mappings())


def _open_spans(stack: Sequence[Layer]) -> list[tuple[int, int | None]]:
    """Where no layer hides anything; the last one has no end."""
    floor = max((layer.floor for layer in stack), default=0)
    hidden = [span for span in merge_ranges(span for layer in stack for span in layer.hidden) if span[1] >= floor]
    if len(hidden) >= _MOST_SPANS:
        widest = sorted(hidden, key=lambda span: span[0] - span[1])[: _MOST_SPANS - 1]
        hidden = sorted(widest)
    spans: list[tuple[int, int | None]] = []
    low = floor
    for start, end in hidden:
        if low < start:
            spans.append((low, start - 1))
        low = max(low, end + 1)
    return [*spans, (low, None)]


async def last_seq(tx: Tx, agent_id: AgentId) -> int:
    """The newest entry's seq; 0 when there is none."""
    row = await tx.execute(_LAST, {"agent": agent_id})
    return row.scalar_one() or 0


async def append(tx: Tx, agent_id: AgentId, added: Sequence[Entry], *, now: float) -> None:
    """Add entries, and what they are found by; their seqs are the caller's, who is the only writer."""
    if added:
        await append_dated(tx, agent_id, [(entry, now) for entry in added])
        await word_index.add(tx, agent_id, added)


async def append_dated(tx: Tx, agent_id: AgentId, added: Sequence[tuple[Entry, float]]) -> None:
    """Add entries that were written at these times. What they are found by is the caller's to add."""
    await tx.execute(
        _APPEND,
        [
            {
                "agent_id": agent_id,
                "seq": entry.seq,
                "role": entry.role,
                "blocks": list(entry.blocks),
                "kind": entry.kind,
                "audience": entry.audience,
                "tokens": entry.tokens,
                "turn_id": entry.turn,
                "layer": entry.layer,
                "place": entry.place,
                "anchor": asdict(entry.anchor) if entry.anchor else None,
                "interrupted": entry.interrupted,
                "created_at": at,
                "person": entry.person,
                "key": entry.key,
                "said": entry.said.kept if entry.said else "",
                **quoted_columns(entry.blocks),
            }
            for entry, at in added
        ],
    )


@dataclass(frozen=True)
class OutOfSight:
    """What was brought over from elsewhere and taken away again, or is being written: nobody finds it. ``ranges``: what
    was said; ``layers``: whose entries say what that was."""

    ranges: Ranges
    layers: frozenset[int]


async def out_of_sight(tx: Tx, agent_id: AgentId) -> OutOfSight:
    """What nobody finds in this conversation."""
    rows = (await tx.execute(_BROUGHT, {"agent": agent_id})).all()
    aside = (row.hidden for row in rows if row.kind == SET_ASIDE and row.removed_at is None)
    gone = frozenset(row.number for row in rows if row.kind == IMPORTED and row.removed_at is not None)
    return OutOfSight(merge_ranges((low, high) for hidden in aside for low, high in hidden), gone)


def quoted_columns(blocks: Sequence[Block]) -> dict[str, str]:
    """Whom and what an entry quotes, by which it is found when that is taken back."""
    quote = quoted_in(blocks) or Quote("")
    return {"quoted_key": quote.key, "quoted_person": quote.person}


async def said_in(tx: Tx, agent_id: AgentId, ranges: Ranges) -> tuple[Said, Said] | None:
    """When the first and the last message of these was said of which that is known; None where it is not known of any
    near both ends."""
    if not ranges:
        return None
    within = or_(*(entries.c.seq.between(low, high) for low, high in ranges[:_MOST_SPANS]))
    rows = select(entries.c.seq, entries.c.said).where(entries.c.agent_id == agent_id, within)
    oldest = rows.order_by(entries.c.seq).limit(_LOOKED_AT).subquery()
    newest = rows.order_by(entries.c.seq.desc()).limit(_LOOKED_AT).subquery()
    first = select(oldest.c.said).where(oldest.c.said != "").order_by(oldest.c.seq).limit(1)
    last = select(newest.c.said).where(newest.c.said != "").order_by(newest.c.seq.desc()).limit(1)
    ends = [(await tx.execute(end)).scalar_one_or_none() for end in (first, last)]
    return (Said.read(ends[0]), Said.read(ends[1])) if ends[0] and ends[1] else None


async def next_layer(tx: Tx, agent_id: AgentId) -> int:
    """The number of the next layer: never used before, also not by one that was taken off."""
    row = await tx.execute(_LAST_LAYER, {"agent": agent_id})
    return (row.scalar_one() or 0) + 1


async def put(tx: Tx, agent_id: AgentId, layer: Layer, inserted: Sequence[Entry], *, now: float) -> None:
    """Put a layer on top."""
    await put_alone(tx, agent_id, layer, now=now)
    await append(tx, agent_id, inserted, now=now)


async def put_alone(tx: Tx, agent_id: AgentId, layer: Layer, *, now: float) -> None:
    """Put a layer on top; what it inserts is the caller's to add."""
    await tx.execute(
        _PUT,
        {
            "agent_id": agent_id,
            "number": layer.number,
            "kind": layer.kind,
            "upto": layer.upto,
            "floor": layer.floor,
            "hidden": [list(span) for span in layer.hidden],
            "replaced": {str(seq): list(blocks) for seq, blocks in layer.replaced.items()},
            "run_id": layer.run,
            "created_at": now,
        },
    )


async def take_off(tx: Tx, agent_id: AgentId, number: int, *, now: float) -> None:
    """Take a layer off; it stays in the book."""
    await tx.execute(
        update(layers).where(layers.c.agent_id == agent_id, layers.c.number == number).values(removed_at=now)
    )


async def layer_of_run(tx: Tx, agent_id: AgentId, run_id: str) -> int | None:
    """The number of the layer that a compaction put down, if it did."""
    row = await tx.execute(select(layers.c.number).where(layers.c.agent_id == agent_id, layers.c.run_id == run_id))
    return row.scalar_one_or_none()


async def inserted_by(tx: Tx, agent_id: AgentId, number: int) -> list[Entry]:
    """What a layer put in, in reading order."""
    rows = await tx.execute(select(entries).where(entries.c.agent_id == agent_id, entries.c.layer == number))
    return sorted((entry_of(row) for row in rows.mappings()), key=lambda entry: entry.position)


async def remember_head(tx: Tx, digest: str, content: object) -> None:
    """Keep what stands before the messages of a request (system prompt, tools), once."""
    await tx.execute(
        insert_into(tx, heads)
        .values(hash=digest, content=content)
        .on_conflict_do_nothing(index_elements=["hash"])  # many agents share one head, and may begin at once
    )


async def head(tx: Tx, digest: str) -> object:
    """What was kept under this hash."""
    return (await tx.execute(select(heads.c.content).where(heads.c.hash == digest))).scalar_one()


def entry_of(row: RowMapping | Mapping[str, Any]) -> Entry:
    """The entry of a whole row of its table."""
    anchor = row["anchor"]
    return Entry(
        seq=row["seq"],
        role=row["role"],
        blocks=tuple(row["blocks"]),
        kind=EntryKind(row["kind"]),
        audience=Audience(row["audience"]),
        tokens=row["tokens"],
        turn=row["turn_id"],
        layer=row["layer"],
        place=row["place"],
        anchor=_anchor_of(anchor) if anchor else None,
        interrupted=row["interrupted"],
        person=row["person"],
        key=row["key"],
        said=Said.read(row["said"]) if row["said"] else None,
    )


def _anchor_of(kept: Mapping[str, Any]) -> Anchor:
    return Anchor(Usage(**kept["usage"]), tuple(kept["stack"]), kept["guessed"], kept.get("model", ""))


def layer_of(row: RowMapping | Mapping[str, Any]) -> Layer:
    """The layer of a whole row of its table."""
    return Layer(
        number=row["number"],
        upto=row["upto"],
        hidden=tuple((low, high) for low, high in row["hidden"]),
        replaced={int(seq): tuple(blocks) for seq, blocks in row["replaced"].items()},
        kind=row["kind"],
        floor=row["floor"],
        run=row["run_id"],
    )
