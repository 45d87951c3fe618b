"""The standing rules of conversations: found, pinned, forgotten."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import RowMapping, bindparam, or_, select, update

from bot.compaction.standing_rules import Rule, RuleState
from bot.history import ELSEWHERE, Entry, EntryKind
from bot.messages import AgentId
from bot.store.histories import entry_of
from bot.store.schema import entries, standing_rules
from bot.store.tx import Tx, insert_into

_LOAD = (
    select(standing_rules)
    .where(standing_rules.c.agent_id == bindparam("agent"))
    .order_by(standing_rules.c.number)
)  # fmt: skip
_GONE: Mapping[str, Any] = {
    "state": RuleState.FORGOTTEN.value,
    "text": "",
    "person": "",
    "key": "",
    "pinned_by": "",
    "pinned_name": "",
    "pinned_at": None,
    "note_seq": 0,
}


async def load(tx: Tx, agent_id: AgentId) -> tuple[Rule, ...]:
    """All rules of this agent by their numbers, those that were let go included."""
    return tuple(rule_of(row) for row in (await tx.execute(_LOAD, {"agent": agent_id})).mappings())


async def put(tx: Tx, agent_id: AgentId, rules: Sequence[Rule]) -> None:
    """Write these as they are now."""
    for rule in rules:
        values = {**asdict(rule), "state": rule.state.value}
        added = insert_into(tx, standing_rules).values(agent_id=agent_id, **values)
        await tx.execute(added.on_conflict_do_update(index_elements=["agent_id", "number"], set_=values))


async def said(tx: Tx, agent_id: AgentId, *, after: int, most: int, besides: Collection[int] = ()) -> tuple[Entry, ...]:
    """What people wrote after this entry, the last so many in their order; and ``besides`` these entries, if they are
    of that kind."""
    own = (entries.c.agent_id == agent_id) & (entries.c.kind == EntryKind.SAID) & entries.c.layer.is_(None)
    own &= ~entries.c.key.startswith(ELSEWHERE)  # what was said to another program is no rule here
    latest = select(entries.c.seq).where(own, entries.c.seq > after).order_by(entries.c.seq.desc()).limit(most)
    chosen = select(entries).where(own, or_(entries.c.seq.in_(latest), entries.c.seq.in_(list(besides))))
    return tuple(entry_of(row) for row in (await tx.execute(chosen.order_by(entries.c.seq))).mappings())


async def forget_message(tx: Tx, agent_id: AgentId, key: str) -> int:
    """What was said in this message is no rule any more; of its row only the number stays, so that none is used twice.
    Returns how many there were."""
    this = (standing_rules.c.agent_id == agent_id) & (standing_rules.c.key == key) & (standing_rules.c.key != "")
    return (await tx.execute(update(standing_rules).where(this).values(**_GONE))).rowcount


async def since_person(tx: Tx, agent_id: AgentId, person: str) -> float:
    """When this person's words were pinned first; infinity for never."""
    found = [rule.pinned_at for rule in await load(tx, agent_id) if rule.person == person and rule.pinned_at]
    return min(found, default=float("inf"))


async def forget_person(tx: Tx, agent_id: AgentId, person: str) -> int:
    """What this person said is no rule any more, and what they pinned of others' words was pinned by nobody known.
    Returns how many of their words there were."""
    here = standing_rules.c.agent_id == agent_id
    gone = await tx.execute(update(standing_rules).where(here, standing_rules.c.person == person).values(**_GONE))
    theirs = here & (standing_rules.c.pinned_by == person)
    await tx.execute(update(standing_rules).where(theirs).values(pinned_by="", pinned_name=""))
    return gone.rowcount


def rule_of(row: RowMapping | Mapping[str, Any]) -> Rule:
    """The rule of a whole row of its table."""
    found = {name: value for name, value in row.items() if name != "agent_id"}
    rule = Rule(**{**found, "state": RuleState(found["state"])})
    return replace(rule, note_seq=int(rule.note_seq))
