"""What answers a query best comes first, in the same order in either book."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.app.housekeeping import count_words
from bot.messages import AgentId
from bot.store import Database, histories
from bot.store.search import ranking, recall, word_index
from tests.unit.entries import said

ADA = AgentId("room-1")
_COMMON = (
    *("plan", "budget", "sprint", "the", "route", "a", "test", "of", "data"),
    *("page", "and", "user", "login", "server", "chart", "is", "table", "for"),
)


@pytest.fixture
async def book(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty one."""
    database = Database.in_folder(tmp_path)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def other_book(postgres_database: str) -> AsyncIterator[Database]:
    """An empty one in PostgreSQL."""
    database = Database(postgres_database)
    await database.open()
    yield database
    await database.close()


async def write(book: Database, texts: Sequence[str]) -> None:
    for first in range(0, len(texts), 500):
        some = enumerate(texts[first : first + 500], start=first + 1)
        async with book.write() as tx:
            await histories.append(tx, ADA, [said(seq, one) for seq, one in some], now=1.0)


async def finds(book: Database, query: str, *, low: int = 1, high: int | None = None, most: int = 20) -> list[int]:
    async with book.read() as tx:
        found = await recall.search(tx, ADA, query, audience=recall.MODEL, low=low, high=high, most=most)
    return [item.seq for item in found]


def long_answer(seed: int, count: int = 300) -> str:
    return " ".join(random.Random(seed).choices(_COMMON, k=count))


async def test_a_short_message_with_the_fact_comes_before_long_answers_with_all_the_words(book: Database) -> None:
    fact = "My first sprint ends on March 29."
    await write(book, [fact, *(f"{long_answer(at)} when the first one ends" for at in range(20))])
    assert (await finds(book, "When does my first sprint end?"))[0] == 1


@pytest.mark.parametrize(
    ("fact", "question", "talk"),
    [
        ("我的第一个冲刺三月二十九日结束。", "第一个冲刺什么时候结束", "冲刺要有计划，第一个任务先做，会议按时结束，"),
        (
            "最初のスプリントは金曜に終わる。",
            "最初のスプリントはいつ終わる",
            "スプリントの計画を最初に書く。会議は終わる。",
        ),
        ("สปรินต์แรกจบวันศุกร์", "สปรินต์แรกจบเมื่อไร", "สปรินต์ต้องมีแผน งานแรกทำก่อน การประชุมจบแล้ว "),
        ("ينتهي السباق الأول يوم الجمعة.", "متى ينتهي السباق الأول؟", "السباق يحتاج خطة، واليوم الأول ينتهي باجتماع، "),
        (
            "הספרינט הראשון נגמר ביום שישי.",
            "מתי נגמר הספרינט הראשון?",
            "הספרינט צריך תוכנית, היום הראשון נגמר בפגישה, ",
        ),
        (
            "Первый спринт закончится в пятницу.",
            "Конец первого спринта?",
            "Спринты планируют, первым делом пишут конец, ",
        ),
        (
            "İlk sprint cuma günü bitiyor.",
            "İlk sprint ne zaman bitiyor?",
            "Her sprint planla başlar, ilk gün toplantı bitiyor, ",
        ),
    ],
)
async def test_the_message_with_the_fact_comes_first_in_any_language(
    book: Database, fact: str, question: str, talk: str
) -> None:
    await write(book, [fact, *(f"{talk} {' '.join(map(str, range(at, at + 200)))}" for at in range(8)), "…"])
    assert (await finds(book, question))[0] == 1


async def test_what_speaks_of_it_again_and_again_comes_before_what_mentions_it(book: Database) -> None:
    often = "The kestrel nests here. A kestrel hunts mice. Kestrels hover, and so on, as every book on birds says."
    once = "We saw a kestrel once. Then it rained all day, we went home, and had soup, as every week on Sundays."
    await write(book, [often, once, "Nothing of it.", "The soup was good."])
    assert await finds(book, "kestrels") == [1, 2]


async def test_a_word_as_it_was_written_comes_before_its_other_forms(book: Database) -> None:
    await write(book, ["the doors are green", "the door is green"])
    assert await finds(book, "doors") == [1, 2]
    assert await finds(book, "door") == [2, 1]


async def test_whoever_asks_in_a_sentence_finds_what_has_its_small_words_too(book: Database) -> None:
    told = "At the fair by the old harbour, years ago and in the rain, I first met Laura, who sold lamps and maps there"
    await write(book, [told, *(f"Laura met guest {at}." for at in range(8)), "Nothing of it."])
    assert (await finds(book, "How was it that I met Laura?"))[0] == 1


async def test_a_word_that_every_text_of_another_language_has_is_looked_for(book: Database) -> None:
    await write(book, ["We met in May.", *(f"The letter for Laura, number {at}" for at in range(8))])
    assert (await finds(book, "who met Laura"))[0] == 1


async def test_of_what_was_said_many_times_the_newest_comes_first(book: Database) -> None:
    await write(book, ["the key is in the shed"] * 30)
    assert await finds(book, "shed key", most=5) == [30, 29, 28, 27, 26]


async def test_a_query_of_300_words_of_words_that_stand_everywhere_and_of_an_id_are_answered(book: Database) -> None:
    await write(book, ["what is it", "the code is ticket-991", "ticket-99 and 91", "pay 1,200 to 4471"])
    assert (await finds(book, " ".join(f"word{at}" for at in range(300)))) == []
    assert (await finds(book, " ".join(["code", *(f"word{at}" for at in range(299))]))) == [2]
    assert await finds(book, "what is") == [1, 2]
    assert (await finds(book, "ticket-991"))[0] == 2
    assert await finds(book, "4471") == [4]
    assert await finds(book, "🙂") == []


async def test_until_entries_are_counted_they_are_found_and_then_ranked(book: Database) -> None:
    texts = ["The sprint ends on Friday.", f"{'a page ' * 200} sprint", "Something else."]
    await write(book, texts)
    async with book.write() as tx:
        await tx.execute(text("DELETE FROM entry_words_counts"))
        await tx.execute(text("UPDATE indexed_agents SET uncounted = 3"))
    assert await finds(book, "sprint") == [2, 1]
    async with book.write() as tx:
        await word_index.forget_some(tx, ADA, [2])
        await word_index.add(tx, ADA, [said(2, texts[1])])
    await count_words(book)
    assert await finds(book, "sprint") == [1, 2]
    await count_words(book)


def mixed(count: int) -> list[str]:
    """Short and long, in several scripts; some words in most of them, some in few."""
    dice = random.Random(3)
    rare = [f"word{at}n" for at in range(count)]
    pieces = ["дверь открыта", "火星任务的代号是猎鹰", "القطة على السطح", "user_id = 7", "Café au lait"]
    return [
        " ".join(
            [*dice.choices(_COMMON, k=dice.choice([3, 10, 120])), rare[at], dice.choice(rare), dice.choice(pieces)]
        )
        for at in range(count)
    ]


_QUERIES = (
    *("plan budget", "the sprint", "login server chart table", "word7n", "word7n plan route", "дверью", "任务的代号"),
    *("猎", "القطة", "user id", "cafe", "what is the", "word1n word2n word3n page", " ".join(_COMMON)),
)


async def test_both_books_rank_alike(book: Database, other_book: Database) -> None:
    texts = mixed(700)
    await write(book, texts)
    await write(other_book, texts)
    for query in _QUERIES:
        found = await finds(book, query)
        assert found
        assert found == await finds(other_book, query), query
        assert await finds(book, query, low=50, high=400) == await finds(other_book, query, low=50, high=400), query


@pytest.mark.long
async def test_both_books_rank_a_very_long_conversation_alike(book: Database, other_book: Database) -> None:
    texts = mixed(11_000)
    for at in range(700, 11_000):
        texts[at] = texts[at][:60] + (" seldom" if at % 30 == 0 else "")
    await write(book, texts)
    await write(other_book, texts)
    for query in [*_QUERIES, "seldom", "seldom plan"]:
        assert await finds(book, query) == await finds(other_book, query), query


def test_a_word_weighs_more_the_rarer_it_is_the_oftener_it_stands_there_and_the_shorter_the_text() -> None:
    assert ranking.rarity(1_000, 1) > ranking.rarity(1_000, 10) > ranking.rarity(1_000, 1_000) > 0
    assert ranking.weight(1.0, 3, 100) > ranking.weight(1.0, 1, 100) > ranking.weight(1.0, 1, 1_000) > 0
    assert ranking.weight(1.0, 1, 3) == ranking.weight(1.0, 1, ranking.SHORT)
    assert ranking.weight(1.0, 10**6, 1) < ranking.K1 + 1


def test_words_as_they_were_asked_for_weigh_more_the_fewer_of_the_texts_have_them() -> None:
    seldom, often, none = ranking.as_written([(1, 1), (0, 1), (0, 0)], [10, 10, 10])
    assert seldom > often > none == 0
    assert ranking.as_written([(), ()], [10, 10]) == [0, 0]
    assert ranking.as_written([], []) == []
