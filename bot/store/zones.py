"""Time zones that were chosen: of conversations, and of people, by their IANA names; empty where nothing was.

A private conversation has the zone of its person (``zone_of``), so that whoever moves says so once. Others have one of
their own, which the threads of a chat share.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import bindparam, delete, select, update

from bot.messages import Address, AgentId
from bot.store.schema import agents, person_zones
from bot.store.tx import Tx, insert_into

_OF = select(agents.c.zone, agents.c.zone_of, agents.c.connector, agents.c.chat, agents.c.thread).where(
    agents.c.id == bindparam("agent")
)
_BESIDE = (
    select(agents.c.zone)
    .where(agents.c.connector == bindparam("of"), agents.c.chat == bindparam("there"))
    .where(agents.c.zone != "", agents.c.zone_of == "")
    .limit(1)
)
_OF_PERSON = select(person_zones.c.zone).where(
    person_zones.c.connector == bindparam("of"), person_zones.c.person == bindparam("who")
)


@dataclass(frozen=True)
class ChatZone:
    """What a conversation goes by. ``person``: whose zone that is; empty where several people talk."""

    zone: str = ""
    person: str = ""


async def of_conversation(tx: Tx, agent_id: AgentId) -> ChatZone:
    """As the book has it now; of a thread that has none, its chat's."""
    row = (await tx.execute(_OF, {"agent": agent_id})).one_or_none()
    if row is None:
        return ChatZone()
    if row.thread and not row.zone and not row.zone_of:
        return ChatZone(await _beside(tx, row.connector, row.chat))
    return ChatZone(row.zone, row.zone_of)


async def of_chat(tx: Tx, address: Address) -> str:
    """The zone of a conversation, which may be one that has not begun."""
    own = await of_conversation(tx, address.agent_id)
    if own.zone or own.person or not address.thread:
        return own.zone
    return await _beside(tx, address.connector, address.chat)


async def _beside(tx: Tx, connector: str, chat: str) -> str:
    return (await tx.execute(_BESIDE, {"of": connector, "there": chat})).scalar_one_or_none() or ""


async def of_person(tx: Tx, connector: str, person: str) -> str:
    """Somebody's own, wherever they write."""
    return (await tx.execute(_OF_PERSON, {"of": connector, "who": person})).scalar_one_or_none() or ""


async def for_person(tx: Tx, address: Address, person: str) -> str:
    """What counts for what somebody says here: their own, else the conversation's."""
    return await of_person(tx, address.connector, person) or await of_chat(tx, address)


async def choose_for_chat(tx: Tx, address: Address, zone: str) -> None:
    """From now on the conversations of this chat go by it; empty: as all that have not chosen."""
    here = (agents.c.connector == address.connector) & (agents.c.chat == address.chat)
    await tx.execute(update(agents).where(here).values(zone=zone, zone_of=""))


async def choose_for_person(tx: Tx, connector: str, person: str, zone: str) -> None:
    """From now on somebody goes by it, and with them their private conversations; empty: as all."""
    if zone:
        added = insert_into(tx, person_zones).values(connector=connector, person=person, zone=zone)
        await tx.execute(added.on_conflict_do_update(index_elements=["connector", "person"], set_={"zone": zone}))
    else:
        this = (person_zones.c.connector == connector) & (person_zones.c.person == person)
        await tx.execute(delete(person_zones).where(this))
    theirs = (agents.c.connector == connector) & (agents.c.zone_of == person)
    await tx.execute(update(agents).where(theirs).values(zone=zone))


async def follow(tx: Tx, address: Address, person: str) -> str:
    """A private conversation goes by this person's zone from now on; returns it."""
    zone = await of_person(tx, address.connector, person)
    await tx.execute(update(agents).where(agents.c.id == address.agent_id).values(zone=zone, zone_of=person))
    return zone
