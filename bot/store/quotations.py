"""Quotations in the book, in the entries of whoever answered: whose and of which message they are, and how they go
when those words go.

Those that versions before 0016 of the tables stored do not say whose they are. They are known by their first line,
which names who said it, and by the words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlalchemy import ColumnElement, Text, cast, delete, select, update

from bot.compaction.facts.life import found_in
from bot.history import Entry, EntryKind
from bot.history.quotations import GONE, apart, names, repeats, without
from bot.messages import AgentId, Block, Quote
from bot.store import facts
from bot.store.histories import entry_of, quoted_columns
from bot.store.schema import entries, inbox, layers, memory_candidates, memory_facts, vectors
from bot.store.search import word_index
from bot.store.tx import Tx

TokensOf: TypeAlias = Callable[[Sequence[Block]], int]
"""What blocks of a person take, as guessed."""
_AT_ONCE = 200
_MAY_QUOTE = cast(entries.c.blocks, Text).contains('"> ', autoescape=True)


@dataclass(frozen=True)
class Taken:
    """Whose words are taken back: those of a person, or of one message. ``speakers``: how that person was named to the
    model; ``said``: what was said, by which quotations of earlier versions are known; ``since``: seq of the first of
    it."""

    person: str = ""
    key: str = ""
    speakers: frozenset[str] = frozenset()
    said: Sequence[str] = ()
    since: int = 0

    def is_of(self, person: str, key: str) -> bool:
        """Whether this is that person, or that message."""
        return (bool(self.key) and key == self.key) or (bool(self.person) and person == self.person)

    def is_in(self, quote: Quote) -> bool:
        """Whether these words are quoted here."""
        if quote.text == GONE:
            return False
        if self.key and quote.key:
            return quote.key == self.key
        if self.person and quote.person:
            return quote.person == self.person
        is_known = bool(quote.person or quote.key)
        return not is_known and (names(quote.text, self.speakers) or any(repeats(quote.text, one) for one in self.said))


async def quoting(tx: Tx, agent_id: AgentId, taken: Taken) -> list[Entry]:
    """The entries of this conversation that quote these words."""
    may = (entries.c.quoted_key == "") & (entries.c.quoted_person == "") & _MAY_QUOTE & (entries.c.seq > taken.since)
    known = entries.c.quoted_key == taken.key if taken.key else entries.c.quoted_person == taken.person
    these = (known | may) if taken.speakers or taken.said else known
    own = (entries.c.agent_id == agent_id) & (entries.c.kind == EntryKind.SAID)
    found, after = list[Entry](), 0
    while True:
        batch = select(entries).where(own, these, entries.c.seq > after).order_by(entries.c.seq).limit(_AT_ONCE)
        rows = (await tx.execute(batch)).mappings().all()
        for entry in map(entry_of, rows):
            parts = apart(entry.blocks)
            if parts and taken.is_in(parts[0]):
                found.append(entry)
        if len(rows) < _AT_ONCE:
            return found
        after = rows[-1]["seq"]


async def take_out(tx: Tx, agent_id: AgentId, found: Sequence[Entry], tokens_of: TokensOf) -> None:
    """These entries no longer say what they quoted, nor does anything that was made of it."""
    for entry in found:
        left = replace(entry, blocks=without(entry.blocks))
        values = {"blocks": list(left.blocks), "tokens": tokens_of(left.blocks), **quoted_columns(left.blocks)}
        await tx.execute(update(entries).where(_at(entry, agent_id)).values(values))
        await word_index.forget_some(tx, agent_id, [entry.seq])
        await word_index.add(tx, agent_id, [left])
        await _forget_facts(tx, agent_id, entry, left)
    seqs = [entry.seq for entry in found]
    for at in range(0, len(seqs), _AT_ONCE):
        some = seqs[at : at + _AT_ONCE]
        await tx.execute(delete(vectors).where(vectors.c.agent_id == agent_id, vectors.c.seq.in_(some)))
    await uncover(tx, agent_id, seqs)


async def take_files_out(tx: Tx, chosen: ColumnElement[bool], taken: Taken) -> list[tuple[AgentId, str]]:
    """Messages in the inbox that brought files of others along no longer name them; returns conversations with places
    in their folders."""
    gone = list[tuple[AgentId, str]]()
    brought = cast(inbox.c.attachments, Text).contains(f'"{taken.key or taken.person}"', autoescape=True)
    rows = await tx.execute(select(inbox.c.id, inbox.c.agent_id, inbox.c.attachments).where(chosen, brought))
    for row in rows.all():
        theirs = [one for one in row[2] if taken.is_of(one.get("person", ""), one.get("key", ""))]
        left = [one for one in row[2] if one not in theirs]
        await tx.execute(update(inbox).where(inbox.c.id == row[0]).values(attachments=left))
        gone += [(AgentId(row[1]), str(one["path"])) for one in theirs if one.get("path")]
    return gone


async def take_out_of_inbox(tx: Tx, chosen: ColumnElement[bool], taken: Taken) -> int:
    """Messages in the inbox that quote these words no longer do; returns how many they were."""
    rows = await tx.execute(
        select(inbox.c.id, inbox.c.quote, inbox.c.quoted_key, inbox.c.quoted_person).where(chosen, inbox.c.quote != "")
    )
    ids = [row[0] for row in rows if taken.is_in(Quote(row[1], key=row[2], person=row[3]))]
    for at in range(0, len(ids), _AT_ONCE):
        these = inbox.c.id.in_(ids[at : at + _AT_ONCE])
        await tx.execute(update(inbox).where(these).values(quote="", quoted_key="", quoted_person=""))
    return len(ids)


async def uncover(tx: Tx, agent_id: AgentId, seqs: Collection[int]) -> None:
    """What layers put in the place of these entries is made of their words."""
    if not seqs:
        return
    rows = await tx.execute(select(layers.c.number, layers.c.replaced).where(layers.c.agent_id == agent_id))
    for number, replaced in rows.all():
        left = {seq: blocks for seq, blocks in replaced.items() if int(seq) not in seqs}
        if len(left) < len(replaced):
            this = (layers.c.agent_id == agent_id) & (layers.c.number == number)
            await tx.execute(update(layers).where(this).values(replaced=left))


async def _forget_facts(tx: Tx, agent_id: AgentId, before: Entry, after: Entry) -> None:
    """What memory took from the quotation, and not from the words that came with it."""
    stay = {item.text for item in found_in([after])}
    gone = {item.text for item in found_in([before])} - stay
    if not gone:
        return
    known = await facts.load(tx, agent_id)
    numbers = [one.number for one in known if before.seq in one.seqs and _is_of(one.text, gone, stay)]
    for number in numbers:
        this = (memory_facts.c.agent_id == agent_id) & (memory_facts.c.number == number)
        await tx.execute(delete(memory_facts).where(this))
    here = (memory_candidates.c.agent_id == agent_id) & (memory_candidates.c.seq == before.seq)
    rows = await tx.execute(select(memory_candidates.c.id, memory_candidates.c.text).where(here))
    ids = [row[0] for row in rows if _is_of(row[1], gone, stay)]
    await tx.execute(delete(memory_candidates).where(memory_candidates.c.id.in_(ids)))
    memory = await facts.get(tx, agent_id)
    if memory.version:
        await facts.put(tx, agent_id, replace(memory, version=memory.version + 1, told=()))


def _is_of(text: str, gone: Collection[str], stay: Collection[str]) -> bool:
    """Two lines of memory may have become one."""
    return text not in stay and any(text in one or one in text for one in gone)


def _at(entry: Entry, agent_id: AgentId) -> ColumnElement[bool]:
    return (entries.c.agent_id == agent_id) & (entries.c.seq == entry.seq)
