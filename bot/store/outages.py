"""What does not work for people just now, for as long as it lasts, and whether those who run the program were told.

Whoever adds the row, or takes it away, is the one who tells: so that it is told once, however many processes meet it.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import bindparam, delete, exists, or_, select, update

from bot.messages import Address, AgentId
from bot.store.schema import admin_chats, closed_chats, outages
from bot.store.tx import InEach, Tx

MODEL_IS_DOWN = "model:"
"""What the name of an outage begins with that is of one model of a chain, and others answer."""
QUIET_SECONDS = 60.0
"""An answer in another conversation shows that it is over when nothing has failed for so long."""

_BEGIN = InEach(
    outages,
    lambda insert: insert.on_conflict_do_update(
        index_elements=["name"], set_={"last": insert.excluded.last, "agent_id": insert.excluded.agent_id}
    ),
)
_TELL = update(outages).where(outages.c.name == bindparam("outage"), ~outages.c.told).values(told=True)
_END = (
    delete(outages)
    .where(
        outages.c.name.in_(bindparam("names", expanding=True)),
        or_(outages.c.agent_id == bindparam("agent"), outages.c.last < bindparam("quiet_since")),
    )
    .returning(outages.c.name, outages.c.told)
)
_REMEMBER = InEach(
    admin_chats,
    lambda insert: insert.on_conflict_do_update(
        index_elements=["connector", "person"],
        set_={"chat": insert.excluded.chat, "thread": insert.excluded.thread},
    ),
)
_IS_CLOSED = exists().where(
    closed_chats.c.connector == admin_chats.c.connector, closed_chats.c.chat == admin_chats.c.chat
)
_ADMIN_CHATS = select(admin_chats, _IS_CLOSED.label("closed")).order_by(admin_chats.c.connector, admin_chats.c.person)


async def goes_on(tx: Tx, name: str, agent_id: AgentId, *, now: float) -> None:
    """It was met in this conversation, for the first time or once more."""
    await tx.execute(_BEGIN.of(tx), {"name": name, "agent_id": agent_id, "since": now, "last": now, "told": False})


async def to_be_told(tx: Tx, name: str) -> bool:
    """Whether nobody was told of it yet; from here on somebody was."""
    return bool((await tx.execute(_TELL, {"outage": name})).rowcount)


async def end(tx: Tx, names: Collection[str], agent_id: AgentId, *, now: float) -> dict[str, bool]:
    """These are over, where this conversation, in which it worked, shows that; and whether they had been told."""
    found = await tx.execute(_END, {"names": list(names), "agent": agent_id, "quiet_since": now - QUIET_SECONDS})
    return {row[0]: row[1] for row in found}


async def named(tx: Tx, prefix: str) -> dict[str, float]:
    """Those that are on whose names begin so: what stands behind it, and since when."""
    query = select(outages.c.name, outages.c.since).where(outages.c.name.startswith(prefix, autoescape=True))
    return {row[0].removeprefix(prefix): row[1] for row in await tx.execute(query.order_by(outages.c.name))}


async def remember_admin(tx: Tx, address: Address, person: str) -> None:
    """This is where an admin talks to us in private."""
    values = {"connector": address.connector, "person": person, "chat": address.chat, "thread": address.thread}
    await tx.execute(_REMEMBER.of(tx), values)


async def admin_places(tx: Tx, admins: Collection[str]) -> dict[Address, bool]:
    """The private chats of these admins (``connector:id``), and whether our messages reach them; of those who never
    wrote to us in private none is known."""
    rows = (await tx.execute(_ADMIN_CHATS)).mappings()
    return {
        Address(row["connector"], row["chat"], row["thread"]): not row["closed"]
        for row in rows
        if f"{row['connector']}:{row['person']}" in admins
    }
