"""The strategy that docs/writing-a-strategy.md shows is one: it holds what ours hold, and works in the program."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.compaction import STRATEGIES, Strategy, compact_history
from bot.history import EntryKind, History
from bot.messages import text_of
from bot.runtime.strategies import named
from tests.conftest import OpenHouse
from tests.docs.pages import DOCS, code_named
from tests.house import Room
from tests.servers.messages.server import MessagesServer
from tests.unit.any_history import histories, texts
from tests.unit.any_plan import assert_names_what_is_there, assert_page_holds, assert_smaller, planner_of

PAGE = DOCS / "writing-a-strategy.md"
MODULES = ("my_strategies", "test_minutes", "test_minutes_asked")
LINE = "Ada: line {} is about the weather in a town, which is mild, and about nothing else at all."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which somebody starts the program, with the files of the page in it."""
    here, before = tmp_path_factory.mktemp("own"), Path.cwd()
    for name in MODULES:
        (here / f"{name}.py").write_text(code_named(PAGE, f"{name}.py"), encoding="utf-8")
    paths = list(sys.path)
    os.chdir(here)
    yield here
    os.chdir(before)
    sys.path[:] = paths
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def minutes(folder: Path) -> Strategy:
    """As `AGENTS__STRATEGY` names it."""
    return named("my_strategies:Minutes", STRATEGIES)


@settings(max_examples=int(os.environ.get("EXAMPLES", "50")), deadline=None, suppress_health_check=list(HealthCheck))
@given(history=histories(), data=st.data())
def test_its_plans_hold_what_every_plan_holds(history: History, data: st.DataObject, minutes: Strategy) -> None:
    plan = planner_of(minutes)(history, data.draw)
    if plan is not None:
        assert_page_holds(history, plan, data.draw(texts))
        assert_names_what_is_there(history, plan)
        assert_smaller(history, plan)


@pytest.mark.parametrize("name", ["test_the_last_messages_stay", "test_a_page_that_is_short_is_left_alone"])
def test_the_pages_own_tests_pass(minutes: Strategy, name: str) -> None:
    written: ModuleType = importlib.import_module("test_minutes")
    assert sum(thing.startswith("test_") for thing in vars(written)) == 2
    getattr(written, name)()


async def test_the_pages_own_test_with_a_scripted_model_passes(minutes: Strategy) -> None:
    written: ModuleType = importlib.import_module("test_minutes_asked")
    (name,) = (thing for thing in vars(written) if thing.startswith("test_"))
    await getattr(written, name)()


def test_by_hand_it_keeps_fewer_messages_until_the_rest_fits(minutes: Strategy) -> None:
    said = [{"role": ("user", "assistant")[n % 2], "content": LINE.format(n) * 3} for n in range(30)]
    result = compact_history(said, strategy=minutes, limit=500, summary="They talked about the weather.")
    assert result.messages[0]["content"][0]["text"].startswith("Minutes of what was said before:\n\nThey talked")
    assert 1 < len(result.messages) < 6


@pytest.mark.parametrize("book", ["embedded"], indirect=True)
async def test_a_conversation_is_compacted_by_it_with_its_options_and_its_instruction(
    house: OpenHouse, room: Room, model: MessagesServer, folder: Path
) -> None:
    agents = {"strategy": "my_strategies:Minutes", "compact_ahead": False}
    async with house(agents=agents, strategy={"minutes": {"keep_last": "4"}}) as running:
        for number in range(6):
            await room.asks(LINE.format(number))
        assert "minutes" in await room.commands("/strategy")
        told = len(room.notices())
        await room.commands("/compact")
        await room.until(lambda: "Compacted:" in room.notices()[told])
        view = (await running.history()).visible
        assert [entry.kind for entry in view[:1]] == [EntryKind.SUMMARY]
        assert text_of(view[0].blocks).startswith("Minutes of what was said before:")
        assert [entry.seq for entry in view[1:]] == [9, 10, 11, 12]
        asked = next(record.request for record in model.requests if record.request.is_summary)
        assert "who does what until when" in asked.last_user_text
        await room.commands("/undo")
        assert [entry.seq for entry in (await running.history()).visible] == list(range(1, 13))
