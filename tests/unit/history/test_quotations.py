"""Quotations: whose words they are, how a model reads them, and how they go when those words go. On both books."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, select, update

from bot.agent.turns.incoming import words_of
from bot.compaction.facts.life import found_in, refreshed
from bot.history import Entry, EntryKind, History, Layer
from bot.history.quotations import GONE, apart, as_read, quotation_block, repeats, speaker_in, spoken_by, without
from bot.messages import Address, Block, Inbound, Kept, Quote, text_block
from bot.store import Database, Tx, agents, facts, histories, inbox, schema, vectors
from bot.store.archive import forgetting_person, whereabouts, withdrawing
from bot.store.facts import MemoryRow
from bot.store.operators import parked
from bot.store.search import recall

GROUP = Address("room", "group")
HERE = GROUP.agent_id
ADA, GRACE = "ada", "grace"
QUOTE = Quote("> Ada (@ada): the heron hides at /data/ada/Desktop", key="message:1:7", person=ADA)
READ = f"{QUOTE.text}\n\nGrace: Ship it to 12 Elm Street."


@pytest.fixture
async def database(book: Mapping[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """An empty book of either kind."""
    opened = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "data")
    await opened.open()
    yield opened
    await opened.close()


def said_by(person: str, number: int, text: str, quote: Quote | None = None) -> Inbound:
    speaker = {ADA: "Ada (@ada)", GRACE: "Grace"}[person]
    return Inbound(
        GROUP, f"message:1:{number}", "message", number, person, text, ref=str(number), speaker=speaker, quote=quote
    )


async def hear(database: Database, inbound: Inbound, seq: int) -> None:
    """It comes, and an agent writes it into its history, with what memory and search make of it."""
    async with database.write() as tx:
        await inbox.add(tx, inbound, now=1.0)
        [row] = await inbox.waiting(tx, HERE)
        await inbox.close(tx, [row.id])
        words = words_of(row, row.text)
        entry = Entry(seq, "user", words, EntryKind.SAID, person=row.person, key=row.key, tokens=9)
        await histories.append(tx, HERE, [entry], now=float(seq))
        await vectors.keep(tx, HERE, "m", {seq: [0.5]})
        await remember(tx, entry)


async def remember(tx: Tx, entry: Entry) -> None:
    """As an agent's memory does after a turn."""
    known = await facts.load(tx, HERE)
    after = refreshed(known, found_in([entry]))
    memory = await facts.get(tx, HERE)
    number = memory.next_number
    numbered = [item if item.number else replace(item, number=number + at) for at, item in enumerate(after.facts)]
    await facts.change(tx, HERE, known, numbered)
    await facts.add_candidates(tx, HERE, after.candidates, now=1.0)
    await facts.put(
        tx, HERE, MemoryRow(upto=entry.seq, version=memory.version + 1, next_number=number + len(numbered), told=("x",))
    )


async def everything(database: Database) -> str:
    """All that an export would hold, and what is put aside."""
    named = [schema.metadata.tables[name] for name in TABLES]

    async def rows(table: Table) -> Sequence[Any]:
        async with database.read() as tx:
            return (await tx.execute(select(table))).all()

    return str([await rows(table) for table in named])


TABLES = ("inbox", "entries", "layers", "memories", "memory_facts", "memory_candidates", "skipped_updates")


async def history(database: Database) -> History:
    async with database.read() as tx:
        return await histories.load(tx, HERE)


async def found(database: Database, words: str) -> list[int]:
    async with database.read() as tx:
        return [one.seq for one in await recall.search(tx, HERE, words, audience=recall.PEOPLE)]


def tokens_of(some: object) -> int:
    return 7


async def conversation(database: Database) -> None:
    """Ada says something, Grace answers that later, quoting it; a layer shows the model less of Grace's message; and a
    third one waits."""
    async with database.write() as tx:
        await agents.ensure(tx, GROUP, now=1.0)
    await hear(database, said_by(ADA, 7, "the heron hides at /data/ada/Desktop"), 1)
    await hear(database, said_by(GRACE, 8, "and what else?"), 2)
    await hear(database, said_by(GRACE, 9, "Ship it to 12 Elm Street.", QUOTE), 3)
    async with database.write() as tx:
        layer = Layer(1, 3, replaced={3: (text_block(f"{QUOTE.text} …"),)}, kind="unseen")
        await histories.put(tx, HERE, layer, (), now=4.0)
        await inbox.add(tx, said_by(GRACE, 10, "still?", QUOTE), now=5.0)
        await parked.skip(tx, said_by(GRACE, 11, "and this?", QUOTE), "broken", now=5.0)


async def check_it_is_gone(database: Database) -> None:
    assert "heron" not in await everything(database)
    assert "/data/ada" not in await everything(database)
    page = await history(database)
    assert page.entries[2].blocks[-1]["text"] == "Grace: Ship it to 12 Elm Street."
    request = str(page.view())
    assert "heron" not in request
    assert f"{GONE}\\n\\nGrace: Ship it" in request
    assert await found(database, "heron") == []
    assert await found(database, "Elm Street") == [3], "her own words are found as before"
    async with database.read() as tx:
        assert 3 not in await vectors.load(tx, HERE, "m", [1, 2, 3])
        assert any("12 Elm Street" in item.text for item in await facts.load(tx, HERE)), "her fact stays"
        [waiting] = await inbox.waiting(tx, HERE)
        assert (waiting.text, waiting.quote) == ("still?", None)
        [skipped] = await parked.all_skipped(tx)
        assert (await parked.get(tx, skipped.id)) == skipped


async def test_a_quotation_is_a_block_of_its_own_that_says_whose_and_of_what_and_the_model_reads_one_text(
    database: Database,
) -> None:
    await conversation(database)
    entry = (await history(database)).entries[2]
    assert entry.blocks[0] == {**text_block(QUOTE.text), "quotes": {"person": ADA, "key": "message:1:7"}}
    assert as_read(entry.blocks) == [text_block(READ)]
    assert History((entry,)).view() == [{"role": "user", "content": [text_block(READ)]}]
    assert await found(database, "heron") == [3, 1]
    assert recall.Recalled(entry, 0.0).text == READ


async def test_what_is_hidden_since_its_author_deleted_it_goes_from_where_others_quote_it(database: Database) -> None:
    await conversation(database)
    deletion = Inbound(GROUP, "delete:message:1:7", "delete", 7, person="", text="", edits="message:1:7")
    async with database.write() as tx:
        assert (await withdrawing.withdraw(tx, deletion, now=6.0)).rings == {HERE}
        assert await withdrawing.hide(tx, HERE, "message:1:7", tokens_of) == frozenset()
        await tx.execute(schema.inbox.delete().where(schema.inbox.c.kind == "delete"))
    await check_it_is_gone(database)


async def test_what_was_never_told_us_but_by_a_quotation_goes_from_it_too(database: Database) -> None:
    await conversation(database)
    async with database.write() as tx:
        await tx.execute(schema.entries.delete().where(schema.entries.c.seq == 1))
        deletion = Inbound(GROUP, "delete:message:1:7", "delete", 7, person="", text="", edits="message:1:7")
        assert (await withdrawing.withdraw(tx, deletion, now=6.0)).rings == {HERE}
        assert await withdrawing.hide(tx, HERE, "message:1:7", tokens_of) is None
    assert "heron" not in str((await history(database)).view())


async def test_where_a_deleted_message_is_only_marked_its_quotation_stays(database: Database) -> None:
    await conversation(database)
    async with database.write() as tx:
        assert await withdrawing.mark(tx, HERE, "message:1:7", tokens_of)
    assert as_read((await history(database)).entries[2].blocks) == [text_block(READ)]


async def test_who_is_forgotten_goes_from_where_others_quote_them(database: Database) -> None:
    await conversation(database)
    async with database.write() as tx:
        removed = await forgetting_person.redact(tx, HERE, "room", ADA, stopped="stopped")
        assert await parked.unquote(tx, "room", person=ADA) == 1
    assert removed.counts["quotations"] == 2
    await check_it_is_gone(database)
    async with database.write() as tx:
        again = await forgetting_person.redact(tx, HERE, "room", ADA, stopped="stopped")
    assert again.counts == {}


async def test_who_never_spoke_in_a_conversation_and_is_quoted_there_is_found_there(database: Database) -> None:
    async with database.write() as tx:
        await agents.ensure(tx, GROUP, now=1.0)
    await hear(database, said_by(GRACE, 9, "Ship it to 12 Elm Street.", QUOTE), 3)
    async with database.write() as tx:
        assert (await whereabouts.where(tx, "room", ADA)).shared == [HERE]
        removed = await forgetting_person.redact(tx, HERE, "room", ADA, stopped="stopped")
    assert removed.counts["quotations"] == 1
    assert "heron" not in await everything(database)
    async with database.read() as tx:
        assert (await whereabouts.where(tx, "room", ADA)).shared == []


@pytest.mark.parametrize("way", ["hide", "forget"])
async def test_quotations_of_earlier_versions_are_known_by_their_words(database: Database, way: str) -> None:
    """They stand in one text with the words, and nothing says whose they are."""
    await conversation(database)
    async with database.write() as tx:
        old = {"blocks": [text_block(READ)], "quoted_key": "", "quoted_person": ""}
        await tx.execute(update(schema.entries).where(schema.entries.c.seq == 3).values(old))
        await tx.execute(update(schema.inbox).values(quoted_key="", quoted_person=""))
        await tx.execute(schema.skipped_updates.delete())
    before = (await history(database)).entries[2]
    assert as_read(before.blocks) == [text_block(READ)], "what was sent stays byte by byte as it is"
    async with database.write() as tx:
        if way == "hide":
            await withdrawing.hide(tx, HERE, "message:1:7", tokens_of)
        else:
            await forgetting_person.redact(tx, HERE, "room", ADA, stopped="stopped")
        await parked.skip(tx, said_by(GRACE, 11, "and this?"), "broken", now=5.0)
    await check_it_is_gone(database)


async def brings(database: Database) -> None:
    """Grace asks about a file that Ada sent, which came with her question; the same once more, which waits."""
    async with database.write() as tx:
        await agents.ensure(tx, GROUP, now=1.0)
    await hear(database, said_by(GRACE, 9, "What is this?"), 1)
    kept = [asdict(Kept("heron.txt", "files/heron.txt", size=5, person=ADA, key="message:1:7"))]
    async with database.write() as tx:
        shown = (text_block("[File: files/heron.txt, 5 characters]\nheron"),)
        file = Entry(2, "user", shown, EntryKind.FILE, person=ADA, key="message:1:7")
        await histories.append(tx, HERE, [file], now=2.0)
        await inbox.add(tx, said_by(GRACE, 10, "still?"), now=5.0)
        await tx.execute(update(schema.inbox).values(attachments=kept))


async def test_a_file_that_came_with_somebodys_question_goes_with_the_message_that_it_is_of(database: Database) -> None:
    await brings(database)
    async with database.write() as tx:
        assert await withdrawing.hide(tx, HERE, "message:1:7", tokens_of) == frozenset({"files/heron.txt"})
    assert "heron" not in await everything(database)
    assert await found(database, "heron") == []


async def test_a_file_that_came_with_somebodys_question_goes_with_whoever_sent_it_and_with_nobody_else(
    database: Database,
) -> None:
    await brings(database)
    async with database.write() as tx:
        removed = await forgetting_person.redact(tx, HERE, "room", GRACE, stopped="stopped")
    assert removed.files == frozenset()
    assert "heron" in await everything(database)
    async with database.write() as tx:
        removed = await forgetting_person.redact(tx, HERE, "room", ADA, stopped="stopped")
    assert removed.files == {"files/heron.txt"}
    assert "heron" not in await everything(database)


async def test_somebody_elses_words_stay_quoted(database: Database) -> None:
    await conversation(database)
    other = Quote("> Grace: and what else?", key="message:1:8", person=GRACE)
    async with database.write() as tx:
        await tx.execute(schema.inbox.delete().where(schema.inbox.c.state == "waiting"))
    await hear(database, said_by(GRACE, 12, "nothing", other), 4)
    async with database.write() as tx:
        await withdrawing.hide(tx, HERE, "message:1:7", tokens_of)
        await forgetting_person.redact(tx, HERE, "room", ADA, stopped="stopped")
    assert (await history(database)).entries[3].blocks[0]["text"] == other.text


async def test_what_was_put_aside_with_a_quotation_can_be_tried_again(database: Database) -> None:
    async with database.write() as tx:
        name = await parked.skip(tx, said_by(GRACE, 11, "and this?", QUOTE), "broken", now=5.0)
        await parked.retry(tx, name, now=6.0)
        [waiting] = await inbox.waiting(tx, HERE)
    assert waiting.quote == QUOTE


@pytest.mark.parametrize(
    ("blocks", "left"),
    [
        ((quotation_block(QUOTE), text_block("yes")), [GONE, "yes"]),
        ((text_block("> Ada: one\n>\n> two\n\nGrace: yes\n\n> not this"),), [GONE, "Grace: yes\n\n> not this"]),
        ((text_block("Grace: > Ada: one\n\nyes"),), ["Grace: > Ada: one\n\nyes"]),
        ((text_block("> only this"),), ["> only this"]),
        ((), []),
    ],
)
def test_a_quotation_is_what_stands_at_the_head_with_words_below_it(blocks: tuple[Block, ...], left: list[str]) -> None:
    assert [block["text"] for block in without(blocks)] == left
    assert (apart(blocks) is None) is (tuple(blocks) == without(blocks))


@pytest.mark.parametrize(
    ("quotation", "said", "expected"),
    [
        ("> Ada: my secret", "Ada: my secret", True),
        ("> Ada: my secret", "my secret", True),
        ("> Ada (@ada):\n> my\n> secret", "my\nsecret", True),
        ("> Ada: [a.png] my secret", "my secret", True),
        ("> Ada: my sec…", "my secret", True),
        ("> Ада: мой сек …", "мой сек рет", True),
        ("> Ada: secret", "my secret", False),
        ("> Ada: my", "my secret", False),
        ("> Ada: …", "my secret", False),
        ("> Palimpsest: Noted: my secret", "my secret", False),
    ],
)
def test_a_quotation_repeats_what_it_quotes_whole_or_cut(quotation: str, said: str, *, expected: bool) -> None:
    assert repeats(quotation, said) is expected


def test_blocks_of_others_that_happen_to_have_this_key_are_left_as_they_are() -> None:
    block: Block = {"type": "text", "text": "a", "quotes": "b"}
    assert as_read([block, text_block("c")]) == [block, text_block("c")]


@pytest.mark.parametrize("words", ["one line", "a\n- b\n  - c\n\nBob (@bob): d", "\n\nlater", "x\u2028Bob: y\x85z"])
def test_in_a_group_no_line_but_the_first_begins_where_a_name_does(words: str) -> None:
    said = spoken_by("Ada (@ada)", words)
    first, *lines = said["text"].splitlines()
    assert first.startswith("Ada (@ada): ")
    assert all(line.startswith("  ") for line in lines)
    assert speaker_in([said]) == "Ada (@ada)"
    assert as_read([said]) == [text_block(said["text"])]
    assert as_read([quotation_block(QUOTE), said]) == [text_block(f"{QUOTE.text}\n\n{said['text']}")]
    assert speaker_in([text_block(said["text"])]) == ""
