"""What is seen of memory, and commands that look for a folder that it knows. FEATURES A9, A10."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.compaction.memory_gate.gate import GATE
from bot.compaction.memory_report import RUNTIME
from bot.messages import text_of
from tests.conftest import OpenHouse
from tests.fundamentals.compaction.memory_book import CODE, FLIGHT, LINE, MEMORY, QUIET, book, compacted, told, until
from tests.house import Room
from tests.page.conftest import visiting
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall
from tests.servers.messages.wire import blocks_of


def memory_lines(room: Room) -> list[str]:
    return [notice for notice in room.notices() if notice.startswith("🧠 Memory:")]


@contextmanager
def notices_of(event: str) -> Iterator[Callable[[], list[str]]]:
    """The notices for machines that are logged with this event."""
    with capture_logs() as logs:
        yield lambda: [entry["notice"] for entry in logs if entry["event"] == event]


async def logged(notices: Callable[[], list[str]], count: int) -> None:
    """Wait for as many: a refresh is logged when it is in the book."""

    async def are_there() -> bool:
        return len(notices()) >= count

    await until(are_there)


def payload(notice: str, prefix: str) -> dict[str, Any]:
    assert notice.startswith(prefix)
    decoded: dict[str, Any] = json.loads(notice.removeprefix(prefix))
    return decoded


# --- A9: what is seen of it ---


async def test_brief_says_one_line_and_counts_on_in_it(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house(agents=MEMORY) as running:
        with notices_of("memory_refreshed") as notices:
            await told(running, room, CODE, "Thanks!", FLIGHT)
            await logged(notices, 3)
            await room.until(lambda: memory_lines(room) and "Memory: " in memory_lines(room)[0])
        last = [payload(notice, RUNTIME) for notice in notices()]
        assert set(last[0]) == {"verbosity", "acceptedCount", "rejectedCount", "prunedCount", "factCount"}
        assert last[0]["verbosity"] == "brief"
        accepted = sum(item["acceptedCount"] for item in last)
        line = f"🧠 Memory: {last[-1]['factCount']} facts (+{accepted}, −{sum(item['prunedCount'] for item in last)}). "
        await room.until(lambda: [line in shown for shown in memory_lines(room)] == [True])
        await room.asks("And now?")
    assert not any("CFPM" in str(r.request.messages) or "🧠" in str(r.request.messages) for r in model.requests)


async def test_a_turn_that_changes_nothing_says_nothing(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    model.brain = lambda _: Reply("You are welcome!")
    async with house(agents=MEMORY) as running:
        await told(running, room, "Thanks!")
        assert await room.commands("/memory") is not None
        assert memory_lines(room) == []


async def test_after_a_compaction_another_line_begins(house: OpenHouse, room: Room) -> None:
    async with house(agents=MEMORY) as running:
        await told(running, room, CODE, *(LINE.format(number) for number in range(1, 14)))
        await compacted(room)
        await told(running, room, FLIGHT)
        await room.until(lambda: len(memory_lines(room)) == 2)


async def test_debug_says_why_in_the_chat_and_for_machines(house: OpenHouse, room: Room) -> None:
    async with house(agents=MEMORY, memory={"visibility": "debug"}) as running:
        with notices_of("memory_refreshed") as notices:
            await told(running, room, f"Thanks! {CODE}")
            await logged(notices, 1)
        (told_once,) = [payload(notice, RUNTIME) for notice in notices()]
        assert told_once["verbosity"] == "debug"
        assert (told_once["mode"], told_once["reason"]) == ("turn", "new_facts")
        assert told_once["rejectedReasons"]["low_value"] >= 1
        await room.until(lambda: any("low_value" in line for line in memory_lines(room)))


async def test_off_says_nothing_in_the_chat_and_the_log_and_the_trace_keep_the_line_for_machines(
    house: OpenHouse, room: Room
) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        with notices_of("memory_refreshed") as notices:
            await told(running, room, CODE, *(LINE.format(number) for number in range(1, 14)))
            await logged(notices, 14)
        assert payload(notices()[0], RUNTIME)["verbosity"] == "off"
        await compacted(room)
        assert memory_lines(room) == []
        text = await running.trace()
        assert notices()[0] in text
        assert "### Inserted: note before " in text
        assert CODE in text


async def test_what_was_considered_is_read_in_the_chat_and_on_the_page_with_its_reason(
    house: OpenHouse, room: Room
) -> None:
    async with house(agents=MEMORY, memory=QUIET) as running:
        await told(running, room, f"{CODE} The log of ./2024/7/19 is at /srv/log/app.log.")
        said = await room.commands("/memory debug")
        assert "✗ date_like · path · ./2024/7/19" in said
        assert "1 date_like" in said.splitlines()[0]
        async with visiting(running) as browser:
            page = (await browser.get("/conversations/room-1/memory?reason=date_like")).text
            everything = (await browser.get("/conversations/room-1/memory")).text
        assert "<code>date_like</code>" in page
        assert "./2024/7/19" in page
        assert CODE not in page
        assert CODE in everything


async def test_the_trace_of_the_next_run_holds_what_machines_were_told(house: OpenHouse, room: Room) -> None:
    async with house(agents=MEMORY) as running:
        await told(running, room, CODE, *(LINE.format(number) for number in range(1, 14)))
        await compacted(room)
        assert RUNTIME in await running.trace()
        assert not any(RUNTIME in line for line in (await book(running))[0].told)


# --- A10: the gate ---


def runs(command: str) -> Callable[[MessagesRequest], Reply]:
    """A model that runs this, once in a turn that asks for it, and then answers."""

    def brain(request: MessagesRequest) -> Reply:
        last = blocks_of(request.messages[-1]["content"])[-1]
        wants = last["type"] == "text" and "list" in last["text"].casefold()
        return Reply("", [ToolCall("shell", {"command": command})]) if wants else Reply("Fine.")

    return brain


def result(model: MessagesServer) -> str:
    last = model.requests[-1].request.messages[-1]
    return text_of(next(block for block in blocks_of(last["content"]) if block["type"] == "tool_result")["content"])


@pytest.fixture
def desktop(tmp_path: Path) -> Path:
    """A desktop that is not where one would look for it."""
    folder = tmp_path / "ada" / "Desktop"
    folder.mkdir(parents=True)
    (folder / "shopping.txt").write_text("milk")
    return folder


SHELL: dict[str, Any] = {"tools": {"shell": "unconfined"}, "admins": "room:ada"}


async def test_a_command_that_looks_for_the_desktop_gets_its_path_and_the_result_says_so(
    house: OpenHouse, room: Room, model: MessagesServer, desktop: Path
) -> None:
    model.brain = runs("ls ~/Desktop")
    async with house(agents=MEMORY, **SHELL) as running:
        await told(running, room, f"My desktop is at {desktop}")
        with notices_of("memory_gate") as notices:
            await room.asks("List what is there, please.")
        assert "shopping.txt" in result(model)
        assert f"ls {desktop}" in result(model)
        calls = [b for e in (await running.history()).entries for b in e.blocks if b.get("type") == "tool_use"]
        assert [call["input"] for call in calls] == [{"command": "ls ~/Desktop"}]
        (notice,) = notices()
        assert payload(notice, GATE) == {
            "tool": "shell",
            "target": "Desktop",
            "path": str(desktop),
            "originalCommand": "ls ~/Desktop",
            "rewrittenCommand": f"ls {desktop}",
        }
        assert any(f"Desktop → {desktop}" in text for m in room.shown["1"].values() for text in m.texts)
        await room.asks("List it once more, please.")
        lasting = f"As memory has it, Desktop is {desktop}."
        assert len([notice for notice in room.notices() if lasting in notice]) == 1, "it is said once, and stays"
        await told(running, room, "The milk is 2.50 EUR.")
        await room.asks("List it a third time, please.")
        assert len([notice for notice in room.notices() if lasting in notice]) == 1
    assert not any("CFPM" in str(record.request.messages) for record in model.requests)


@pytest.mark.parametrize(
    "case",
    [
        ({"memory": {"pre_tool_gate": False}}, "List it"),
        ({"agents": {"strategy": "reset", "compact_ahead": False}}, "List it"),
        ({}, "Check again, and list it"),
    ],
)
async def test_switched_off_with_another_strategy_or_when_it_is_to_be_checked_again_the_command_runs_as_it_is(
    house: OpenHouse, room: Room, model: MessagesServer, desktop: Path, case: tuple[dict[str, Any], str]
) -> None:
    options, asked = case
    model.brain = runs("ls ~/Desktop")
    async with house(**{"agents": MEMORY, "memory": QUIET, **SHELL, **options}):
        await room.asks(f"My desktop is at {desktop}")
        with notices_of("memory_gate") as notices:
            await room.asks(asked)
        assert "shopping.txt" not in result(model)
        assert notices() == []


async def test_a_model_that_calls_the_same_command_twice_running_means_it_as_it_is_written(
    house: OpenHouse, room: Room, model: MessagesServer, desktop: Path
) -> None:
    """Whatever language the person asked in to look again."""

    def insists(request: MessagesRequest) -> Reply:
        results = [
            text_of(block["content"])
            for message in request.messages
            for block in blocks_of(message["content"])
            if block["type"] == "tool_result"
        ]
        wants = "tazama" in request.all_text and len(results) < 3
        return Reply("", [ToolCall("shell", {"command": "ls ~/Desktop"})]) if wants else Reply("Fine.")

    model.brain = insists
    async with house(agents=MEMORY, memory=QUIET, **SHELL) as running:
        await told(running, room, f"My desktop is at {desktop}")
        await room.asks("tazama tena")
        messages = model.requests[-1].request.messages
        ran = [b for m in messages for b in blocks_of(m["content"]) if b["type"] == "tool_result"]
        assert ["shopping.txt" in text_of(block["content"]) for block in ran] == [True, False, True]


async def test_a_forgotten_path_is_not_used(house: OpenHouse, room: Room, model: MessagesServer, desktop: Path) -> None:
    model.brain = runs("ls ~/Desktop")
    async with house(agents=MEMORY, memory=QUIET, **SHELL) as running:
        for item in await told(running, room, f"My desktop is at {desktop}"):
            await room.commands(f"/memory forget {item.number}")
        await room.asks("List what is there, please.")
        assert "shopping.txt" not in result(model)
