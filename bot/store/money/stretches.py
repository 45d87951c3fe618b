"""What a conversation's requests cost between one compaction and the next, and what they did not have to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from sqlalchemy import func, select

from bot.estimate.meter import MeterRecord
from bot.history import Usage
from bot.messages import AgentId
from bot.runtime.prices import price_of
from bot.store.money.ledger import RESERVED
from bot.store.runs import ERRANDS, RunState
from bot.store.schema import compactions, layers, ledger
from bot.store.tx import Tx

_TOKENS = tuple(one.name for one in fields(Usage))


@dataclass(frozen=True)
class Stretch:
    """``requests`` for answers that held ``context`` tokens in all; each would have held ``hidden`` tokens more, up to
    the window, without the compactions before it. ``cost``: of what was sent, without the answers, in nano-dollars."""

    requests: int
    context: int
    hidden: int
    cost: int


async def after_compactions(tx: Tx, agent_id: AgentId, *, since: float) -> Sequence[Stretch]:
    """From the first compaction on that is still on the page, as far as it was after this moment."""
    marks = await _marks(tx, agent_id)
    ends = [*(at for at, _, _ in marks[1:]), float("inf")] if marks else []
    found: list[Stretch] = []
    for (begins, hidden, limit), end in zip(marks, ends, strict=True):
        if hidden and end > since:
            found.append(await _stretch(tx, agent_id, (max(begins, since), end), hidden=hidden, limit=limit))
    return [one for one in found if one.requests]


async def _marks(tx: Tx, agent_id: AgentId) -> list[tuple[float, int, int]]:
    """When what was hidden changed, how many tokens it was from then on, and the limit; /new begins anew."""
    lasting = (layers.c.agent_id == agent_id) & layers.c.removed_at.is_(None)
    known = select(compactions.c.id, compactions.c.meter_before, compactions.c.meter_after).where(
        compactions.c.agent_id == agent_id,
        compactions.c.state == RunState.DONE,
        compactions.c.meter_after.is_not(None),
        compactions.c.trigger.not_in(ERRANDS),
    )
    runs = {row[0]: (row[1], row[2]) for row in await tx.execute(known) if row[2]}
    marks: list[tuple[float, int, int]] = []
    hidden = 0
    placed = select(layers.c.created_at, layers.c.kind, layers.c.run_id).where(lasting).order_by(layers.c.number)
    for at, kind, run in await tx.execute(placed):
        if run in runs:
            before, after = (MeterRecord.from_json(one) for one in runs[run])
            hidden += max(0, before.total - after.total)
            marks.append((at, hidden, before.limit))
        elif kind == "new":
            hidden = 0
            marks.append((at, 0, 0))
    return marks


async def _stretch(tx: Tx, agent_id: AgentId, between: tuple[float, float], *, hidden: int, limit: int) -> Stretch:
    begins, end = between
    own = (ledger.c.agent_id == agent_id) & (ledger.c.purpose == "turn") & (ledger.c.state != RESERVED)
    sums = [func.sum(ledger.c[name]) for name in _TOKENS]
    query = select(ledger.c.model, ledger.c.provider, func.count(), *sums).where(
        own, ledger.c.at >= begins, ledger.c.at < (end if end != float("inf") else 1e12)
    )
    requests = context = cost = 0
    for model, provider, count, *tokens in await tx.execute(query.group_by(ledger.c.model, ledger.c.provider)):
        usage = Usage(**{name: int(value or 0) for name, value in zip(_TOKENS, tokens, strict=True)})
        requests, context = requests + count, context + usage.context
        if price := price_of(model, provider):
            sent = replace(usage, output=0, reasoning=0, searches=0)
            cost += replace(price, longer=()).nano(sent)
    room = max(0, limit - context // requests) if requests else 0
    return Stretch(requests, context, min(hidden, room), cost)
