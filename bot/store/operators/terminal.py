"""What `palimpsest chat` asks of the book: where a conversation stood, what its last turn came to, what was used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sqlalchemy import func, select

from bot.history import ASKED, EntryKind, Usage
from bot.history.file_headers import sent_path
from bot.messages import AgentId, Audience, text_of
from bot.store.histories import load_layers
from bot.store.operators.overview import usages, with_usage
from bot.store.schema import compactions, entries, inbox, outbox, turns
from bot.store.turns import TurnState
from bot.store.tx import Tx

_LOOKED_AT = 200
"""Entries: a turn with many tools has many."""
_FRESH_START = "new"
"""The kind of the layer that `/new` puts down."""


@dataclass(frozen=True)
class Exchange:
    """What was said last, and what was answered, or why nothing was; ``answer`` is empty where that is yet to be shown.
    ``at``: when the conversation was used last, also by a command, in seconds since 1970."""

    said: str
    answer: str
    at: float


@dataclass(frozen=True)
class Used:
    """Since some moment: how many answers were given to how many messages, and tokens by the model that was asked, for
    compactions too."""

    answers: int = 0
    messages: int = 0
    by_model: Mapping[str, Usage] = field(default_factory=dict)


async def last_exchange(tx: Tx, agent_id: AgentId) -> Exchange | None:
    """Of a conversation, whatever its compactions hide; None where nothing was said since it began (anew)."""
    fresh = max((layer.upto for layer in await load_layers(tx, agent_id) if layer.kind == _FRESH_START), default=0)
    table = entries.c
    query = (
        select(table.kind, table.blocks, table.created_at, table.turn_id)
        .where(
            table.agent_id == agent_id,
            table.seq > fresh,
            table.layer.is_(None),
            table.audience != Audience.MODEL,
            table.kind.in_([*sorted(ASKED), EntryKind.REPLY]),
        )
        .order_by(table.seq.desc())
        .limit(_LOOKED_AT)
    )
    rows = (await tx.execute(query)).all()
    coming = await _coming(tx, {row.turn_id for row in rows if row.turn_id})
    said: list[str] = []
    answers, at = dict[str | None, str](), 0.0
    asked: list[str] = []
    for kind, blocks, created_at, turn in rows:
        text = text_of(blocks).strip()
        if kind == EntryKind.REPLY and said:
            break  # of the exchange before
        if kind == EntryKind.REPLY:
            answers[turn] = answers.get(turn) or ("" if turn in coming else text)
        else:
            asked += [turn] if turn and turn not in coming else []
            said.insert(0, f"[{sent_path(text) or 'a file'}]" if kind == EntryKind.FILE else text)
        at = at or created_at
    if not said:
        return None
    came = select(inbox.c.received_at).where(inbox.c.agent_id == agent_id).order_by(inbox.c.id.desc()).limit(1)
    at = max(at, (await tx.execute(came)).scalar_one_or_none() or 0.0)
    answer = "\n\n".join(filter(None, reversed(answers.values())))
    if not answer and asked:
        answer = await _said_instead(tx, asked[0])
    return Exchange("\n".join(filter(None, said)), answer, at)


async def _said_instead(tx: Tx, turn: str) -> str:
    """Of an answer by the turn that began last."""
    query = select(outbox.c.text).join(turns, outbox.c.id == turns.c.slot)
    shown = await tx.execute(query.where(turns.c.id == turn, turns.c.ended_at.is_not(None)))
    return str(shown.scalar_one_or_none() or "")


async def _coming(tx: Tx, some: Collection[str]) -> frozenset[str]:
    """Those of some turns whose answer is still written, or was never shown: it will be."""
    is_written, is_new = outbox.c.state == "open", outbox.c.delivered < outbox.c.version
    query = (
        select(turns.c.id)
        .join(outbox, outbox.c.id == turns.c.slot)
        .where(turns.c.id.in_(some), is_written | ((outbox.c.state == "ready") & is_new))
    )
    return frozenset((await tx.execute(query)).scalars())


async def last_turn(tx: Tx, agent_id: AgentId, *, since: float) -> tuple[TurnState, str] | None:
    """What became of the turn that began last, and what it said; None where none began since then."""
    query = (
        select(turns.c.state, outbox.c.text)
        .join(outbox, outbox.c.id == turns.c.slot)
        .where(turns.c.agent_id == agent_id, turns.c.started_at >= since)
        .order_by(turns.c.started_at.desc())
        .limit(1)
    )
    row = (await tx.execute(query)).first()
    return (TurnState(row[0]), row[1]) if row else None


async def used_since(tx: Tx, agent_id: AgentId, since: float) -> Used:
    """What this conversation has used from this moment on, in seconds since 1970."""
    answers = func.count().filter(turns.c.state == TurnState.DONE)
    answered = with_usage(select(turns.c.model, answers), turns.c.usage)
    answered = answered.where(turns.c.agent_id == agent_id, turns.c.ended_at >= since)  # begun before it or not
    by_turns = [(row[0], row[1], Usage(*row[2:])) for row in await tx.execute(answered.group_by(turns.c.model))]
    compacted = with_usage(select(compactions.c.model), compactions.c.usage)
    compacted = compacted.where(compactions.c.agent_id == agent_id, compactions.c.started_at >= since)
    by_runs = [(row[0], Usage(*row[1:])) for row in await tx.execute(compacted.group_by(compactions.c.model))]
    counted = [(model, usage) for model, _, usage in by_turns] + by_runs
    spent = {model: usage for model, usage in usages(counted).items() if usage != Usage()}
    table = entries.c
    said = select(func.count()).where(
        table.agent_id == agent_id, table.kind == EntryKind.SAID, table.created_at >= since
    )
    messages = int((await tx.execute(said)).scalar_one())
    return Used(sum(count for _, count, _ in by_turns), messages, spent)
