"""What another endpoint wrote is made valid for the Messages API, and nothing else is touched."""

from __future__ import annotations

import re

import pytest

from bot.messages import Message, text_block
from bot.model.foreign import CALL_ID, for_messages, matching, named, placed

ANTHROPIC, ELSEWHERE = "api.anthropic.com", "example.test"
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
REASONED = {"type": "reasoning", "place": ELSEWHERE, "model": "m", "field": "reasoning", "value": "Hm."}
HELLO = Message(role="user", content=[text_block("hello")])
YES = text_block("Yes.")


def answered(*blocks: object) -> list[Message]:
    return [HELLO, Message(role="assistant", content=list(blocks)), HELLO]  # type: ignore[arg-type]


def test_a_page_of_its_own_is_the_same_page() -> None:
    page = answered(THOUGHT, YES, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}})
    assert for_messages(page, ANTHROPIC) is page


def test_what_another_wire_reasoned_goes_wherever_it_is_from() -> None:
    for place in (ANTHROPIC, ELSEWHERE):
        assert for_messages(answered(REASONED, YES), place) == answered(YES)


def test_thinking_goes_only_to_the_place_that_it_is_from() -> None:
    [marked] = placed([THOUGHT], ELSEWHERE)
    assert placed([THOUGHT], ANTHROPIC) == (THOUGHT,)
    assert for_messages(answered(marked, YES), ELSEWHERE) == answered(THOUGHT, YES)
    assert for_messages(answered(marked, YES), ANTHROPIC) == answered(YES)
    assert for_messages(answered(THOUGHT, YES), ELSEWHERE) == answered(YES)


def test_what_stands_around_an_answer_of_thoughts_alone_is_joined() -> None:
    assert for_messages(answered(REASONED), ANTHROPIC) == [
        Message(role="user", content=[text_block("hello"), text_block("hello")])
    ]


def test_ids_and_names_are_those_that_the_api_takes_and_stay_a_pair() -> None:
    call = {"type": "tool_use", "id": "functions.look:0", "name": "a.b", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "functions.look:0", "content": "a fox"}
    page = [HELLO, Message(role="assistant", content=[call]), Message(role="user", content=[result])]
    _, asked, came = for_messages(page, ANTHROPIC)
    assert isinstance(asked["content"], list)
    assert isinstance(came["content"], list)
    [made], [found] = asked["content"], came["content"]
    assert found["tool_use_id"] == made["id"]
    assert re.fullmatch(CALL_ID, made["id"])
    assert re.fullmatch("[a-zA-Z0-9_-]{1,128}", made["name"])
    assert page[1]["content"] == [call]


@pytest.mark.parametrize("pattern", [CALL_ID, "[a-zA-Z0-9]{9}", "call_.*", "[0-9a-f]{24}"])
def test_an_id_is_replaced_by_one_that_matches_always_the_same(pattern: str) -> None:
    made = matching("no: id", pattern)
    assert re.fullmatch(pattern, made)
    assert made == matching("no: id", pattern) != matching("no: other", pattern)
    assert matching(made, pattern) == made


def test_a_name_keeps_what_can_be_read_of_it() -> None:
    assert named("look", "[a-z]+", 10) == "look"
    assert re.fullmatch("mcp_files_read_[0-9a-f]{8}", named("mcp files/read", "[a-z]+", 64))
    assert len(named("x" * 99, "[a-z]{1,64}", 64)) == 64
    assert named("ж", "[a-z]+", 64) != named("ш", "[a-z]+", 64)
