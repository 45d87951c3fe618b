"""Where a person talked or is quoted: in which conversations, and whether others talked there too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import String, Text, cast, func, literal_column, select, union

from bot.history import ASKED
from bot.messages import AgentId, Block, text_block
from bot.store.schema import agents, entries, inbox, people
from bot.store.tx import Tx

REMOVED = "[removed]"
BLOCKS: list[Block] = [text_block(REMOVED)]
_NOBODY = literal_column("''", String)
"""Said as it is in the indexes, which would not be used otherwise."""
_IS_UNKNOWN = (
    entries.c.kind.in_(sorted(ASKED))
    & (entries.c.person == "")
    & entries.c.layer.is_(None)
    & (cast(entries.c.blocks, Text) != json.dumps(BLOCKS))
)


@dataclass(frozen=True)
class Where:
    """Where a person talked: ``whole``: nobody else did there; ``shared``: others did, or may have, or only
    they did and quoted this person; ``unknown``:
    entries there and elsewhere on this platform of which it is not known who said them, by conversation."""

    whole: Sequence[AgentId]
    shared: Sequence[AgentId]
    unknown: Mapping[AgentId, int]


async def where(tx: Tx, connector: str, person: str) -> Where:
    """Look where this person talked, and where others quote them."""
    spoke = union(
        select(entries.c.agent_id).where(entries.c.person == person, entries.c.person != _NOBODY),
        select(inbox.c.agent_id).where(inbox.c.connector == connector, inbox.c.person == person),
    )
    quotes = union(
        select(entries.c.agent_id).where(entries.c.quoted_person == person, entries.c.quoted_person != _NOBODY),
        select(inbox.c.agent_id).where(inbox.c.connector == connector, inbox.c.quoted_person == person),
    )
    is_quoted = agents.c.id.in_(quotes)
    asked = select(people.c.chat).where(people.c.connector == connector, people.c.person == person)
    own_chat = (agents.c.chat == person) | agents.c.chat.in_(asked)
    candidates = select(agents.c.id, own_chat, is_quoted).where(agents.c.connector == connector)
    rows = await tx.execute(candidates.where(agents.c.id.in_(spoke) | own_chat | is_quoted).order_by(agents.c.id))
    unknown = await _unknown(tx, connector, person)
    whole, shared = list[AgentId](), list[AgentId]()
    for agent_id, is_own_chat, quotes_them in rows.all():
        known, is_private = await who_talks(tx, agent_id)
        if known - {person}:
            shared += [agent_id] if person in known or quotes_them else []
        elif is_own_chat or (person in known and (is_private or not unknown.get(agent_id))):
            whole.append(agent_id)
        else:
            shared.append(agent_id)
    return Where(whole, shared, {one: count for one, count in unknown.items() if one not in whole})


async def who_talks(tx: Tx, agent_id: AgentId) -> tuple[set[str], bool]:
    """Everybody who is known to have talked there, and whether it is known to be a private chat."""
    wrote = await tx.execute(
        select(inbox.c.person, func.max(inbox.c.speaker)).where(inbox.c.agent_id == agent_id).group_by(inbox.c.person)
    )
    speakers = {row[0]: row[1] for row in wrote}
    said = await tx.execute(select(entries.c.person).where(entries.c.agent_id == agent_id).distinct())
    return {*speakers, *(row[0] for row in said)} - {""}, bool(speakers) and not any(speakers.values())


async def _unknown(tx: Tx, connector: str, person: str) -> dict[AgentId, int]:
    """How much was said by nobody knows whom, by conversation; private chats of others left out."""
    of_connector = select(agents.c.id).where(agents.c.connector == connector)
    counted = select(entries.c.agent_id, func.count()).where(_IS_UNKNOWN, entries.c.agent_id.in_(of_connector))
    found = {AgentId(row[0]): row[1] for row in await tx.execute(counted.group_by(entries.c.agent_id))}
    single = (
        select(inbox.c.agent_id)
        .where(inbox.c.connector == connector)
        .group_by(inbox.c.agent_id)
        .having((func.min(inbox.c.person) == func.max(inbox.c.person)) & (func.max(inbox.c.speaker) == ""))
        .having(func.max(inbox.c.person) != person)
    )
    others = {row[0] for row in await tx.execute(single)}
    return {agent_id: count for agent_id, count in sorted(found.items()) if agent_id not in others}
