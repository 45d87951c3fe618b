"""What a budget stops when it is used up, and what goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bot.messages import Address
from bot.store.runs import RunState
from tests.conftest import OpenHouse
from tests.house import Room, runs_at_rest
from tests.servers.messages.server import MessagesServer

HERE = Address("room", "1").agent_id
STORY = "In this chapter the ship sails on, and nobody on board knows where to. " * 400
"""About half of what a conversation may hold here."""
REFUSED = "is used up (1 token)"
"""Which the first answer does."""


@pytest.fixture
def model(model: MessagesServer) -> MessagesServer:
    model.window = 20_000
    return model


LATE = {"warning": 0.95, "critical": 0.97}
"""Nothing is compacted as long as these stories are."""
IN_THE_BACKGROUND: Mapping[str, dict[str, Any]] = {
    "ahead": {},
    "rolling": {"compaction": {"rolling": 0.1}, "agents": LATE},
    "facts": {"memory": {"extractor": "model"}, "agents": {**LATE, "strategy": "memory"}},
}


@pytest.mark.parametrize("trigger", IN_THE_BACKGROUND)
@pytest.mark.parametrize("passes", [True, False])
async def test_no_model_is_asked_in_the_background_for_whom_nothing_is_left(
    house: OpenHouse, room: Room, model: MessagesServer, trigger: str, passes: bool
) -> None:
    who = "room:ada" if passes else "room:root"
    async with house(budget={"person_day": "1 token"}, admins=who, **IN_THE_BACKGROUND[trigger]) as running:
        await room.asks(f"Please note: the library door code is 4711-22. {STORY}")
        for part in range(4):
            said = await room.asks(f"Chapter {part}. {STORY[: len(STORY) // 8]}")
            assert (REFUSED in said) is not passes
        found = await runs_at_rest(running, HERE)
    assert (trigger in {run.trigger for run in found}) is passes
    if not passes:
        assert found == []
        assert len(model.requests) == 1


async def test_a_compaction_that_asks_no_model_goes_on(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house(budget={"person_day": "1 token"}, agents={"strategy": "memory"}) as running:
        await room.asks(f"Please note: the library door code is 4711-22. {STORY}")
        await room.asks("And so?")
        while not (found := await runs_at_rest(running, HERE)):
            assert REFUSED in await room.asks(f"Go on. {STORY[: len(STORY) // 8]}")
    assert [(run.trigger, run.state) for run in found] == [("ahead", RunState.DONE)]
    assert len(model.requests) == 1
