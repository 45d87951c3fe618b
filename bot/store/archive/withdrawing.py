"""What people take back by deleting it on their platform.

Before a turn has taken it, it is as if it had not been said. After that the history says that it was deleted, or, where
whoever runs the bot has it so, no longer what it said: people may take back their own words, though no compaction ever
takes any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import String, Text, cast, delete, literal_column, or_, select, union_all, update

from bot.history.entry_text import text_to_read
from bot.history.quotations import apart
from bot.messages import AgentId, Block, Inbound, text_block
from bot.store import standing_rules
from bot.store.archive.forgetting_person import files_in, forget_facts
from bot.store.operators import parked
from bot.store.quotations import Taken, TokensOf, quoting, take_files_out, take_out, take_out_of_inbox, uncover
from bot.store.schema import agents, entries, inbox, vectors
from bot.store.search import word_index
from bot.store.tx import Tx, insert_into

DELETED = "[This message was deleted by its author since.]"
"""Put behind the words of an entry."""
HIDDEN = "[A message stood here, which its author deleted.]"
"""Put in their place."""
_EDITED = ":edit:"
"""Between the key of a message and what tells its edits apart."""
_UNTAKEN_STATES = ("fetching", "waiting", "parked")
_UNTAKEN = inbox.c.state.in_(_UNTAKEN_STATES)
_EMPTY_TEXT = literal_column("''", String)
"""Said as it is in the index, which would not be used otherwise."""
_EMPTY: dict[str, Any] = {
    "state": "done",
    "text": "",
    "person": "",
    "person_name": "",
    "speaker": "",
    "quote": "",
    "quoted_key": "",
    "quoted_person": "",
    "ref": "",
    "attachments": [],
    "reason": "",
    "parked_at": None,
}


@dataclass(frozen=True)
class Withdrawn:
    """What became of it. ``rings``: conversations in which something changes; ``files``: in their folders, that nobody
    has seen and that go with it."""

    rings: frozenset[AgentId] = frozenset()
    files: tuple[tuple[AgentId, str], ...] = ()


def message_key(key: str) -> str:
    """That of the message, of whichever of its texts this is."""
    return key.partition(_EDITED)[0]


async def withdraw(tx: Tx, deletion: Inbound, *, now: float) -> Withdrawn:
    """Its author deleted the message that this event names. Of what nobody has taken yet the row stays, without a word:
    its key keeps it out when the platform brings it again. What an agent has taken is for the agent to mark."""
    connector, key = deletion.address.connector, deletion.edits
    its = (inbox.c.connector == connector) & or_(
        inbox.c.key == key, inbox.c.key.startswith(f"{key}{_EDITED}", autoescape=True)
    )
    untaken = its & _UNTAKEN
    rows = (
        await tx.execute(select(inbox.c.id, inbox.c.agent_id, inbox.c.attachments).where(untaken).with_for_update())
    ).all()
    ids = [row[0] for row in rows]
    await tx.execute(update(inbox).where(inbox.c.id.in_(ids), untaken).values(_EMPTY))
    elsewhere = inbox.c.id.in_(await _untaken_with_words_of_others(tx, connector))
    await take_out_of_inbox(tx, elsewhere, Taken(key=key))
    brought = await take_files_out(tx, elsewhere, Taken(key=key))
    await parked.unquote(tx, connector, key=key)
    said = select(entries.c.agent_id).join(agents, agents.c.id == entries.c.agent_id)
    named = (entries.c.key == key) & (entries.c.key != _EMPTY_TEXT)
    told = named | ((entries.c.quoted_key == key) & (entries.c.quoted_key != _EMPTY_TEXT))
    found = await tx.execute(said.where(told, agents.c.connector == connector).limit(1))
    agent_id = found.scalar_one_or_none()
    if agent_id is not None:
        await _tell(tx, AgentId(agent_id), deletion, now)
    files = tuple((AgentId(row[1]), str(one["path"])) for row in rows for one in row[2] if one.get("path"))
    rings = {AgentId(row[1]) for row in rows} | ({AgentId(agent_id)} if agent_id else set())
    return Withdrawn(frozenset(rings), (*files, *brought))


async def _untaken_with_words_of_others(tx: Tx, connector: str) -> list[int]:
    """Rows that quote something, or bring files. One query for each state, and none for the connector: by its own index
    a database finds those few, and would not take it otherwise."""
    holds = (inbox.c.quote != "") | (cast(inbox.c.attachments, Text) != "[]")
    states = [literal_column(f"'{state}'", String) for state in _UNTAKEN_STATES]
    each = [select(inbox.c.id, inbox.c.connector).where(inbox.c.state == state, holds) for state in states]
    return [row[0] for row in await tx.execute(union_all(*each)) if row[1] == connector]


async def _tell(tx: Tx, agent_id: AgentId, deletion: Inbound, now: float) -> None:
    await tx.execute(
        insert_into(tx, inbox)
        .values(
            agent_id=agent_id,
            connector=deletion.address.connector,
            key=deletion.key,
            kind=deletion.kind,
            position=deletion.order,
            person="",
            person_name="",
            text=deletion.edits,
            received_at=now,
            state="waiting",
        )
        .on_conflict_do_nothing(index_elements=["connector", "key"])
    )


async def mark(tx: Tx, agent_id: AgentId, key: str, tokens_of: TokensOf) -> bool:
    """Say behind what it says that it was deleted. False where that is said already, or nothing is there."""
    marked = False
    for seq, blocks in await _said(tx, agent_id, key):
        if any(block.get("text") in (DELETED, HIDDEN) for block in blocks):
            continue
        await _change(tx, agent_id, seq, [*blocks, text_block(DELETED)], tokens_of)
        marked = True
    return marked


async def hide(tx: Tx, agent_id: AgentId, key: str, tokens_of: TokensOf) -> frozenset[str] | None:
    """Take its words out of the history, out of what is found and out of what is remembered, with what others quoted of
    it by answering it; returns its files, which go too. None where they are out already. What was said about it since
    then stays, summaries too."""
    said = [(seq, blocks) for seq, blocks in await _said(tx, agent_id, key) if not _is_hidden(blocks)]
    await _hide_quotations(tx, agent_id, key, said, tokens_of)
    await standing_rules.forget_message(tx, agent_id, key)
    if not said:
        return None
    seqs = [seq for seq, _ in said]
    for seq in seqs:
        await _change(tx, agent_id, seq, [text_block(HIDDEN)], tokens_of)
    await word_index.forget_some(tx, agent_id, seqs)
    await tx.execute(delete(vectors).where(vectors.c.agent_id == agent_id, vectors.c.seq.in_(seqs)))
    await forget_facts(tx, agent_id, seqs, ())
    await uncover(tx, agent_id, seqs)
    its = (inbox.c.agent_id == agent_id) & (
        (inbox.c.key == key) | inbox.c.key.startswith(f"{key}{_EDITED}", autoescape=True)
    )
    await tx.execute(update(inbox).where(its).values(text="", attachments=[]))
    return frozenset(path for _, blocks in said for path in files_in(blocks))


async def _hide_quotations(
    tx: Tx, agent_id: AgentId, key: str, said: Sequence[tuple[int, Sequence[Block]]], tokens_of: TokensOf
) -> None:
    """What others quote of it, also where nobody had told us the message itself."""
    texts = [text_to_read(parts[1] if (parts := apart(blocks)) else blocks) for _, blocks in said]
    taken = Taken(key=key, said=texts, since=said[0][0] if said else 0)
    await take_out(tx, agent_id, await quoting(tx, agent_id, taken), tokens_of)
    await take_out_of_inbox(tx, inbox.c.agent_id == agent_id, taken)
    await take_files_out(tx, inbox.c.agent_id == agent_id, taken)


def _is_hidden(blocks: Sequence[Block]) -> bool:
    return [block.get("text") for block in blocks] == [HIDDEN]


async def _said(tx: Tx, agent_id: AgentId, key: str) -> list[tuple[int, Sequence[Block]]]:
    query = select(entries.c.seq, entries.c.blocks).where(entries.c.agent_id == agent_id, entries.c.key == key)
    return [(row[0], row[1]) for row in await tx.execute(query.order_by(entries.c.seq))]


async def _change(tx: Tx, agent_id: AgentId, seq: int, blocks: Sequence[Block], tokens_of: TokensOf) -> None:
    this = (entries.c.agent_id == agent_id) & (entries.c.seq == seq)
    await tx.execute(update(entries).where(this).values(blocks=list(blocks), tokens=tokens_of(blocks)))
