"""Compaction by hand that wants a summary, cannot fit, or is given what is no conversation. FEATURES P6."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compaction import STRATEGIES, compact_history
from bot.compaction.manual.refusals import BadMessages, CannotFit, NeedsSummary, NoSummary
from tests.unit.by_hand import Oldest, assistant, stays, talk, user
from tests.unit.entries import call, result


def test_a_strategy_that_wants_a_summary_says_so_and_says_of_what() -> None:
    messages = [user("the price is 4711"), assistant("noted " * 30), user("and now?")]
    with pytest.raises(NeedsSummary, match=r"oldest wants a summary of what .*--summary FILE.*--with-model") as caught:
        compact_history(messages, strategy=Oldest(), wants_summary=True)
    assert [message["content"] for message in caught.value.messages] == [
        [{"type": "text", "text": "the price is 4711"}],
        messages[1]["content"],
    ]
    assert not caught.value.updates


def test_a_summary_stands_for_what_is_gone_and_exact_details_that_it_lacks_are_added() -> None:
    messages = [user("the price is 4711"), assistant("noted " * 30), user("and now?")]
    made = compact_history(messages, strategy=Oldest(), wants_summary=True, summary="  A price was agreed.\n")
    text = "A price was agreed.\n\n## Exact details\n\n- 4711"
    assert made.messages == [
        {"role": "user", "content": [{"type": "text", "text": text}, {"type": "text", "text": "and now?"}]}
    ]
    with_it = compact_history(messages, strategy=Oldest(), wants_summary=True, summary="The price is 4711.")
    assert "Exact details" not in json.dumps(with_it.messages)


@pytest.mark.parametrize("text", ["", " \n", "No summary.", "暂无摘要"])
def test_words_that_say_nothing_are_no_summary(text: str) -> None:
    with pytest.raises(NoSummary, match="says nothing"):
        compact_history(talk(3), strategy="reset", summary=text)


def test_a_summary_that_is_longer_than_what_it_stands_for_changes_nothing() -> None:
    messages = [user("a"), assistant("b"), user("c")]
    made = compact_history(messages, strategy=Oldest(), wants_summary=True, summary="It went on and on. " * 30)
    assert stays(made, messages)


@pytest.mark.parametrize(
    ("arguments", "blamed"),
    [
        ({"system": "word " * 200}, r"the system prompt alone takes about \d+\."),
        ({"tools": [{"name": "t", "description": "word " * 200}]}, r"the tools alone take about \d+\."),
        ({"system": "word " * 90, "tools": [{"description": "word " * 90}]}, r"the system prompt and the tools alone"),
        ({"strategy": Oldest(), "wants_summary": True, "summary": "word " * 200}, r"the summary alone takes about"),
        ({"strategy": Oldest(), "wants_summary": True, "system": "word " * 200}, r"the system prompt alone"),
    ],
)
def test_what_cannot_fit_blames_what_stands_before_the_messages(arguments: dict[str, Any], blamed: str) -> None:
    with pytest.raises(CannotFit, match=f"cannot be made to fit into 150 tokens: {blamed}"):
        compact_history(talk(2), limit=150, **arguments)


def test_what_cannot_fit_blames_one_message_by_its_index_and_role_and_says_how_far_it_came() -> None:
    messages = [user("old"), assistant("old " * 9), user("large " * 300), assistant("so")]
    with pytest.raises(CannotFit, match=r"messages\[2\] \(user\) alone takes about [\d,]+\.$") as caught:
        compact_history(messages, strategy=Oldest(), limit=100)
    assert caught.value.result.messages == messages[2:]
    assert caught.value.result.stats["removed"] == 2


def test_what_cannot_fit_blames_the_strategy_that_keeps_what_is_left() -> None:
    messages = [user("q " * 20) if at % 2 == 0 else assistant("a " * 20) for at in range(10)]
    with pytest.raises(CannotFit, match=r"the strategy monologue keeps the 10 messages that are left") as caught:
        compact_history(messages, limit=150)
    assert stays(caught.value.result, messages)


def test_one_giant_message_is_blamed_by_every_strategy() -> None:
    for name in STRATEGIES:
        with pytest.raises(CannotFit, match=r"messages\[0\] \(user\) alone"):
            compact_history([user("大" * 9_000)], strategy=name, limit=1_000, summary="It is one long text.")


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("hi", "is a text, and not an object"),
        ({"content": "hi"}, "has no role"),
        ({"role": "robot", "content": "hi"}, "has the role 'robot'"),
        ({"role": "system"}, "has no content"),
        ({"role": "user"}, "has no content"),
        ({"role": "user", "content": 7}, "has a number as its content"),
        ({"role": "user", "content": ["hi"]}, r"\.content\[0\] is not a block"),
        ({"role": "user", "content": [{"type": "text"}]}, r"\.content\[0\] is a text whose text is not a text"),
        ({"role": "user", "content": [{"type": "tool_result"}]}, "a tool_result whose tool_use_id is not"),
        ({"role": "user", "content": [{**result("a"), "content": None}]}, "a tool_result whose content is null"),
        ({"role": "user", "content": [{**result("a"), "content": [7]}]}, r"content\[0\]\.content\[0\] is not a block"),
        ({"role": "user", "content": [call("a")]}, "a tool_use in a message of the role 'user'"),
        ({"role": "assistant", "content": [result("a")]}, "a tool_result in a message of the role 'assistant'"),
        ({"role": "assistant", "content": [{"type": "tool_use", "name": "look"}]}, "a tool_use whose id is not"),
    ],
)
def test_what_is_no_message_is_named_by_its_index(message: Any, sentence: str) -> None:
    with pytest.raises(BadMessages, match=rf"^messages\[1\].*{sentence}"):
        compact_history([user("fine"), message])


@pytest.mark.parametrize("messages", ["text", {"role": "user", "content": "x"}, None, 7])
def test_what_is_no_list_of_messages_says_so(messages: Any) -> None:
    with pytest.raises(BadMessages, match=r"^Messages are a list, not "):
        compact_history(messages)
