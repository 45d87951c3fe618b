"""What was said is never out of reach, whatever compactions took out of view; and never in anybody else's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from bot.history.entry_text import text_to_read
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.wire import Brain, MessagesRequest, Reply, ToolCall

LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
SUMMARY = "They talked about the weather in a town, and nothing is left to do."


@dataclass(frozen=True)
class Detail:
    """Something that was said once, what is asked long after it, and how the answer reads in it."""

    said: str
    asked: str
    answer: re.Pattern[str]
    expected: str


DETAILS = {
    "english": Detail(
        "By the way, my grandmother hides the key of the cellar under the blue flower pot.",
        "Where does my grandmother hide the cellar keys?",
        re.compile(r"cellar (under [a-z ]+)\."),
        "under the blue flower pot",
    ),
    "russian": Detail(
        "Кстати, моя бабушка прячет ключ от подвала под синим цветочным горшком.",
        "Где моя бабушка прячет ключи от подвалов?",
        re.compile(r"от подвала (под [а-я ]+)\."),
        "под синим цветочным горшком",
    ),
    "chinese": Detail(
        "对了，奶奶把地窖的钥匙藏在蓝色的花盆下面。",
        "奶奶把地窖钥匙藏在哪里？",
        re.compile(r"钥匙藏在([^。？]+)。"),
        "蓝色的花盆下面",
    ),
}


def results(request: MessagesRequest) -> list[str]:
    """What tools came to since the last message of a person."""
    found: list[str] = []
    for message in reversed(request.messages):
        blocks: Sequence[Mapping[str, Any]] = [b for b in message["content"] if isinstance(b, Mapping)]
        if message["role"] == "user" and not any(block["type"] == "tool_result" for block in blocks):
            break
        found += [str(block["content"]) for block in blocks if block["type"] == "tool_result"]
    return found


def looking_up(detail: Detail) -> Brain:
    """A model that answers from what it reads, and asks for what it does not see."""

    def brain(request: MessagesRequest) -> Reply:
        if request.is_summary:
            return Reply(SUMMARY)
        if request.last_user_words[-1:] != [detail.asked]:
            return Reply("I see.") if not results(request) else answer(request)
        found = detail.answer.search(request.all_text)
        return Reply(found[1]) if found else Reply("", [ToolCall("recall", {"query": detail.asked})])

    def answer(request: MessagesRequest) -> Reply:
        found = detail.answer.search("\n".join(results(request)))
        return Reply(found[1] if found else "I do not know.")

    return brain


def recalling(*calls: Mapping[str, Any]) -> Brain:
    """A model that makes these calls of recall, each when it is told to, and says what came of it."""
    left = list(calls)

    def brain(request: MessagesRequest) -> Reply:
        if request.is_summary:
            return Reply(SUMMARY)
        if found := results(request):
            return Reply(found[0])
        if request.last_user_words[-1:] == ["Look it up."]:
            return Reply("", [ToolCall("recall", left.pop(0))])
        return Reply("I see.")

    return brain


async def talk(room: Room, count: int, chat: str = "1") -> None:
    for number in range(count):
        await room.asks(LINE.format(number), chat=chat)


async def compact(room: Room, chat: str = "1") -> None:
    before = sum("Compacted:" in notice for notice in room.notices(chat))
    await room.commands("/compact", chat=chat)
    await room.until(lambda: sum("Compacted:" in notice for notice in room.notices(chat)) > before)


async def page(house: House, chat: str = "1") -> str:
    """What the model has in front of it."""
    return "\n".join(text_to_read(entry.blocks) for entry in (await house.history(chat)).visible)


@pytest.mark.parametrize("language", DETAILS)
async def test_a_detail_from_before_three_compactions_is_looked_up_and_answered(
    house: OpenHouse, room: Room, model: MessagesServer, language: str
) -> None:
    detail = DETAILS[language]
    model.brain = looking_up(detail)
    async with house(agents={"compact_ahead": False}) as running:
        await room.asks(detail.said)
        for _ in range(3):
            await talk(room, 6)
            await compact(room)
        assert len((await running.history()).layers) == 3
        assert detail.expected not in await page(running)
        assert await room.asks(detail.asked) == detail.expected
        assert not model.refused


async def test_a_summary_says_which_messages_it_stands_for_and_recall_reads_them(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = recalling({"from_seq": 1, "to_seq": 2})
    async with house(agents={"compact_ahead": False}) as running:
        await room.asks("I like herons.")
        await talk(room, 6)
        await compact(room)
        found = re.search(
            r"\(Out of view: messages 1 to (\d+), said on \w{3} [^;]+; recall finds and reads them\.\)",
            await page(running),
        )
        assert found
        assert int(found[1]) >= 12
        told = await room.asks("Look it up.")
        assert re.search(r"#1 \(\d{4}-\d\d-\d\d \d\d:\d\d, a person\): I like herons\.", told)
        assert re.search(r"#2 \(.{16}, you\): I see\.", told)


@pytest.mark.parametrize("arguments", [{"query": "herons"}, {"from_seq": 1, "to_seq": 10_000}, {"to_seq": 9}])
async def test_what_was_said_in_another_conversation_is_not_found_by_words_nor_by_numbers(
    house: OpenHouse, room: Room, model: MessagesServer, arguments: Mapping[str, Any]
) -> None:
    model.brain = recalling(arguments)
    async with house(agents={"compact_ahead": False}):
        for number in range(8):
            await room.asks(f"I like herons, {number} times.", chat="2")
        await talk(room, 6)
        await compact(room)
        told = await room.asks("Look it up.")
        assert "I like herons" not in told
        assert "I like herons" not in await room.commands("/recall herons")
        assert "I like herons" not in await room.commands("/recall 1-40")


async def test_after_new_the_earlier_conversation_is_still_found(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = recalling({"query": "herons"})
    async with house() as running:
        await room.asks("I like herons.")
        await room.commands("/new")
        assert "herons" not in await page(running)
        assert "I like herons." in await room.asks("Look it up.")


async def test_after_an_undo_what_is_back_in_view_is_not_looked_for(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = recalling({"query": "herons"}, {"query": "herons"})
    async with house(agents={"compact_ahead": False}) as running:
        await room.asks("I like herons.")
        await talk(room, 6)
        await compact(room)
        assert "I like herons." in await room.asks("Look it up.")
        await room.commands("/undo")
        assert "I like herons." in await page(running)
        assert "nothing that is out of view answers" in await room.asks("Look it up.")


async def test_people_find_and_read_what_was_said_before(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    model.brain = recalling()
    async with house(agents={"compact_ahead": False}):
        assert "/recall 12-40" in await room.commands("/recall")
        await room.says("I like herons.", person_name="Ada")
        await room.until(lambda: len(room.replies()) == 1)
        await talk(room, 6)
        await compact(room)
        found = await room.commands("/recall heron")
        assert re.match(r"#1 \(\d{4}-\d\d-\d\d \d\d:\d\d, Ada\): I like herons\.\n/recall 1-2 reads", found)
        read = await room.commands("/recall 1-4")
        assert re.match(r"#1 \(.{16}, Ada\): I like herons\.\n#2 \(.{16}, the bot\): I see\.\n#3 ", read)
        assert "nothing about 'kestrel'" in await room.commands("/recall kestrel")
        assert "no messages with these numbers" in await room.commands("/recall 900-901")
        await room.asks("The telephone is 555-0123.")
        assert "The telephone is 555-0123." in await room.commands("/recall 555-0123")


async def test_people_are_answered_while_an_answer_is_written(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        await room.asks("I like herons.")
        model.hang()
        await room.says("Are you there?")
        await model.wait_for(lambda server: server.running == 1)
        assert "I like herons." in await room.commands("/recall herons")
        model.release()
        await room.until(lambda: len(room.replies()) == 2)


async def test_what_is_found_is_no_larger_than_a_result_may_be(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = recalling({"query": "weather"}, {"from_seq": 1})
    async with house(agents={"compact_ahead": False}):
        for _ in range(3):
            await talk(room, 6)
            await compact(room)
        hits = await room.asks("Look it up.")
        assert hits.startswith("[recall: messages out of view for 'weather'")
        assert 200 < len(hits) <= 1_100
        read = await room.asks("Look it up.")
        assert re.search(r"\[More: recall from_seq=\d+ to_seq=\d+\]$", read)
        assert len(read) <= 1_100
