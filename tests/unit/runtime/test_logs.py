"""What stands in a line of the log, and what must not."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import structlog
from prometheus_client import CollectorRegistry

from bot.runtime import logs
from bot.runtime.settings import Settings
from bot.runtime.telemetry import telemetry
from tests.log_calls import Event, events

PAGE = Path(__file__).parents[3] / "docs" / "logs.md"
_ROW = re.compile(r"\| `(\w+)` \| ([a-z, ]+) \| ([^|]*) \| [^|]+ \|")
_NAME = re.compile(r"[a-z]+(_[a-z]+)*")
_EVERYWHERE = frozenset({"agent", "turn", "run"})
"""Stand in any line that they apply to."""
TOKEN = "12345:a-secret-that-nobody-is-to-read"
ESC, OVERRIDE = "\x1b[31m", "\u202e"

all_events = cache(events)
"""The source of the whole program is read once."""

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines() -> Lines:
    """Logs as JSON; gives what was logged."""
    target = io.StringIO()
    logs.configure(Settings(_env_file=None, telegram_token=TOKEN, log_format="json"), file=target)
    return lambda: [json.loads(line) for line in target.getvalue().splitlines()]


def told() -> dict[str, tuple[set[str], set[str]]]:
    """Levels and keys of each event, as the page has them."""
    rows = [found for line in PAGE.read_text().splitlines() if (found := _ROW.fullmatch(line))]
    page = {row[1]: (set(row[2].split(", ")), set(re.findall(r"`(\w+)`", row[3]))) for row in rows}
    assert len(page) == len(rows), "an event stands there twice"
    return page


def test_every_event_is_a_name_in_small_letters() -> None:
    assert [name for name in all_events() if not _NAME.fullmatch(name)] == []


def test_the_page_has_every_event_that_the_program_logs_and_no_other() -> None:
    assert told().keys() == all_events().keys()


def test_the_page_has_the_levels_and_the_keys_of_each_event() -> None:
    page = told()
    wrong = [(name, event.places) for name, event in all_events().items() if not _is_told(event, *page[name])]
    assert wrong == []


def _is_told(event: Event, levels: set[str], keys: set[str]) -> bool:
    named = event.keys - _EVERYWHERE
    return levels == event.levels and (keys >= named if event.open else keys == named)


def test_secrets_are_taken_out_of_what_is_nested_too(lines: Lines) -> None:
    log = structlog.get_logger()
    log.info("an_event", reason=f"at {TOKEN}", tools=[f"x{TOKEN}"], facts={"where": TOKEN})
    assert TOKEN not in str(lines())


def test_a_name_cannot_colour_a_terminal_nor_look_like_another_line(lines: Lines) -> None:
    structlog.get_logger().info("an_event", tool=f"{ESC}x\n2026 [error] forged", agents=[OVERRIDE], text="日本 🗜 ok")
    [line] = lines()
    assert line["tool"] == r"\x1b[31mx\n2026 [error] forged"
    assert line["agents"] == [r"\u202e"]
    assert line["text"] == "日本 🗜 ok"


def test_a_stack_keeps_its_lines(lines: Lines) -> None:
    try:
        int(f"{ESC} {TOKEN}")
    except ValueError:
        structlog.get_logger().exception("an_event")
    [line] = lines()
    assert "\n" in line["exception"]
    assert "\x1b" not in line["exception"]
    assert TOKEN not in line["exception"]


def test_a_connector_has_its_keys_and_its_name_in_its_lines(lines: Lines) -> None:
    extra = {"reason": f"{ESC}{TOKEN}", "seconds": 2.5}
    logging.getLogger("connectors.telegram.polling").warning("receiving_waits", extra=extra)
    [line] = lines()
    del line["timestamp"]
    assert line == {
        "event": "receiving_waits",
        "level": "warning",
        "connector": "telegram",
        "reason": r"\x1b[31m[redacted]",
        "seconds": 2.5,
    }


def test_a_library_is_named_and_adds_no_keys_of_its_own(lines: Lines) -> None:
    logging.getLogger("aiogram.dispatcher").warning("trouble with %s", TOKEN, extra={"session": object()})
    [line] = lines()
    assert line["logger"] == "aiogram.dispatcher"
    assert line["event"] == "trouble with [redacted]"
    assert "session" not in line


def test_what_libraries_chat_about_is_not_logged(lines: Lines) -> None:
    for name in logs.LOUD:
        logging.getLogger(name).info("hello")
    assert lines() == []


def test_lines_from_warning_on_are_counted(lines: Lines) -> None:
    def count(level: str) -> float:
        registry: CollectorRegistry = telemetry.metrics.registry
        return registry.get_sample_value("palimpsest_log_lines_total", {"level": level}) or 0.0

    before = count("warning"), count("error")
    log = structlog.get_logger()
    log.info("an_event")
    log.warning("an_event")
    log.error("an_event")
    logging.getLogger("connectors.discord").error("an_event")
    assert len(lines()) == 4
    assert (count("warning"), count("error")) == (before[0] + 1, before[1] + 2)
