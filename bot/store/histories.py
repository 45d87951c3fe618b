"""Histories: entries and the layers over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import RowMapping, bindparam, func, or_, select, update

from bot.estimate.text import Family
from bot.history import Anchor, Entry, EntryKind, History, Layer, Usage, merge_ranges
from bot.history.quotations import quoted_in
from bot.messages import AgentId, Audience, Block, Quote
from bot.store.schema import entries, heads, layers
from bot.store.search import word_index
from bot.store.tx import Tx, insert_into

_LAYERS = (
    select(layers)
    .where(layers.c.agent_id == bindparam("agent"), layers.c.removed_at.is_(None))
    .order_by(layers.c.number)
)
_LAST = select(func.max(entries.c.seq)).where(entries.c.agent_id == bindparam("agent"))
_APPEND = entries.insert()
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
    if not added:
        return
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
                "created_at": now,
                "person": entry.person,
                "key": entry.key,
                **quoted_columns(entry.blocks),
            }
            for entry in added
        ],
    )
    await word_index.add(tx, agent_id, added)


def quoted_columns(blocks: Sequence[Block]) -> dict[str, str]:
    """Whom and what an entry quotes, by which it is found when that is taken back."""
    quote = quoted_in(blocks) or Quote("")
    return {"quoted_key": quote.key, "quoted_person": quote.person}


async def next_layer(tx: Tx, agent_id: AgentId) -> int:
    """The number of the next layer: never used before, also not by one that was taken off."""
    row = await tx.execute(select(func.max(layers.c.number)).where(layers.c.agent_id == agent_id))
    return (row.scalar_one() or 0) + 1


async def put(tx: Tx, agent_id: AgentId, layer: Layer, inserted: Sequence[Entry], *, now: float) -> None:
    """Put a layer on top."""
    await tx.execute(
        layers.insert().values(
            agent_id=agent_id,
            number=layer.number,
            kind=layer.kind,
            upto=layer.upto,
            floor=layer.floor,
            hidden=[list(span) for span in layer.hidden],
            replaced={str(seq): list(blocks) for seq, blocks in layer.replaced.items()},
            run_id=layer.run,
            created_at=now,
        )
    )
    await append(tx, agent_id, inserted, now=now)


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
