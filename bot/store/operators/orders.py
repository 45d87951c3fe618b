"""What operators do to a conversation: they give a command like anybody in it, and its agent obeys."""

from __future__ import annotations

from sqlalchemy import func, select

from bot.messages import Address, Inbound
from bot.runtime.access import OPERATOR, OPERATOR_NAME
from bot.store import inbox
from bot.store.schema import inbox as inbox_rows
from bot.store.tx import Tx


async def command(tx: Tx, address: Address, text: str, key: str, *, now: float) -> bool:
    """Put a command into a conversation's inbox, after all that waits there. ``key`` names it for ever; False when it
    is there already."""
    order = await _last_waiting(tx, address) + 1
    given = Inbound(address, f"page:{key}", "press", order, OPERATOR, text, person_name=OPERATOR_NAME)
    return await inbox.add(tx, given, now=now)


async def _last_waiting(tx: Tx, address: Address) -> int:
    """The highest position of what waits for this agent; 0 when nothing does."""
    highest = 0
    for state in ("waiting", "fetching"):
        found = select(func.max(inbox_rows.c.position)).where(
            inbox_rows.c.agent_id == address.agent_id, inbox_rows.c.state == state
        )
        highest = max(highest, (await tx.execute(found)).scalar_one() or 0)
    return highest
