"""Where a request is marked for the provider's cache."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from bot.messages import Block, Message, Role, text_block
from bot.model.cache_marks import mark_for, marked, marked_head
from bot.runtime.settings import Settings

MARK = mark_for("5m")


def message(role: Role, *blocks: Block | str) -> Message:
    return Message(role=role, content=[text_block(one) if isinstance(one, str) else one for one in blocks])


def places(messages: list[Message]) -> list[tuple[int, int]]:
    return [
        (number, place)
        for number, message in enumerate(messages)
        for place, block in enumerate(message["content"])
        if not isinstance(block, str) and "cache_control" in block
    ]


def test_the_end_of_the_request_before_is_marked() -> None:
    page = [
        message("user", "a"),
        message("assistant", "b"),
        message("user", "c", "d"),
        message("assistant", "e"),
        message("user", "f"),
    ]
    assert places(marked(page, MARK)) == [(2, 1)]


def test_a_tools_results_are_marked_as_the_end_of_a_request() -> None:
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "a fox"}
    page = [
        message("user", "look"),
        message("assistant", call),
        message("user", result),
        message("assistant", "A fox."),
    ]
    assert marked([*page, message("user", "thanks")], MARK)[2]["content"] == [{**result, "cache_control": MARK}]


def test_a_first_request_has_no_request_before_it() -> None:
    assert places(marked([message("user", "a")], MARK)) == []
    assert places(marked([message("assistant", "a"), message("user", "b")], MARK)) == []
    assert marked([], MARK) == []


def test_a_text_that_is_no_list_of_blocks_can_be_marked() -> None:
    page = [Message(role="user", content="a"), message("assistant", "b"), message("user", "c")]
    assert places(marked(page, MARK)) == [(0, 0)]


def test_what_is_marked_is_a_copy() -> None:
    page = [message("user", "a"), message("assistant", "b"), message("user", "c")]
    before = deepcopy(page)
    marked(page, MARK)
    assert page == before


def test_the_head_is_marked_at_its_end_and_what_is_empty_is_left_out() -> None:
    tool = {"name": "look", "input_schema": {"type": "object"}}
    assert marked_head("Be kind.", [tool], MARK) == {
        "tools": [tool],
        "system": [{**text_block("Be kind."), "cache_control": MARK}],
    }
    assert marked_head("", [tool], MARK) == {"tools": [tool]}
    assert marked_head("", [], MARK) == {}


def test_an_hour_is_asked_for_by_name_and_five_minutes_are_what_everybody_gives() -> None:
    assert mark_for("5m") == {"type": "ephemeral"}
    assert mark_for("1h") == {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(
    ("chosen", "life"),
    [
        ({}, "1h"),
        ({"anthropic_base_url": "http://127.0.0.1:11434"}, "5m"),
        ({"anthropic_base_url": "http://127.0.0.1:11434", "prompt_cache": "1h"}, "1h"),
        ({"prompt_cache": "5m"}, "5m"),
    ],
)
def test_anthropic_is_asked_to_remember_for_an_hour_and_others_for_as_long_as_all_of_them_do(
    chosen: dict[str, Any], life: str
) -> None:
    assert Settings(_env_file=None, **chosen).cache_life == life
