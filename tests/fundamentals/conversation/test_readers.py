"""The model and the people read the same conversation differently. FEATURES A3, A7, P5."""

from __future__ import annotations

import pytest

from bot.compaction import STRATEGIES
from bot.compaction.facts.checkpoint import HEADING
from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall, remembering_brain
from tests.servers.messages.wire import blocks_of, texts_of

LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
CLOSE = {"compact_ahead": False, "tell_time": False}
"""What is said is nearly as much as fits."""
PROMPT = "You are the keeper of a lighthouse, and you never say so."


def looks_first(request: MessagesRequest) -> Reply:
    """Looks into its folder before it answers."""
    if request.is_summary or blocks_of(request.messages[-1]["content"])[-1]["type"] == "tool_result":
        return remembering_brain(request)
    return Reply("Let me look at what there is, before I say anything about it. " * 4, [ToolCall("list_files", {})])


def read(request: MessagesRequest) -> list[str]:
    """The texts of a request, each by itself."""
    return [text for message in request.messages for text in texts_of(message["content"])]


async def compacted(room: Room) -> None:
    before = sum("Compacted:" in notice for notice in room.notices())
    await room.commands("/compact")
    await room.until(lambda: sum("Compacted:" in notice for notice in room.notices()) > before)


async def test_segmented_hides_the_middle_from_the_model_and_its_summary_from_people(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    brain, summary = model.brain, "They spoke of the weather, and of nothing else, for a while."
    model.brain = lambda request: Reply(summary) if request.is_summary else brain(request)
    async with house(agents={"strategy": "segmented", **CLOSE}) as running:
        for number in range(1, 13):
            await room.asks(LINE.format(number))
        said = {key: shown.text for key, shown in room.shown["1"].items()}
        entries = (await running.history()).entries
        await compacted(room)
        await room.asks("And now?")
        texts = read(model.requests[-1].request)
        stays = [text for text in texts if summary not in text]  # below it details may tell a line
        shown = [number for number in range(1, 13) if any(LINE.format(number) in text for text in stays)]
        assert shown == [1, 2, 8, 9, 10, 11, 12]
        assert any(summary in text for text in texts)
        assert {key: shown.text for key, shown in room.shown["1"].items() if key in said} == said
        assert not any(summary in text for shown in room.shown["1"].values() for text in shown.texts)
        await room.commands("/undo")
        assert (await running.history()).entries[: len(entries)] == entries


async def test_memory_asks_no_model_and_hides_what_its_checkpoint_covers(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    goal, rule = "Please book a table at Luna for tonight.", "Never deploy on Fridays."
    async with house(agents={"strategy": "memory", **CLOSE}):
        for text in (goal, rule, *(LINE.format(number) for number in range(1, 16))):
            await room.asks(text)
        asked = len(model.requests)
        await compacted(room)
        await room.asks("And now?")
        assert len(model.requests) == asked + 1
        texts = read(model.requests[-1].request)
        (checkpoint,) = [text for text in texts if text.startswith(HEADING)]
        assert goal in checkpoint
        assert rule in checkpoint
        assert not {goal, rule, *(LINE.format(number) for number in range(1, 8))} & set(texts)
        assert not any(HEADING in text for shown in room.shown["1"].values() for text in shown.texts)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
async def test_the_system_prompt_is_in_every_request_before_and_after_a_compaction(
    house: OpenHouse, room: Room, model: MessagesServer, strategy: str
) -> None:
    model.brain = looks_first
    agents = {"strategy": strategy, "compact_ahead": False}
    async with house(agents=agents, system_prompt=PROMPT) as running:
        for number in range(5):
            await room.asks(LINE.format(number))
        await compacted(room)
        assert (await running.history()).layers
        await room.asks("And now?")
    turns = [record.request for record in model.requests if not record.request.is_summary]
    assert len(turns) == 12
    assert all(PROMPT in turn.system for turn in turns)
    assert len({turn.system for turn in turns}) == 1
    assert not any(PROMPT in str(turn.messages) for turn in turns)
