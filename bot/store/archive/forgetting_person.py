"""Takes what one person said out of the book. Where others talk too, the rows stay in their places and say that
something was removed, so that what is left is still a conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import RowMapping, delete, null, select, update

from bot.estimate import Family, message_tokens
from bot.history import IMPORTED, Entry, EntryKind
from bot.history.entry_text import RECALLED, text_to_read
from bot.history.file_headers import sent_path
from bot.history.quotations import apart
from bot.messages import AgentId, Block, tool_calls
from bot.runtime.utc_day import day_of
from bot.store import appointments, facts, outbox, standing_rules
from bot.store.archive.forgetting import blank_newest, forget_heads, keep_out
from bot.store.archive.whereabouts import BLOCKS, REMOVED
from bot.store.money import budgets, ledger
from bot.store.operators.traces import Day
from bot.store.quotations import Taken, quoting, take_files_out, take_out, take_out_of_inbox
from bot.store.runs import OPEN
from bot.store.schema import (
    admin_chats,
    agents,
    compactions,
    entries,
    inbox,
    layers,
    memory_candidates,
    memory_facts,
    people,
    person_zones,
    vectors,
)
from bot.store.schema import outbox as outbox_rows
from bot.store.search import word_index
from bot.store.tx import Tx

_AT_ONCE = 500


@dataclass(frozen=True)
class Removed:
    """What was taken out of a conversation that others share: counts by what it was, files in the folder, and daily
    files that are to be written anew."""

    counts: Mapping[str, int]
    files: frozenset[str]
    days: frozenset[Day]


async def forget_pairing(tx: Tx, connector: str, person: str) -> int:
    """That this person asked to be let in, or was, and where they live; returns how many rows the first were."""
    lives = (person_zones.c.connector == connector) & (person_zones.c.person == person)
    await tx.execute(delete(person_zones).where(lives))
    this = (people.c.connector == connector) & (people.c.person == person)
    admin = (admin_chats.c.connector == connector) & (admin_chats.c.person == person)
    await tx.execute(delete(admin_chats).where(admin))
    await appointments.set_quiet(tx, connector, person, None)
    await ledger.forget_person(tx, connector, person)
    await budgets.forget(tx, connector, person)
    return (await tx.execute(delete(people).where(this))).rowcount


async def redact(tx: Tx, agent_id: AgentId, connector: str, person: str, *, stopped: str) -> Removed:
    """Take what a person said out of a conversation that others share. ``stopped``: what the message of a compaction
    says from now on that was under way. Doing it again finds nothing.

    What compactions wrote of it cannot be told from what they wrote of others: all that began after the first such
    entry go, with their layers, so that the others' words come back into view.
    """
    counts: Counter[str] = Counter()
    said, files, speakers = await _said(tx, agent_id, person)
    written = await _written(tx, agent_id, connector, person)
    files |= written.files
    added = await _added_facts(tx, agent_id, written)
    own = {*said, *added}
    taken = Taken(person=person, speakers=frozenset(speakers | written.speakers))
    quotes = [entry for entry in await quoting(tx, agent_id, taken) if entry.seq not in own]
    touched = {*own, *(entry.seq for entry in quotes)}
    pinned = await standing_rules.since_person(tx, agent_id, person)
    since = min([written.since, pinned, *(await _times(tx, agent_id, touched))])
    runs = await _runs_since(tx, agent_id, since, written.texts)
    inserted = await _take_layers_off(tx, agent_id, touched, [run["id"] for run in runs])
    results = await _redact_results(tx, agent_id, min(touched), files) if touched else 0
    await take_out(tx, agent_id, quotes, _tokens_of)
    for seqs in (own, inserted):
        await _blank(tx, agent_id, seqs)
    gone = sorted({*own, *inserted})
    counts |= {"entries": len(said), "results of tools": results, "compactions": len(runs)}
    counts["facts"] = await forget_facts(tx, agent_id, own, added)
    counts["rules"] = await standing_rules.forget_person(tx, agent_id, person)
    counts["appointments"] = await appointments.forget_person(tx, agent_id, person)
    await _forget_runs(tx, runs, stopped)
    await word_index.forget_some(tx, agent_id, gone)
    await _forget_at(tx, vectors, agent_id, gone)
    counts["notices"] = await _forget_notices(tx, agent_id, since)
    files |= {path for _, path in await take_files_out(tx, inbox.c.agent_id == agent_id, taken)}
    waiting = await take_out_of_inbox(tx, inbox.c.agent_id == agent_id, taken)
    counts["quotations"] = max(len(quotes), waiting)
    counts["messages in the inbox"] = await _forget_inbox(tx, agent_id, written.ids)
    if any(counts.values()):
        later = (entries.c.agent_id == agent_id) & (entries.c.seq > min(touched, default=0))
        await tx.execute(update(entries).where(later).values(anchor=null()))  # they were measured with what is gone
        await tx.execute(update(agents).where(agents.c.id == agent_id).values(meter=null()))
    days = frozenset(Day(agent_id, day_of(run["started_at"])) for run in runs)
    return Removed({what: count for what, count in counts.items() if count}, frozenset(files), days)


@dataclass(frozen=True)
class _Written:
    """The rows of the inbox by one person in one conversation, and what is in them."""

    ids: frozenset[int]
    texts: tuple[str, ...]
    speakers: frozenset[str]
    files: frozenset[str]
    since: float


async def _said(tx: Tx, agent_id: AgentId, person: str) -> tuple[list[int], set[str], set[str]]:
    """The entries that a person said or sent, the files that they name, and how this person was named to the model."""
    theirs = (entries.c.agent_id == agent_id) & (entries.c.person == person)
    rows = await tx.execute(
        select(entries.c.seq, entries.c.kind, entries.c.blocks).where(theirs).order_by(entries.c.seq)
    )
    seqs, files, speakers = list[int](), set[str](), set[str]()
    for seq, kind, blocks in rows:
        seqs.append(seq)
        if kind == EntryKind.FILE:
            files |= files_in(blocks)
        else:
            parts = apart(blocks)
            speakers.add(text_to_read(parts[1] if parts else blocks).partition(": ")[0])
    return seqs, files, speakers


def files_in(blocks: Sequence[Block]) -> set[str]:
    """The files that a person sent, by the blocks that show them."""
    found = {path for block in blocks if (path := sent_path(str(block.get("text", ""))))}
    for block in blocks:
        source = block.get("source")
        if isinstance(source, Mapping) and isinstance(path := source.get("path"), str):
            found.add(path)
    return found


async def _written(tx: Tx, agent_id: AgentId, connector: str, person: str) -> _Written:
    theirs = (inbox.c.agent_id == agent_id) & (inbox.c.connector == connector) & (inbox.c.person == person)
    columns = [inbox.c.id, inbox.c.text, inbox.c.attachments, inbox.c.received_at, inbox.c.speaker]
    rows = (await tx.execute(select(*columns).where(theirs))).all()
    own = (file for row in rows for file in row[2] if file.get("person", "") in ("", person))
    files = {str(file["path"]) for file in own if file.get("path")}
    since = min((row[3] for row in rows), default=float("inf"))
    ids, texts = frozenset(row[0] for row in rows), tuple(row[1] for row in rows)
    return _Written(ids, texts, frozenset(row[4] for row in rows if row[4]), frozenset(files), since)


async def _times(tx: Tx, agent_id: AgentId, seqs: Collection[int]) -> list[float]:
    """When the first of these entries was written; nothing where there is none."""
    if not seqs:
        return []
    first = select(entries.c.created_at).where(entries.c.agent_id == agent_id, entries.c.seq == min(seqs))
    return [(await tx.execute(first)).scalar_one()]


async def _added_facts(tx: Tx, agent_id: AgentId, written: _Written) -> set[int]:
    """Entries that tell the model what this person had it remember with /memory; whose word it was, only the inbox
    says. In a group the name stands before it."""
    asked = _commands(written.texts)
    notes = (entries.c.agent_id == agent_id) & (entries.c.kind == EntryKind.NOTE) & entries.c.layer.is_(None)
    if not asked:
        return set()
    rows = await tx.execute(select(entries.c.seq, entries.c.blocks).where(notes))
    told = {seq: text_to_read(blocks).rpartition("with /memory: ")[2].rstrip("]") for seq, blocks in rows}
    names = ("", *(f"{name}: " for name in written.speakers))
    words = {(seq, fact.removeprefix(name)) for seq, fact in told.items() for name in names if fact}
    return {seq for seq, fact in words if any(fact in text for text in asked)}


def _commands(texts: Sequence[str]) -> list[str]:
    """Those that may be commands: in capitals, too, and by another name."""
    return [text for text in texts if text.lstrip().startswith("/")]


async def _runs_since(tx: Tx, agent_id: AgentId, since: float, texts: Sequence[str]) -> Sequence[RowMapping]:
    """Compactions that began then or later, and those that were asked for in these words."""
    table = compactions.c
    columns = [table.id, table.started_at, table.head, table.state, table.status_slot, table.focus]
    rows = (await tx.execute(select(*columns).where(table.agent_id == agent_id))).mappings().all()
    asked = _commands(texts)
    return [
        row
        for row in rows
        if row["started_at"] >= since or (row["focus"] and any(row["focus"] in text for text in asked))
    ]


async def _take_layers_off(tx: Tx, agent_id: AgentId, own: Collection[int], runs: Collection[str]) -> set[int]:
    """Of the layers of these runs only the numbers stay, so that none is used twice; returns what they inserted. Of
    the others goes what they put in the place of these entries."""
    rows = await tx.execute(
        select(
            layers.c.number,
            layers.c.run_id,
            layers.c.replaced,
            layers.c.removed_at,
            layers.c.created_at,
            layers.c.kind,
            layers.c.hidden,
        ).where(layers.c.agent_id == agent_id)
    )
    emptied = list[int]()
    for number, run, replaced, removed_at, created_at, kind, hidden in rows.all():
        if kind == IMPORTED and any(low <= seq <= high for low, high in hidden for seq in own):
            emptied.append(number)  # what it lies over stays there: only what it says of that goes
            continue
        this = (layers.c.agent_id == agent_id) & (layers.c.number == number)
        if run in runs:
            emptied.append(number)
            values = {"hidden": [], "replaced": {}, "run_id": None, "removed_at": removed_at or created_at, "floor": 0}
            await tx.execute(update(layers).where(this).values(**values))
        elif kept := {seq: blocks for seq, blocks in replaced.items() if int(seq) in own}:
            left = {seq: blocks for seq, blocks in replaced.items() if seq not in kept}
            await tx.execute(update(layers).where(this).values(replaced=left))
    found = select(entries.c.seq).where(entries.c.agent_id == agent_id, entries.c.layer.in_(emptied))
    return {row[0] for row in await tx.execute(found)}


async def _redact_results(tx: Tx, agent_id: AgentId, first: int, files: Collection[str]) -> int:
    """What ``recall`` found and what was read from these files is what the person said, once more."""
    reading: set[str] = set()
    changed = 0
    async for row in _talk_since(tx, agent_id, first):
        for call in tool_calls(row["blocks"]):
            path = call.get("input", {}).get("path") if isinstance(call.get("input"), Mapping) else None
            if isinstance(path, str) and str(PurePosixPath(path)) in files:
                reading.add(str(call["id"]))
        blocks = [_without(block, reading) for block in row["blocks"]]
        if row["kind"] == EntryKind.RESULT and blocks != row["blocks"]:
            changed += 1
            this = (entries.c.agent_id == agent_id) & (entries.c.seq == row["seq"])
            await tx.execute(update(entries).where(this).values(blocks=blocks, tokens=len(REMOVED)))
            await word_index.forget_some(tx, agent_id, [row["seq"]])
            left = Entry(row["seq"], "user", tuple(blocks), EntryKind.RESULT)
            await word_index.add(tx, agent_id, [left])
            await _forget_at(tx, vectors, agent_id, [row["seq"]])
    return changed


async def _talk_since(tx: Tx, agent_id: AgentId, first: int) -> AsyncIterator[RowMapping]:
    """Replies and results from there on, some at a time."""
    chosen = select(entries.c.seq, entries.c.kind, entries.c.blocks).where(
        entries.c.agent_id == agent_id, entries.c.kind.in_((EntryKind.REPLY, EntryKind.RESULT))
    )
    after = first
    while True:
        batch = chosen.where(entries.c.seq > after).order_by(entries.c.seq).limit(_AT_ONCE)
        rows = (await tx.execute(batch)).mappings().all()
        for row in rows:
            yield row
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1]["seq"]


def _without(block: Block, reading: Collection[str]) -> Block:
    if block.get("type") != "tool_result" or block.get("content") == REMOVED:
        return block
    is_theirs = block.get("tool_use_id") in reading or text_to_read([block]).startswith(RECALLED)
    return {**block, "content": REMOVED} if is_theirs else block


async def _blank(tx: Tx, agent_id: AgentId, seqs: Collection[int]) -> None:
    values: dict[str, Any] = {"blocks": BLOCKS, "tokens": len(REMOVED), "person": "", "key": ""}
    for some in _some(seqs):
        these = (entries.c.agent_id == agent_id) & entries.c.seq.in_(some)
        await tx.execute(update(entries).where(these).values(**values))


async def forget_facts(tx: Tx, agent_id: AgentId, own: Collection[int], added: Collection[int]) -> int:
    """Facts and candidates that stand in these entries, and what the next trace would say of them."""
    known = await facts.load(tx, agent_id)
    gone = [item.number for item in known if not set(own).isdisjoint(item.seqs)]
    for some in _some(gone):
        these = (memory_facts.c.agent_id == agent_id) & memory_facts.c.number.in_(some)
        await tx.execute(delete(memory_facts).where(these))
    await _forget_at(tx, memory_candidates, agent_id, [*own, *added])
    row = await facts.get(tx, agent_id)
    if row.version and own:
        await facts.put(tx, agent_id, replace(row, version=row.version + 1, told=()))
    return len(gone)


def _tokens_of(blocks: Sequence[Block]) -> int:
    """About; which tokenizer it is, the next measuring tells."""
    return ceil(message_tokens({"role": "user", "content": list(blocks)}, family=Family.NEWER))


async def _forget_runs(tx: Tx, runs: Sequence[RowMapping], stopped: str) -> None:
    for run in runs:
        await tx.execute(delete(compactions).where(compactions.c.id == run["id"]))
        if run["state"] in OPEN:
            await outbox.change(tx, run["status_slot"], stopped)
    await forget_heads(tx, {run["head"] for run in runs})


async def _forget_notices(tx: Tx, agent_id: AgentId, since: float) -> int:
    """What the program answered since then may repeat anybody's words, as answers to /recall and /memory do."""
    table = outbox_rows.c
    these = (table.agent_id == agent_id) & (table.kind == outbox.NOTICE) & (table.created_at >= since)
    changed = await tx.execute(update(outbox_rows).where(these, table.text != REMOVED).values(text=REMOVED, payload=""))
    return changed.rowcount


async def _forget_inbox(tx: Tx, agent_id: AgentId, ids: Collection[int]) -> int:
    gone: Counter[str] = Counter()
    for some in _some(ids):
        await keep_out(tx, inbox.c.id.in_(some))
    await blank_newest(tx, inbox, agent_id, gone, ids)
    for some in _some(ids):
        these = inbox.c.id.in_(some) & (inbox.c.agent_id == agent_id)
        gone[inbox.name] += (await tx.execute(delete(inbox).where(these))).rowcount
    return gone[inbox.name]


async def _forget_at(tx: Tx, table: Any, agent_id: AgentId, seqs: Collection[int]) -> None:
    for some in _some(seqs):
        await tx.execute(delete(table).where(table.c.agent_id == agent_id, table.c.seq.in_(some)))


def _some(numbers: Collection[int]) -> list[list[int]]:
    """As many as one statement names."""
    listed = sorted(numbers)
    return [listed[at : at + _AT_ONCE] for at in range(0, len(listed), _AT_ONCE)]
