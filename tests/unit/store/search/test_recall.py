"""What was said is found again: by its words, in its order, and by nobody else. On both databases."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection, select, text

from bot.compaction.fallback import hide_oldest
from bot.compaction.plan import Plan
from bot.history import Entry, EntryKind, History
from bot.messages import Address, AgentId, Audience, Inbound, text_block
from bot.store import Database, Tx, agents, histories, inbox
from bot.store.database import _alembic
from bot.store.schema import indexed_agents
from bot.store.search import recall, word_index
from bot.store.search.words import query_words
from tests.conftest import BOOKS
from tests.unit.entries import call, replied, returned, said

ADA, BO = AgentId("room-1"), AgentId("room-2")


@pytest.fixture(params=BOOKS)
def url(request: pytest.FixtureRequest, data_dir: Path) -> str:
    """Of the book; empty for the embedded one."""
    return "" if request.param == "embedded" else str(request.getfixturevalue("postgres_book"))


@pytest.fixture
async def book(url: str, data_dir: Path) -> AsyncIterator[Database]:
    """Either book, empty."""
    database = Database(url) if url else Database.in_folder(data_dir)
    await database.open()
    yield database
    await database.close()


async def write(book: Database, *entries: Entry, agent_id: AgentId = ADA, at: float = 1.0) -> None:
    async with book.write() as tx:
        await histories.append(tx, agent_id, entries, now=at)


async def finds(
    book: Database, query: str, *, agent_id: AgentId = ADA, low: int = 1, high: int | None = None, most: int = 20
) -> list[int]:
    """The seqs that a model may read, the best first."""
    async with book.read() as tx:
        found = await recall.search(tx, agent_id, query, audience=recall.MODEL, low=low, high=high, most=most)
    return [item.seq for item in found]


async def search(book: Database, query: str, *, unseen: bool = False) -> list[recall.Recalled]:
    """What a model finds."""
    async with book.read() as tx:
        return await recall.search(tx, ADA, query, audience=recall.MODEL, unseen=unseen)


def lines(texts: Sequence[str], first: int = 1) -> list[Entry]:
    """Each said by a person."""
    return [said(first + index, content) for index, content in enumerate(texts)]


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("doors", "the green door of the hen house"),
        ("дверью", "зелёная дверь курятника"),
        ("火星代号", "火星任务的代号是猎鹰"),
        ("猫", "小猫"),
        ("user id", "set user_id"),
        ("it's c:\\temp", "It’s in C:\\Temp\\x"),
        ("o'brien's", "ask O'Brien's sister"),
    ],
)
async def test_an_entry_is_found_by_its_words_in_any_script(book: Database, query: str, content: str) -> None:
    await write(book, said(1, "something else, другое, 别的"), said(2, content))
    assert await finds(book, query) == [2]


async def test_calls_results_and_names_of_files_are_found(book: Database) -> None:
    picture = {"type": "image", "source": {"type": "folder", "path": "files/heron.png", "media_type": "image/png"}}
    reading = {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "kestrel.txt", "deep": ["osprey"]}}
    await write(
        book,
        Entry(1, "user", (picture,), EntryKind.FILE),
        Entry(2, "assistant", (reading,), EntryKind.REPLY),
        returned(3, "a", [text_block("a buzzard\nin it")]),
    )
    for word, seq in {"heron": 1, "kestrel.txt": 2, "osprey": 2, "buzzard": 3}.items():
        assert await finds(book, word) == [seq]


async def test_thinking_bytes_and_what_recall_found_are_not_found(book: Database) -> None:
    thinking = {"type": "thinking", "thinking": "a kestrel", "signature": "c2ln"}
    reasoned = {"type": "reasoning", "place": "p", "model": "m", "field": "reasoning", "value": "a kestrel"}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "kestrel"}}
    asking = {"type": "tool_use", "id": "a", "name": "recall", "input": {"query": "kestrel"}}
    await write(
        book,
        Entry(1, "assistant", (thinking, reasoned, text_block("Hm."), asking), EntryKind.REPLY),
        Entry(2, "user", (picture,), EntryKind.FILE),
        returned(3, "a", "[recall: messages out of view]\n#1: a kestrel"),
    )
    assert await finds(book, "kestrel") == []


async def test_of_a_long_result_the_beginning_is_found(book: Database) -> None:
    await write(book, returned(1, "a", "kestrel " + "filler " * 5_000 + " osprey"))
    assert await finds(book, "kestrel") == [1]
    assert await finds(book, "osprey") == []


async def test_all_words_come_before_some_and_rare_ones_before_frequent_ones(book: Database) -> None:
    await write(
        book,
        *lines(
            [
                "the launch code of the kestrel",
                "a code for kestrel",
                "a code",
                "another code",
                "a code again",
                "a kestrel and nothing else",
            ]
        ),
    )
    assert await finds(book, "launch code kestrel") == [1, 2, 6, 5, 4, 3]


async def test_an_exact_phrase_comes_before_its_words_and_the_newer_before_the_older(book: Database) -> None:
    await write(book, *lines(["the green door", "a green door", "a door that is green", "green is the door"]))
    assert await finds(book, "green door") == [2, 1, 4, 3]
    await write(book, said(5, "一任务的代号一"), said(6, "任务有代号的号"))
    assert (await finds(book, "任务的代号"))[0] == 5


async def test_a_whole_sentence_is_found_although_it_has_but_one_word_that_tells_and_hundreds_of_shorter_ones_have_it(
    book: Database,
) -> None:
    sentence = "Of what she and you and he have, this is the kestrel"
    long = f"{sentence}. {' '.join(f'Thing{at} lies on shelf{at}.' for at in range(60))}"
    await write(book, *lines([long, *(f"A kestrel in tree{at}" for at in range(600))]))
    assert (await finds(book, f"{sentence}."))[0] == 1


async def test_what_compactions_wrote_comes_after_what_was_said(book: Database) -> None:
    notes = [
        Entry(seq, "user", (text_block("the green door"),), kind, layer=1, place=3)
        for seq, kind in enumerate((EntryKind.SUMMARY, EntryKind.NOTE, EntryKind.MARKER), start=3)
    ]
    await write(book, *lines(["the green door", "a door, once green"]), *notes)
    assert await finds(book, "green door") == [1, 2, 5, 4, 3]


async def test_a_search_stays_between_its_bounds(book: Database) -> None:
    await write(book, *lines(["door"] * 9))
    assert await finds(book, "door", low=3, high=5) == [5, 4, 3]
    assert await finds(book, "door", high=2) == [2, 1]
    assert await finds(book, "door", low=9, high=10**12) == [9]
    assert await finds(book, "door", low=5, high=3) == []
    assert await finds(book, "door", most=2) == [9, 8]


@pytest.mark.parametrize("query", ["", "   ", "🙂", '"', "' OR 1=1 --", "NEAR(", "*", "a:b AND", "\x00", "&|!"])
async def test_any_query_is_only_words(book: Database, query: str) -> None:
    await write(book, said(1, "door"))
    assert await finds(book, query) == []


async def test_another_agents_words_are_never_found_and_never_read(book: Database) -> None:
    await write(book, said(1, "the green door"), said(2, "hello"))
    await write(book, *lines(["a secret kestrel", "the green door", "kestrel again"]), agent_id=BO)
    assert await finds(book, "kestrel") == []
    assert await finds(book, "green door") == [1]
    assert await finds(book, "green door", agent_id=BO) == [2]
    assert await finds(book, "kestrel", agent_id=AgentId("room-3")) == []
    async with book.read() as tx:
        read = await recall.read(tx, ADA, audience=recall.MODEL, low=0, high=10**12)
    assert [item.text for item in read] == ["the green door", "hello"]


async def test_an_agent_whose_entries_are_forgotten_is_not_found_and_the_others_are(book: Database) -> None:
    await write(book, said(1, "kestrel"))
    await write(book, said(1, "kestrel"), agent_id=BO)
    async with book.write() as tx:
        await word_index.forget(tx, ADA)
        await word_index.forget(tx, AgentId("room-3"))
        hits = await word_index.newest(tx, ADA, [query_words("kestrel")], low=1, high=9, most=9)
        assert (list(hits[0].seqs), hits[0].complete) == ([], True)
        names = (await tx.execute(select(indexed_agents.c.agent_id))).scalars().all()
        assert len((await tx.execute(text("SELECT seq FROM entry_words_counts"))).all()) == 1
    assert names == [BO]
    assert await finds(book, "kestrel", agent_id=BO) == [1]
    async with book.write() as tx:
        await word_index.forget_some(tx, BO, [1])
        assert (await tx.execute(text("SELECT seq FROM entry_words_counts"))).all() == []


async def test_what_is_not_committed_is_not_found(book: Database) -> None:
    async def fail() -> None:
        async with book.write() as tx:
            await histories.append(tx, ADA, [said(1, "kestrel")], now=1.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    await write(book, said(1, "osprey"))
    assert await finds(book, "kestrel") == []


async def cover(book: Database, *, gone: int, agent_id: AgentId = ADA) -> None:
    """Hide the first entries, as a compaction does."""
    async with book.write() as tx:
        history = await histories.load(tx, agent_id)
        plan = Plan("new", gone, gone + 1, ((1, gone),))
        number = await histories.next_layer(tx, agent_id)
        layer, inserted = plan.layer(number, history.last_seq + 1, run=None)
        await histories.put(tx, agent_id, layer, inserted, now=1.0)


async def test_what_the_model_has_in_front_of_it_can_be_left_out(book: Database) -> None:
    await write(book, *lines(["door one", "door two", "door three", "door four"]))
    assert await search(book, "door", unseen=True) == []
    await cover(book, gone=2)
    assert [item.seq for item in await search(book, "door", unseen=True)] == [2, 1]
    assert await finds(book, "door") == [4, 3, 2, 1]


async def test_what_is_shortened_counts_as_out_of_view(book: Database) -> None:
    await write(book, said(1, "door " * 9), said(2, "door"))
    async with book.write() as tx:
        layer, _ = Plan("excerpt", 2, 1, replaced={1: (text_block("door …"),)}).layer(1, 3, run=None)
        await histories.put(tx, ADA, layer, [], now=1.0)
    found = await search(book, "door", unseen=True)
    assert [item.seq for item in found] == [1]
    assert found[0].text == ("door " * 9).strip()


async def test_a_summary_tells_and_what_it_stands_for_is_found(book: Database) -> None:
    page = History(tuple(said(seq, f"line {seq} kestrel", tokens=10) for seq in range(1, 51)))
    await write(book, *page.entries)
    plan = hide_oldest(page.visible, 100)
    assert plan
    layer, inserted = plan.layer(1, 51, run=None, recall=True)
    assert "(Out of view: messages 1 to 45; recall finds and reads them.)" in inserted[0].blocks[0]["text"]
    async with book.write() as tx:
        await histories.put(tx, ADA, layer, inserted, now=1.0)
    assert (await search(book, "line 7", unseen=True))[0].seq == 7


async def test_who_may_not_see_an_entry_does_not_find_it(book: Database) -> None:
    await write(
        book, said(1, "door", audience=Audience.PEOPLE), said(2, "door", audience=Audience.MODEL), said(3, "door")
    )
    async with book.read() as tx:
        for audience, seqs in ((recall.MODEL, [3, 2]), (recall.PEOPLE, [3, 1])):
            assert [item.seq for item in await recall.search(tx, ADA, "door", audience=audience)] == seqs
            read = await recall.read(tx, ADA, audience=audience, low=1, high=9)
            assert [item.seq for item in read] == sorted(seqs)


async def spoken(tx: Tx, turn: str, *names: str) -> None:
    """People with these names wrote what this turn answers."""
    address = Address("room", "1")
    await agents.ensure(tx, address, now=1.0)
    for name in names:
        key = f"{turn}:{name}"
        inbound = Inbound(address, key, "message", 1, name.lower(), "hi", person_name=name)
        await inbox.add(tx, inbound, now=1.0)
    await tx.execute(text("UPDATE inbox SET turn_id = :turn WHERE key LIKE :key"), {"turn": turn, "key": f"{turn}:%"})


async def test_it_is_known_who_said_it_and_which_tool_returned_it(book: Database) -> None:
    async with book.write() as tx:
        await spoken(tx, "t1", "Ada")
        await spoken(tx, "t2", "Ada", "Bo")
    look = call("b")
    await write(
        book,
        said(1, "door", turn="t1"),
        Entry(2, "assistant", (call("a"), look), EntryKind.REPLY, turn="t1"),
        returned(3, "a", "door", turn="t1"),
        returned(4, "b", "door", turn="t1"),
        replied(5, "door", turn="t1"),
        said(6, "Bo: door", turn="t2"),
        returned(7, "gone", "door"),
        at=86_400.0,
    )
    found = {item.seq: (item.who, item.at) for item in await search(book, "door")}
    assert found == {
        1: ("Ada", 86_400.0),
        3: ("look", 86_400.0),
        4: ("look", 86_400.0),
        5: ("", 86_400.0),
        6: ("", 86_400.0),
        7: ("", 86_400.0),
    }


async def test_a_range_is_read_in_order_and_bounded(book: Database) -> None:
    await write(book, *lines([f"line {number}" for number in range(1, 10)]))
    async with book.read() as tx:
        read = await recall.read(tx, ADA, audience=recall.MODEL, low=3, high=99, most=4)
    assert [(item.seq, item.text) for item in read] == [(seq, f"line {seq}") for seq in (3, 4, 5, 6)]


async def test_of_very_many_answers_the_newest_are_found_and_a_rare_word_wherever_it_is(book: Database) -> None:
    count = 3_000
    texts = [f"the {'door' if number % 2 else 'gate'} is open" for number in range(1, count + 1)]
    texts[40] = "the kestrel sat on the gate"
    texts[90] = "the door of the osprey was open"
    await write(book, *lines(texts))
    assert (await finds(book, "door open"))[:2] == [count - 1, count - 3]
    assert await finds(book, "kestrel", most=3) == [41]
    assert (await finds(book, "osprey door open"))[0] == 91
    assert (await finds(book, "kestrel open gate"))[0] == 41


def upgrade(connection: Connection, revision: str) -> None:
    config = _alembic()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


@pytest.mark.parametrize("kind", BOOKS)
async def test_what_was_said_before_there_was_an_index_is_found_after_the_migration(
    kind: str, postgres_database: str, tmp_path: Path
) -> None:
    url = postgres_database if kind == "external" else ""
    book = Database(url) if url else Database.in_folder(tmp_path)
    old = {"role": "user", "kind": "said", "audience": "everyone", "tokens": 1, "interrupted": False, "created_at": 1.0}
    texts = {(ADA, 1): "kestrel", (ADA, 2): "🙂", **{(BO, seq): "osprey" for seq in range(1, 701)}}
    rows = [
        {**old, "agent_id": agent_id, "seq": seq, "blocks": json.dumps([text_block(content)])}
        for (agent_id, seq), content in texts.items()
    ]
    names = ", ".join(rows[0])
    async with book.write() as tx:
        await tx.run_sync(upgrade, "0003")
        values = ", ".join("CAST(:blocks AS JSON)" if url and name == "blocks" else f":{name}" for name in rows[0])
        await tx.execute(text(f"INSERT INTO entries ({names}) VALUES ({values})"), rows)
    await book.open()
    assert await finds(book, "kestrel") == [1]
    assert len(await finds(book, "osprey", agent_id=BO, most=30)) == 30
    assert await finds(book, "osprey", agent_id=BO, low=700) == [700]
    await write(book, said(3, "kestrel"))
    assert await finds(book, "kestrel") == [3, 1]
    async with book.write() as tx:
        assert not await word_index.all_counted(tx)
        counted = []
        while (count := await word_index.count_older(tx, most=300)) is not None:
            counted.append(count)
        assert sorted(counted) == [2, 100, 300, 300]
        assert await word_index.all_counted(tx)
        assert (await word_index.counts(tx, ADA, [1, 2, 3])).keys() == {1, 3}
        assert len(await word_index.counts(tx, BO, range(1, 701))) == 700
    await book.close()
