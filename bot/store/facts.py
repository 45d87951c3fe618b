"""What is known of a conversation: its facts, the candidates that they came from, and how far it was read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import RowMapping, bindparam, delete, select

from bot.compaction.facts.fact import Candidate, Fact, FactKind, FactStatus, Reason, Source, Speaker
from bot.compaction.facts.life import MOST_CANDIDATES
from bot.history import Entry, EntryKind
from bot.messages import AgentId
from bot.store.histories import entry_of
from bot.store.schema import entries, memories, memory_candidates, memory_facts
from bot.store.tx import Tx, insert_into

_MEMORY = select(memories).where(memories.c.agent_id == bindparam("agent"))
_AT_ONCE = 500
"""Numbers that one statement names."""


@dataclass(frozen=True)
class MemoryLine:
    """The line in the chat that says what memory has learned, and counts on. ``slot``: its message, None before there
    is one; ``layer``: what lay on top when it was said; ``turns``: that it has counted in, with what came of them.
    ``places``: the folders whose places people were told, and a checksum of what they were told."""

    slot: int | None = None
    layer: int = 0
    turns: int = 0
    accepted: int = 0
    rejected: int = 0
    pruned: int = 0
    places: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, kept: Mapping[str, int]) -> MemoryLine:
        """As it was kept."""
        places = {name.removeprefix(_PLACE): known for name, known in kept.items() if name.startswith(_PLACE)}
        return cls(**{name: kept[name] for name in _COUNTED if name in kept}, places=places)

    def as_json(self) -> dict[str, int]:
        """As it is kept: flat, and nothing of a line that was not said yet."""
        places = {f"{_PLACE}{folder}": known for folder, known in self.places.items()}
        return places if self.slot is None else {**places, **{name: getattr(self, name) for name in _COUNTED}}


_PLACE = "place:"
_COUNTED = ("accepted", "rejected", "pruned", "slot", "layer", "turns")


@dataclass(frozen=True)
class MemoryRow:
    """``upto``: the newest entry that facts were looked for in; ``version``: raised by every change; ``next_number``:
    of a fact; ``line``: what people were told, and where; ``told``: what the next trace says."""

    upto: int = 0
    version: int = 0
    next_number: int = 1
    line: MemoryLine = MemoryLine()
    told: tuple[str, ...] = ()


async def get(tx: Tx, agent_id: AgentId) -> MemoryRow:
    """How far this memory is; an empty one for an agent that has none yet."""
    row = (await tx.execute(_MEMORY, {"agent": agent_id})).mappings().one_or_none()
    if row is None:
        return MemoryRow()
    return MemoryRow(
        row["upto"], row["version"], row["next_number"], MemoryLine.from_json(row["line"]), tuple(row["told"])
    )


async def put(tx: Tx, agent_id: AgentId, memory: MemoryRow) -> None:
    """From now on it is so far."""
    values = {**asdict(memory), "line": memory.line.as_json(), "told": list(memory.told)}
    added = insert_into(tx, memories).values(agent_id=agent_id, **values)
    await tx.execute(added.on_conflict_do_update(index_elements=["agent_id"], set_=values))


async def take_told(tx: Tx, agent_id: AgentId, taken: Sequence[str]) -> None:
    """These notices stand in a trace now."""
    row = await get(tx, agent_id)
    if taken:
        await put(tx, agent_id, replace(row, told=tuple(line for line in row.told if line not in taken)))


async def load(tx: Tx, agent_id: AgentId) -> tuple[Fact, ...]:
    """All facts of this agent by their numbers, tombstones included."""
    chosen = select(memory_facts).where(memory_facts.c.agent_id == agent_id).order_by(memory_facts.c.number)
    return tuple(fact_of(row) for row in (await tx.execute(chosen)).mappings())


async def change(tx: Tx, agent_id: AgentId, before: Sequence[Fact], after: Sequence[Fact]) -> None:
    """Bring the rows from one state of the facts to another; all have numbers. What is the same is not touched."""
    was = {item.number: item for item in before}
    now = {item.number: item for item in after}
    changed = [item for number, item in now.items() if (old := was.get(number)) is not item and old != item]
    gone = [number for number, item in was.items() if (new := now.get(number)) is not item and new != item]
    for at in range(0, len(gone), _AT_ONCE):
        named = memory_facts.c.number.in_(gone[at : at + _AT_ONCE])
        await tx.execute(delete(memory_facts).where(memory_facts.c.agent_id == agent_id, named))
    if changed:
        await tx.execute(memory_facts.insert(), [{"agent_id": agent_id, **_values(item)} for item in changed])


async def add_candidates(tx: Tx, agent_id: AgentId, found: Sequence[Candidate], *, now: float) -> None:
    """Write down what was decided about these; of one agent only the last ones are kept."""
    rows = [
        {
            "agent_id": agent_id,
            "seq": item.seq,
            "kind": item.kind,
            "text": _storable(item.text),
            "key": _storable(item.key),
            "speaker": item.speaker,
            "decision": "accepted" if item.is_accepted else "rejected",
            "reason": item.reason,
            "created_at": now,
        }
        for item in found[-MOST_CANDIDATES:]
    ]
    if not rows:
        return
    await tx.execute(memory_candidates.insert(), rows)
    own = memory_candidates.c.agent_id == agent_id
    newest = select(memory_candidates.c.id).where(own).order_by(memory_candidates.c.id.desc())
    last = newest.offset(MOST_CANDIDATES).limit(1).scalar_subquery()
    await tx.execute(delete(memory_candidates).where(own, memory_candidates.c.id <= last))


async def candidates(tx: Tx, agent_id: AgentId) -> tuple[Candidate, ...]:
    """The candidates that are kept, oldest first."""
    own = memory_candidates.c.agent_id == agent_id
    rows = await tx.execute(select(memory_candidates).where(own).order_by(memory_candidates.c.id))
    return tuple(
        Candidate(
            kind=FactKind(row["kind"]),
            text=row["text"],
            seq=row["seq"],
            key=row["key"],
            speaker=Speaker(row["speaker"]),
            reason=Reason(row["reason"]),
        )
        for row in rows.mappings()
    )


async def unread(tx: Tx, agent_id: AgentId, after: int, most: int) -> tuple[Entry, ...]:
    """What was said since, the last so many entries of it in their order; what layers inserted is left out."""
    chosen = select(entries).where(
        entries.c.agent_id == agent_id,
        entries.c.seq > after,
        entries.c.layer.is_(None),
        entries.c.kind.not_in([EntryKind.MARKER, EntryKind.SUMMARY, EntryKind.NOTE]),
    )
    rows = await tx.execute(chosen.order_by(entries.c.seq.desc()).limit(most))
    return tuple(entry_of(row) for row in reversed(rows.mappings().all()))


async def shown(tx: Tx, agent_id: AgentId, seqs: Sequence[int]) -> tuple[Entry, ...]:
    """These entries, as far as they are still there, in their order."""
    if not seqs:
        return ()
    chosen = select(entries).where(entries.c.agent_id == agent_id, entries.c.seq.between(seqs[0], seqs[-1]))
    rows = await tx.execute(chosen.where(entries.c.layer.is_(None)).order_by(entries.c.seq))
    wanted = frozenset(seqs)
    return tuple(entry_of(row) for row in rows.mappings() if row["seq"] in wanted)


async def people(tx: Tx, agent_id: AgentId, seqs: Collection[int]) -> dict[int, str]:
    """Who said what, by seq."""
    found: dict[int, str] = {}
    wanted = sorted(seqs)
    for at in range(0, len(wanted), _AT_ONCE):
        named = entries.c.seq.in_(wanted[at : at + _AT_ONCE])
        rows = await tx.execute(select(entries.c.seq, entries.c.person).where(entries.c.agent_id == agent_id, named))
        found.update((row.seq, row.person) for row in rows)
    return found


def _values(fact: Fact) -> dict[str, Any]:
    return {
        "number": fact.number,
        "kind": fact.kind,
        "text": _storable(fact.text),
        "brief": "",  # nobody reads it any more
        "seqs": list(fact.seqs),
        "key": _storable(fact.key),
        "status": fact.status,
        "speaker": fact.speaker,
        "weight": fact.weight,
        "pinned": fact.pinned,
        "source": fact.source,
        "forgotten": fact.forgotten,
    }


def fact_of(row: RowMapping | Mapping[str, Any]) -> Fact:
    """The fact of a whole row of its table."""
    return Fact(
        kind=FactKind(row["kind"]),
        text=row["text"],
        seqs=tuple(row["seqs"]),
        pinned=row["pinned"],
        key=row["key"],
        status=FactStatus(row["status"]),
        speaker=Speaker(row["speaker"]),
        weight=row["weight"],
        number=row["number"],
        source=Source(row["source"]),
        forgotten=row["forgotten"],
    )


def _storable(text: str) -> str:
    """PostgreSQL's texts hold no NUL, and neither database half a character."""
    return text.replace("\0", "").encode(errors="replace").decode()
