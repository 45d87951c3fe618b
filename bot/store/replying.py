"""Whether a message answers the newest one of its conversation, so that nobody has to be told which one is meant.

It is decided where the message is stored, from what the book knows then. In doubt the quotation stays: one too many
costs a line, one too few the meaning. So a conversation in which anything is still under way has no newest message.
"""

from __future__ import annotations

from sqlalchemy import select

from bot.messages import AgentId, Inbound, Quote
from bot.store.outbox import REPLY
from bot.store.schema import inbox, outbox
from bot.store.tx import Tx

_LOOKED_AT = 50
_UNREAD = frozenset({"fetching", "waiting", "taken"})


async def quote_for(tx: Tx, inbound: Inbound) -> Quote | None:
    """The quotation that a message needs; None where it answers nothing, or the newest message."""
    if inbound.quote is None:
        return None
    of = inbound.quote.ref
    is_newest = of and of == await _newest(tx, inbound.address.agent_id)
    return None if is_newest else inbound.quote


async def _newest(tx: Tx, agent_id: AgentId) -> str:
    """The newest message that people and the model both have; empty where that is not certain. For platforms whose ids
    are numbers that grow."""
    theirs = await tx.execute(
        select(inbox.c.state, inbox.c.ref)
        .where(inbox.c.agent_id == agent_id)
        .order_by(inbox.c.id.desc())
        .limit(_LOOKED_AT)
    )
    ours = await tx.execute(
        select(outbox.c.state, outbox.c.kind, outbox.c.refs, outbox.c.delivered < outbox.c.version)
        .where(outbox.c.agent_id == agent_id)
        .order_by(outbox.c.id.desc())
        .limit(_LOOKED_AT)
    )
    seen: dict[int, bool] = {}  # by its number: whether the model has it
    for state, ref in theirs:
        if state in _UNREAD:
            return ""
        seen |= {int(ref): True} if ref.isdecimal() else {}
    for state, kind, refs, is_pending in ours:
        if state == "open" or (state == "ready" and is_pending) or not all(ref.isdecimal() for ref in refs):
            return ""
        seen |= {int(ref): kind == REPLY for ref in refs}
    newest = max(seen, default=0)
    return str(newest) if seen.get(newest) else ""
