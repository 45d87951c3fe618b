"""What a model and people are shown of what was found: where it stands, who said it, and no more than there is room
for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bot.agent.commands.recalling import USAGE, answer_people
from bot.agent.tools.recall import Recall
from bot.agent.tools.tool import Occasion, ToolError
from bot.estimate.bounds import tokens_of
from bot.history import Entry, EntryKind
from bot.messages import AgentId, text_block
from bot.store import Database, histories
from bot.store.search.snippets import snippet
from bot.store.search.words import query_words
from tests.parser import HERE
from tests.unit.entries import replied, returned, said
from tests.unit.store.search.test_recall import cover

ADA, BO = AgentId("room-1"), AgentId("room-2")
_MORE = re.compile(r"\n\[More: recall from_seq=(\d+) to_seq=(\d+)(?: offset=(\d+))?\]$")


async def write(database: Database, *entries: Entry, agent_id: AgentId = ADA) -> None:
    async with database.write() as tx:
        await histories.append(tx, agent_id, entries, now=86_400.0)


async def run(database: Database, *, room: int = 4_000, tokens: int = 4_000, **arguments: Any) -> str:
    text = await Recall(database, ADA).run(arguments, Occasion(Path("nowhere"), HERE, room, tokens=tokens))
    assert len(text) <= room
    assert tokens_of(text) <= tokens
    return text


async def read_all(database: Database, **bounds: int) -> list[str]:
    """What a model gets that follows every pointer to more, piece by piece."""
    arguments: dict[str, Any] = {"from_seq": 1, "to_seq": 10_000}
    pieces: list[str] = []
    while True:
        text = await run(database, **bounds, **arguments)
        more = _MORE.search(text)
        pieces.append(_MORE.sub("", text).removeprefix("[recall: as it was said.]\n"))
        if more is None:
            return pieces
        arguments = {"from_seq": int(more[1]), "to_seq": int(more[2]), "offset": int(more[3] or 0)}


async def test_a_hit_says_which_message_it_is_when_it_was_and_who_said_it(database: Database) -> None:
    await write(
        database,
        said(1, "a heron"),
        replied(2, "a heron?", "a"),
        returned(3, "a", "a heron!"),
        Entry(4, "user", (text_block("herons"),), EntryKind.SUMMARY),
        said(5, "on"),
    )
    await cover(database, gone=4)
    assert await run(database, query="heron") == (
        "[recall: messages out of view for 'heron', the best first. from_seq and to_seq read them in full.]\n"
        "#3 (1970-01-02 00:00, result of look): a heron!\n"
        "#2 (1970-01-02 00:00, you): a heron? [look]\n"
        "#1 (1970-01-02 00:00, a person): a heron\n"
        "#4 (1970-01-02 00:00, summary): herons"
    )


async def test_what_is_in_view_is_left_out_and_that_is_said(database: Database) -> None:
    await write(database, said(1, "a heron"), said(2, "another heron"))
    assert "What is in view was not searched" in await run(database, query="heron")
    await cover(database, gone=1)
    text = await run(database, query="heron")
    assert "#1 " in text
    assert "#2 " not in text


async def test_a_query_can_be_kept_between_numbers(database: Database) -> None:
    await write(database, *(said(seq, "a heron") for seq in range(1, 10)))
    await cover(database, gone=9)
    assert re.findall(r"#(\d)", await run(database, query="heron", from_seq=4, to_seq=5)) == ["5", "4"]


@pytest.mark.parametrize(("room", "tokens"), [(400, 4_000), (1_000, 4_000), (4_000, 130), (8_000, 4_000)])
async def test_hits_keep_within_their_room(database: Database, room: int, tokens: int) -> None:
    await write(database, *(said(seq, f"{'довольно ' * 40} цапля 🙂 {seq} {'слов ' * 60}") for seq in range(1, 30)))
    await cover(database, gone=29)
    text = await run(database, query="цапля", room=room, tokens=tokens)
    assert 1 <= len(re.findall(r"^#\d+ ", text, re.MULTILINE)) <= 10
    assert "цапля" in text


@pytest.mark.parametrize("bounds", [{"room": 300}, {"room": 1_000}, {"tokens": 150}, {"room": 3_000, "tokens": 300}])
async def test_who_follows_the_pointers_reads_everything_word_for_word(
    database: Database, bounds: dict[str, int]
) -> None:
    texts = ["short", "短い文" * 150, "A long one, word by word. " * 80, "🙂" * 90, "last"]
    await write(database, *(said(seq, text) for seq, text in enumerate(texts, start=1)))
    pieces = await read_all(database, **bounds)
    whole = "\n".join(pieces)
    for seq, text in enumerate(texts, start=1):
        label = f"#{seq} (1970-01-02 00:00, a person): "
        parts = [part.split("\n#")[0] for part in whole.split(label)[1:]]
        assert "".join(part.rstrip("\n") for part in parts).replace("\n", "") == text.strip()


async def test_a_very_long_range_is_read_in_portions(database: Database) -> None:
    await write(database, *(said(seq, "x") for seq in range(1, 451)))
    pieces = await read_all(database, room=8_000)
    assert [int(seq) for seq in re.findall(r"#(\d+) ", "\n".join(pieces))] == list(range(1, 451))


async def test_with_only_the_last_number_the_messages_before_it_are_read(database: Database) -> None:
    await write(database, *(said(seq, "x") for seq in range(1, 50)))
    assert re.findall(r"#(\d+)", await run(database, to_seq=30))[::19] == ["11", "30"]
    assert re.findall(r"#(\d+)", await run(database, from_seq=48)) == ["48", "49"]


async def test_a_message_without_words_is_read_as_that(database: Database) -> None:
    await write(
        database, Entry(1, "assistant", ({"type": "thinking", "thinking": "hm", "signature": ""},), EntryKind.REPLY)
    )
    assert "(nothing to read)" in await run(database, from_seq=1)
    assert "there are no messages with these numbers" in await run(database, from_seq=7, to_seq=9)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": "  "},
        {"query": 7},
        {"query": ["heron"]},
        {"from_seq": 9, "to_seq": 3},
        {"from_seq": -1},
        {"from_seq": True},
        {"from_seq": 1.5},
        {"to_seq": "nine"},
        {"from_seq": 1, "offset": -1},
    ],
)
async def test_what_cannot_be_meant_is_refused_in_a_sentence(database: Database, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match=r"\.$"):
        await run(database, **arguments)


@pytest.mark.parametrize("first", ["2", "#2", " 2 "])
async def test_a_number_may_be_written_as_a_text(database: Database, first: str) -> None:
    await write(database, said(1, "one"), said(2, "two"))
    assert "#2 " in await run(database, from_seq=first, to_seq="")


async def test_a_number_beyond_all_is_none(database: Database) -> None:
    await write(database, said(1, "one"))
    for bounds in ({"from_seq": 10**30}, {"to_seq": 10**30}, {"from_seq": 1, "to_seq": 10**30}):
        assert (await run(database, **bounds)).startswith("[recall: ")
    assert "[recall: nothing" in await run(database, query="one", from_seq=10**30)


async def test_the_tool_may_be_run_again_after_a_crash(database: Database) -> None:
    assert Recall(database, ADA).idempotent


@pytest.mark.parametrize("argument", ["", "12-40", "1", "#1-#2", "1–2", "heron", "no such words", "999", "2026"])
async def test_people_always_get_one_message(database: Database, argument: str) -> None:
    await write(database, *(said(seq, f"heron {'and so on ' * 90}") for seq in range(1, 60)))
    assert 0 < len(await answer_people(database, ADA, argument)) <= 1_900


async def test_people_read_numbers_and_find_words(database: Database) -> None:
    await write(database, said(1, "a heron"), replied(2, "yes"), said(3, "room 2026"))
    await write(database, said(1, "another heron"), agent_id=BO)
    assert await answer_people(database, ADA, "") == USAGE
    assert await answer_people(database, ADA, "1-2") == (
        "#1 (1970-01-02 00:00, a person): a heron\n#2 (1970-01-02 00:00, the bot): yes"
    )
    assert await answer_people(database, ADA, "2") == "#2 (1970-01-02 00:00, the bot): yes"
    assert (await answer_people(database, ADA, "2026")).startswith("#3 ")
    assert "another" not in await answer_people(database, ADA, "heron")


@pytest.mark.parametrize(
    ("talk", "end"),
    [
        ([said(1, "a storm"), replied(2, "the storm"), said(3, "fine")], "/recall 1-2 reads them in full."),
        (
            [said(1, "hi"), said(2, "a storm"), replied(3, "yes")],
            "/recall 2-3 reads #2 in full, and what belongs to it.",
        ),
        ([said(1, "hi"), replied(2, "a storm")], "/recall 1-2 reads #2 in full, and what belongs to it."),
        ([said(1, "a storm")], "/recall 1 reads it in full."),
        ([replied(1, "ok"), said(2, "a storm")], "/recall 2 reads it in full."),
        (
            [said(1, "a storm"), replied(2, "ok"), *(said(seq, "rain") for seq in range(3, 30)), said(30, "a storm")],
            "/recall 30 reads #30 in full.",
        ),
        (
            [said(1, "a storm"), *(said(seq, "rain") for seq in range(2, 30)), said(30, "now?"), replied(31, "storm")],
            "/recall 30-31 reads #31 in full, and what belongs to it.",
        ),
    ],
    ids=["together", "a question", "an answer", "alone", "unanswered", "far apart", "far apart, answered"],
)
async def test_people_are_told_where_to_read_what_was_found(database: Database, talk: list[Entry], end: str) -> None:
    await write(database, *talk)
    *hits, where = (await answer_people(database, ADA, "storm")).split("\n")
    assert where == end
    named = re.findall(r"\d+", where.split(" reads")[0])
    assert {int(number) for number in named} <= {entry.seq for entry in talk}
    assert hits[0].startswith("#")


async def test_people_are_told_where_more_is(database: Database) -> None:
    await write(database, *(said(seq, "and so on " * 40) for seq in range(1, 20)))
    more = re.search(r"\nMore: /recall (\d+)-19$", await answer_people(database, ADA, "1-19"))
    assert more
    assert (await answer_people(database, ADA, f"{more[1]}-19")).startswith(f"#{more[1]} ")


def cut(text: str, query: str, width: int = 60) -> str:
    return snippet(text, query_words(query), width)


def test_a_short_text_is_its_own_snippet() -> None:
    assert cut("A heron\n\nin  the reeds.", "heron") == "A heron in the reeds."


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("kestrel", "kestrel"),
        ("kestrels", "kestrel"),
        ("Цаплю", "цапля"),
        ("藏在哪里", "藏在"),
        ("user name", "getUserName"),
    ],
)
def test_a_snippet_is_cut_around_the_words(query: str, told: str) -> None:
    text = f"{'filler words ' * 300}{told}{' filler words' * 300}"
    shown = cut(text, query)
    assert told in shown
    assert len(shown) <= 70
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_a_snippet_shows_where_the_most_words_stand_together() -> None:
    text = f"green {'filler ' * 50}door {'filler ' * 50}the green door {'filler ' * 50}door"
    assert "green door" in cut(text, "green door")


def test_a_text_without_the_words_is_shown_from_its_beginning() -> None:
    assert cut("beginning " * 50, "heron").startswith("beginning beginning")
    assert cut("x" * 500, "") == f"{'x' * 60} …"
