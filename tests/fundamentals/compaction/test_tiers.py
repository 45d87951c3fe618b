"""`tiered` in a conversation: how early, what it keeps, and who writes its summaries. FEATURES T1, T3, T4."""

from __future__ import annotations

import pytest

from bot.compaction.strategies.tiers import ASKS
from bot.history import EntryKind
from bot.messages import Address, text_of
from bot.store import runs
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer

LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
TIERED = {"strategy": "tiered", "compact_ahead": False}


async def last_run(house: House) -> runs.Run:
    async with house.resources.database.read() as tx:
        run = await runs.latest(tx, Address("room", "1").agent_id)
    assert run
    return run


async def visible_texts(house: House) -> list[str]:
    """Of what people said, and the model still reads."""
    return [text_of(entry.blocks) for entry in (await house.history()).visible if entry.kind is EntryKind.SAID]


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(("thresholds", "lowest"), [({}, 0.75), ({"soft": "0.5", "hard": "0.65"}, 0.65)])
async def test_plain_talk_is_left_alone_up_to_its_own_second_threshold_before_and_after_an_answer(
    house: OpenHouse, room: Room, thresholds: dict[str, str], lowest: float, *, ahead: bool
) -> None:
    """After an answer it decides beside what is said next, however much that is; before one all wait for it."""
    agents = {"strategy": "tiered", "compact_ahead": ahead}
    async with house(agents=agents, strategy={"tiered": thresholds}) as running:
        while not room.notices():
            assert room.facts.get("1", {"total": 0})["total"] < 0.95 * 2_160
            await room.asks(LINE.format(len(room.replies())))
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        run = await last_run(running)
        assert run.meter_after
        limit = run.meter_before.limit
        assert lowest <= run.meter_before.total / limit < (0.95 if ahead else lowest + 0.1)
        assert run.meter_after.total / limit < lowest


async def test_from_its_first_threshold_on_a_stale_file_becomes_an_outline_and_the_talk_stays(
    house: OpenHouse, room: Room
) -> None:
    notes = ("Nothing was sold, and nothing came back. " * 12 + "\n") * 5
    files = {f"week-{week}.txt": notes.encode() for week in range(2)}
    async with house(agents={"strategy": "tiered"}) as running:
        await room.says("This is what we have.", files=files)
        await room.until(lambda: bool(room.replies()))
        while not room.notices():
            await room.until(lambda: room.facts["1"]["source"] == "usage")  # a little later than the answer
            assert room.facts["1"]["total"] < 0.75 * 2_160
            await room.asks(LINE.format(len(room.replies())))
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        run = await last_run(running)
        assert 0.60 <= run.meter_before.total / run.meter_before.limit < 0.75
        assert (run.plan["hidden"], run.plan["summarise"], len(run.plan["replaced"])) == ([], [], 2)


async def test_what_is_related_to_the_last_message_stays_though_no_word_is_the_same(
    house: OpenHouse, room: Room
) -> None:
    related = "We keep each password only as an argon2 hash with its own salt."
    others = (
        "The soup needs more carrots and a little butter.",
        "Our train to the mountains leaves on Sunday.",
        "My grandmother planted roses along the fence.",
        "The orchestra plays Brahms next week.",
        "It snowed in the valley and the lake is frozen.",
    )
    async with house(agents=TIERED) as running:
        for text in (related, *others):
            await room.asks(text)
        await room.asks("Hello again.")
        await room.asks("How are credentials protected?")
        await room.commands("/compact")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        assert not (await last_run(running)).plan["summarise"]
        texts = await visible_texts(running)
        assert related in texts
        assert len([text for text in others if text in texts]) < len(others) / 2 + 1
        assert texts[-2:] == ["Hello again.", "How are credentials protected?"]


async def test_a_small_model_writes_the_summary_and_the_last_four_messages_stay(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=TIERED, compaction_model="claude-small") as running:
        for number in range(10):
            await room.asks(LINE.format(number))
        await room.commands("/compact keep the weather")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        asked = [record.request for record in model.requests if record.request.is_summary]
        assert {request.body["model"] for request in asked} == {"claude-small"}
        assert ASKS in asked[0].last_user_text
        assert await visible_texts(running) == [LINE.format(8), LINE.format(9)]
        await room.asks("And now?")
        assert model.requests[-1].request.body["model"] == "claude-sonnet-5"
