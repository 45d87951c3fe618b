"""What is taken out of the book when a conversation or a person is forgotten, and what stays, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.compaction.facts.fact import Candidate, Fact, FactKind, Reason, Source, Speaker
from bot.compaction.standing_rules import Rule, RuleState, note
from bot.history import Anchor, Entry, EntryKind, Layer, Usage
from bot.messages import Address, AgentId, Inbound, Kept, text_block
from bot.store import (
    Database,
    agents,
    chats,
    facts,
    histories,
    inbox,
    outages,
    outbox,
    runs,
    schema,
    standing_rules,
    vectors,
)
from bot.store.archive import forgetting, forgetting_person, whereabouts
from bot.store.archive.forgetting_person import Removed
from bot.store.archive.own import ORDER, OTHERS, SHARED
from bot.store.archive.whereabouts import REMOVED
from bot.store.facts import MemoryRow
from bot.store.operators import conversations, parked
from bot.store.search import recall
from tests.unit.entries import replied, said
from tests.wire.command_line import NOON, ran

HERE, GROUP = Address("room", "1"), Address("room", "group")
ADA, BOB = "ada", "bob"


@pytest.fixture
async def database(book: Mapping[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """An empty book of either kind."""
    opened = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "data")
    await opened.open()
    yield opened
    await opened.close()


def test_each_table_is_said_to_be_a_conversations_or_something_else() -> None:
    """Whoever adds one decides whether it is exported and forgotten."""
    assert {*ORDER, *SHARED, *OTHERS} == set(schema.metadata.tables.values())
    assert len(ORDER) + len(SHARED) + len(OTHERS) == len(schema.metadata.tables)


async def write(database: Database, *entries: Entry, address: Address = HERE, at: float = NOON) -> None:
    async with database.write() as tx:
        await agents.ensure(tx, address, now=at)
        await histories.append(tx, address.agent_id, entries, now=at)


async def forget(database: Database, agent_id: AgentId) -> Mapping[str, int]:
    """... and nothing else than what was said before that it would be."""
    async with database.write() as tx:
        await forgetting.be_alone(tx)
        would = await forgetting.count(tx, agent_id)
        gone = await forgetting.everything(tx, agent_id)
    assert gone == would
    return gone


async def test_all_that_would_go_is_counted_before(database: Database) -> None:
    await write(database, said(1, "the heron is blue"), replied(2, "Noted."))
    await says(database, HERE, ADA, "and now?", 1)
    gone = await forget(database, HERE.agent_id)
    assert gone.keys() >= {"agents", "entries", "inbox", "indexed_agents"}


async def test_that_its_answers_failed_is_forgotten_with_it_and_what_others_met_too_goes_on(database: Database) -> None:
    await write(database, said(1, "hello"))
    async with database.write() as tx:
        for name in (f"answers:{HERE.agent_id}", f"answers:{GROUP.agent_id}", "answers"):
            await outages.goes_on(tx, name, GROUP.agent_id if "group" in name else HERE.agent_id, now=NOON)
        await outages.to_be_told(tx, "answers")
    gone = await forget(database, HERE.agent_id)
    async with database.read() as tx:
        left = (await tx.execute(select(schema.outages.c.name, schema.outages.c.agent_id, schema.outages.c.told))).all()
    assert gone["outages"] == 1
    assert {tuple(row) for row in left} == {
        (f"answers:{GROUP.agent_id}", GROUP.agent_id, False),
        ("answers", "", True),
    }


async def says(database: Database, address: Address, person: str, text: str, number: int, **more: Any) -> int:
    """Somebody says something; the number of its row."""
    async with database.write() as tx:
        key = f"message:{address.chat}:{number}"
        await inbox.add(tx, Inbound(address, key, "message", number, person, text, **more), now=NOON)
        rows = await tx.execute(select(schema.inbox.c.id).where(schema.inbox.c.key == key))
        return int(rows.scalar_one())


async def test_whoever_has_a_forgotten_conversation_in_memory_cannot_write_to_the_one_that_begins_in_its_place(
    database: Database,
) -> None:
    async with database.write() as tx:
        await agents.ensure(tx, HERE, now=NOON)
        for _ in range(3):
            old = await agents.claim(tx, HERE.agent_id)
    assert (await forget(database, HERE.agent_id)) == {"agents": 1}
    async with database.write() as tx:
        await agents.ensure(tx, HERE, now=NOON)
        await agents.ensure(tx, GROUP, now=NOON)
        new = await agents.claim(tx, HERE.agent_id)
    assert old
    assert new
    assert new.epoch > old.epoch
    assert (await forget(database, AgentId("room-unknown"))) == {}


async def test_no_number_of_a_forgotten_message_is_given_again(database: Database) -> None:
    await says(database, GROUP, BOB, "first", 1)
    gone = await says(database, HERE, ADA, "secret", 2)
    async with database.write() as tx:
        slot = await outbox.say(tx, HERE, "secret", now=NOON)
    await forget(database, HERE.agent_id)
    async with database.write() as tx:
        assert await outbox.say(tx, GROUP, "next", now=NOON) > slot
        assert "secret" not in str((await tx.execute(select(schema.inbox))).all())
        assert "secret" not in str((await tx.execute(select(schema.outbox))).all())
    assert await says(database, GROUP, BOB, "next", 3) > gone


async def test_what_several_conversations_share_stays_as_long_as_one_needs_it(database: Database) -> None:
    thread = Address("room", "1", "a thread")
    for number, address in enumerate((HERE, thread)):
        await ran(database, f"run{number}", address)
    async with database.write() as tx:
        await histories.remember_head(tx, "hash", {"system": "Be kind."})
        await chats.close(tx, "room", "1", now=NOON)
        await chats.move(tx, "room", "1", "2")
    await forget(database, HERE.agent_id)
    async with database.read() as tx:
        assert await histories.head(tx, "hash")
        assert (await chats.closed(tx, "room"), await chats.moved(tx, "room")) == ({"1"}, {"2": "1"})
    gone = await forget(database, thread.agent_id)
    assert (gone["heads"], gone["closed_chats"], gone["moved_chats"]) == (1, 1, 1)


CALL = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "files/ada.txt"}}
FOUND = {"type": "tool_use", "id": "c2", "name": "recall", "input": {"query": "secret"}}


async def shared(database: Database) -> None:
    """A chat of Bob and Ada: Bob spoke first, and a compaction came before and one after Ada's first word."""
    await write(database, said(1, "bob's word", person=BOB), replied(2, "to bob"), address=GROUP, at=NOON - 100)
    await ran(database, "before", GROUP, at=NOON - 50)
    await write(
        database,
        said(3, "Ada: my secret", person=ADA),
        replied(4, "to ada", anchor=Anchor(Usage(input=9), (), 9)),
        Entry(5, "user", (text_block("[File: files/ada.txt, 6 characters]\nsecret"),), EntryKind.FILE, person=ADA,
              key="message:group:secret"),
        Entry(6, "assistant", (CALL, FOUND), EntryKind.REPLY),
        Entry(7, "user", (result("c1", "a secret"), result("c2", "[recall: secret]\nsecret"), result("c3", "other")),
              EntryKind.RESULT),
        Entry(8, "user", (text_block("[To be remembered, added by a person with /memory: a secret fact]"),),
              EntryKind.NOTE),
        said(9, "bob again", person=BOB),
        address=GROUP,
    )  # fmt: skip
    await ran(database, "after", GROUP, at=NOON + 50)
    await says(database, GROUP, ADA, " /Memory add a secret fact", 1, person_name="Ada")
    await says(database, GROUP, BOB, "hello", 2, person_name="Bob", speaker="Bob")
    async with database.write() as tx:
        agent_id = GROUP.agent_id
        covered = Layer(1, 8, ((1, 4),), {5: (text_block("an outline of the secret"),)}, run="after")
        summary = Entry(10, "user", (text_block("summary with the secret"),), EntryKind.SUMMARY, layer=1, place=9)
        await histories.put(tx, agent_id, covered, [summary], now=NOON)
        kept = Layer(2, 9, (), {3: (text_block("secret"),), 1: (text_block("bob's"),)}, kind="unseen")
        await histories.put(tx, agent_id, kept, (), now=NOON)
        known = [fact(1, "a secret fact", 8), fact(2, "of bob", 1), fact(3, "of both, secret", 1, 3)]
        await facts.change(tx, agent_id, (), known)
        await facts.put(tx, agent_id, MemoryRow(upto=9, version=4, next_number=4, told=("secret",)))
        found = [Candidate(FactKind.GOAL, "secret", 3, speaker=Speaker.PERSON, reason=Reason.NEW)]
        await facts.add_candidates(tx, agent_id, found, now=NOON)
        await vectors.keep(tx, agent_id, "m", {seq: [0.5] for seq in (1, 3, 7, 10)})
        await outbox.say(tx, GROUP, "I will remember: a secret fact", now=NOON)
        await parked.skip(tx, Inbound(GROUP, "k", "message", 1, ADA, "secret", "Ada"), "broken", now=NOON)


def result(call_id: str, content: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def fact(number: int, text: str, *seqs: int) -> Fact:
    return Fact(FactKind.STATEMENT, text, seqs, number=number, source=Source.PERSON)


async def redact(database: Database) -> Removed:
    async with database.write() as tx:
        return await forgetting_person.redact(tx, GROUP.agent_id, "room", ADA, stopped="stopped")


async def test_of_a_shared_conversation_goes_what_a_person_said_and_all_that_was_made_of_it(database: Database) -> None:
    await shared(database)
    agent_id = GROUP.agent_id
    removed = await redact(database)
    async with database.read() as tx:
        history = await histories.load(tx, agent_id)
        texts = {entry.seq: recall.Recalled(entry, 0.0).text for entry in history.entries}
        known = [item.text for item in await facts.load(tx, agent_id)]
        memory, candidates = await facts.get(tx, agent_id), await facts.candidates(tx, agent_id)
        kept = set(await vectors.load(tx, agent_id, "m", range(20)))
        found = [one.seq for one in await recall.search(tx, agent_id, "secret", audience=recall.MODEL)]
        others = [one.seq for one in await recall.search(tx, agent_id, "other", audience=recall.MODEL)]
        layers = await conversations.layers_of(tx, agent_id)
        left = [await runs.get(tx, name) is not None for name in ("before", "after")]
        people = [row[0] for row in await tx.execute(select(schema.inbox.c.person))]
        everything = str([(await tx.execute(select(schema.metadata.tables[name]))).all() for name in TABLES])
    assert texts == {
        1: "bob's word", 2: "to bob", 3: REMOVED, 4: "to ada", 5: REMOVED, 6: texts[6],
        7: f"{REMOVED}\n{REMOVED}\nother", 8: REMOVED, 9: "bob again", 10: REMOVED,
    }  # fmt: skip
    assert [entry.person for entry in history.entries if entry.person] == [BOB, BOB]
    assert history.entries[3].anchor is None
    assert history.stack == (2,)
    roles = [message["role"] for message in history.view()]
    assert roles == ["user", "assistant"] * 3 + ["user"]
    assert (known, memory.told, candidates, kept, found) == (["of bob"], (), (), {1}, [])
    assert others == [7]
    assert memory.version > 4
    assert [(layer.number, layer.run) for layer in layers] == [(1, None), (2, None)]
    assert layers[0].removed_at is not None
    assert left == [True, False]
    assert people == [BOB]
    assert "secret" not in everything.replace("{'query': 'secret'}", "")
    assert removed.files == {"files/ada.txt"}
    assert [day.day for day in removed.days] == ["20261121"]
    again = await redact(database)
    assert (again.counts, again.files) == ({}, frozenset())


TABLES = ("inbox", "outbox", "entries", "layers", "compactions", "memories", "memory_facts", "memory_candidates")


async def test_a_persons_rules_go_with_their_words_and_what_they_pinned_of_others_stays(database: Database) -> None:
    hers = Rule(1, "Never call before ten.", RuleState.PINNED, ADA, "m:1", 2, BOB, "Bob", NOON, 3)
    his = Rule(2, "Always tea.", RuleState.PINNED, BOB, "m:2", 4, ADA, "Ada", NOON, 5)
    told = [Entry(rule.note_seq, "user", note(rule), EntryKind.NOTE, person=rule.person) for rule in (hers, his)]
    await write(
        database, said(1, "hi", person=BOB), said(2, hers.text, person=ADA), told[0], said(4, his.text, person=BOB),
        told[1], address=GROUP,
    )  # fmt: skip
    async with database.write() as tx:
        await standing_rules.put(tx, GROUP.agent_id, [hers, his])
    assert (await redact(database)).counts["rules"] == 1
    async with database.read() as tx:
        gone, stays = await standing_rules.load(tx, GROUP.agent_id)
        history = await histories.load(tx, GROUP.agent_id)
    assert (gone.text, gone.is_pinned, stays.text, stays.is_pinned) == ("", False, his.text, True)
    assert (stays.pinned_by, stays.pinned_name) == ("", "")
    assert [hers.text in str(history.view()), his.text in str(history.view())] == [False, True]


async def where(database: Database, person: str = ADA) -> tuple[list[str], list[str], dict[str, int]]:
    async with database.read() as tx:
        found = await whereabouts.where(tx, "room", person)
    return list(found.whole), list(found.shared), {str(name): count for name, count in found.unknown.items()}


async def test_a_conversation_goes_wholly_only_where_nobody_else_is_known_to_talk(database: Database) -> None:
    alone, own, mute = Address("room", "alone"), Address("room", ADA), Address("room", "mute")
    old, other, elsewhere = Address("room", "old"), Address("room", "other"), Address("hall", "alone")
    await write(database, said(1, "hi", person=ADA), address=alone)
    await write(database, said(1, "from before it was known"), address=own)
    await says(database, mute, ADA, "not answered yet", 1)
    await write(database, said(1, "by whom?"), said(2, "hi", person=ADA), address=old)
    await write(database, said(1, "by whom?"), said(2, "hi", person=BOB), address=other)
    await write(database, said(1, "hi", person=ADA), address=elsewhere)
    await write(database, said(1, "hi", person=ADA), said(2, "hi", person=BOB), address=GROUP)
    assert await where(database) == (
        ["room-ada", "room-alone", "room-mute"], ["room-group", "room-old"], {"room-old": 1, "room-other": 1},
    )  # fmt: skip
    assert await where(database, "nobody") == ([], [], {"room-ada": 1, "room-old": 1, "room-other": 1})
    await says(database, other, BOB, "in private", 2)
    assert "room-other" not in (await where(database))[2], "that is Bob's own chat"
    await says(database, old, ADA, "in private", 3)
    assert (await where(database))[0] == ["room-ada", "room-alone", "room-mute", "room-old"]


async def test_a_file_whose_name_has_brackets_is_forgotten_under_its_whole_name(database: Database) -> None:
    blocks = (text_block("[File: files/draft [2].txt, 6 characters]\nsecret"),)
    await write(
        database, said(1, "hi", person=BOB), Entry(2, "user", blocks, EntryKind.FILE, person=ADA), address=GROUP
    )
    assert (await redact(database)).files == {"files/draft [2].txt"}


async def test_files_that_a_person_sent_are_known_by_their_messages_and_by_what_was_shown_of_them(
    database: Database,
) -> None:
    picture = {"type": "image", "source": {"type": "folder", "path": "files/.views/old.png.jpg", "media_type": "x"}}
    blocks = (text_block("[File: files/old.png]"), picture)
    await write(
        database, said(1, "hi", person=BOB), Entry(2, "user", blocks, EntryKind.FILE, person=ADA), address=GROUP
    )
    number = await says(database, GROUP, ADA, "look", 1)
    async with database.write() as tx:
        values = {
            "attachments": [{"name": "n", "path": "files/new, 7.txt", "media_type": "", "size": 1, "problem": ""}]
        }
        await tx.execute(schema.inbox.update().where(schema.inbox.c.id == number).values(**values))
    assert Kept(**values["attachments"][0]).path == "files/new, 7.txt"  # type: ignore[arg-type]
    assert (await redact(database)).files == {"files/new, 7.txt", "files/old.png", "files/.views/old.png.jpg"}
