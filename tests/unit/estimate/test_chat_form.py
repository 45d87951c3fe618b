"""Transcripts in the form of the Chat Completions API: read, compacted, and written back in that form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bot.compaction import compact_history
from bot.compaction.manual.refusals import BadMessages
from bot.estimate import chat_form, estimate_tokens
from bot.history import valid_request
from tests.unit.by_hand import talk

Messages = list[dict[str, Any]]
SYSTEM = {"role": "system", "content": "Be exact, and answer in one sentence."}
LAST = [{"role": "assistant", "content": "so"}, {"role": "user", "content": "r"}, {"role": "assistant", "content": "s"}]
LONG = "something that was found " * 40


def asked(call_id: str, name: str = "look", **arguments: object) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def reply(content: str | None, *calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **({"tool_calls": [*calls]} if calls else {})}


def found(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def in_chat_form(messages: Sequence[Mapping[str, Any]]) -> Messages:
    """The same conversation as an agent of that API writes it down."""
    made: Messages = []
    for message in messages:
        content = message["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        calls = [asked(block["id"], block["name"], **block["input"]) for block in blocks if block["type"] == "tool_use"]
        made += [found(b["tool_use_id"], b["content"]) for b in blocks if b["type"] == "tool_result"]
        if calls or texts:
            text = "\n".join(texts) or None
            made.append({**reply(text, *calls), "role": message["role"]})
    return made


def in_block_form(messages: Sequence[Mapping[str, Any]]) -> Any:
    return valid_request([message for _, message in chat_form.read(messages)])


@pytest.mark.parametrize("strategy", ["monologue", "two_phase", "segmented", "reset", "memory", "tiered"])
def test_every_strategy_makes_the_same_of_both_forms(strategy: str) -> None:
    options: dict[str, Any] = {"strategy": strategy, "summary": "The prices were asked for, and answered: 42."}
    blocks = talk(8)
    chat = compact_history([SYSTEM, *in_chat_form(blocks)], **options)
    assert chat.stats["removed"] > 0
    assert chat.messages[0] == SYSTEM
    made = compact_history(blocks, system=SYSTEM["content"], **options).messages
    assert in_block_form(chat.messages) == valid_request(made)  # type: ignore[arg-type]


def test_what_stays_is_as_it_was_given_and_what_comes_is_in_the_same_form() -> None:
    old = [
        user("how far?") | {"name": "Ada"},
        reply("<thinking>hm</thinking>", asked("a", q="km")) | {"name": "bot"},
        found("a", LONG),
        reply(None, asked("d", "attempt_completion", result="42 km")),
        found("d", "ok"),
    ]
    last = [user("and back?"), reply("let me look", asked("b")), found("b", "the same"), reply("42 km, too.")]
    made = compact_history([SYSTEM, *old, *last]).messages
    result = "[Result of an earlier tool call]\n> [Tool: look returned 1000 chars]"
    first = {**old[0], "content": [{"type": "text", "text": "how far?"}, {"type": "text", "text": result}]}
    assert made == [SYSTEM, first, *old[3:], *last]


def test_a_call_whose_words_change_keeps_what_its_provider_wrote_and_a_result_its_own_keys() -> None:
    calls = [asked("a", q="x") | {"extra": 1}]
    messages = [
        user("q"),
        reply("look", *calls),
        found("a", LONG) | {"name": "look"},
        reply("so"),
        user("r"),
        reply("s"),
    ]
    made = compact_history([SYSTEM, *messages], strategy="two_phase", keep=2).messages
    assert made[2] == messages[1]
    assert made[3] == {**messages[2], "content": "[Tool: look returned 1000 chars]"}


def test_a_system_message_in_the_middle_stays_before_what_it_stood_before() -> None:
    late = {"role": "developer", "content": [{"type": "text", "text": "From now on be brief."}]}
    messages = in_chat_form(talk(6))
    made = compact_history(
        [SYSTEM, *messages[:-1], late, messages[-1]], strategy="segmented", summary="So far."
    ).messages
    assert made[0] == SYSTEM
    assert made[-2:] == [late, messages[-1]]
    without = compact_history(messages, strategy="segmented", summary="So far.").messages
    assert [message for message in made if not chat_form.is_system(message)] == without


def test_system_messages_alone_leave_the_form_of_the_blocks() -> None:
    made = compact_history([SYSTEM, *talk(4)]).messages
    assert made == [SYSTEM, *compact_history(talk(4)).messages]


def test_results_that_do_not_say_what_they_answer_are_read_and_stay_what_they_are() -> None:
    turn = [
        reply("<thinking>I will search.</thinking>"),
        reply("search: prices"),
        {"role": "tool", "content": "they found nothing " * 5},
    ]
    made = compact_history([SYSTEM, user("q"), *turn, user("r"), *turn]).messages
    assert made == [SYSTEM, user("q"), turn[2], user("r"), *turn]


def test_pictures_come_back_as_they_were() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}}
    look = {"role": "user", "content": [{"type": "text", "text": "what is it?"}, picture]}
    messages = [look, reply("hm", asked("a")), found("a", LONG), reply("a cat"), user("r"), reply("s")]
    first = compact_history(messages).messages[0]
    assert first["content"][:2] == look["content"]
    assert estimate_tokens([look]) < 2_000


def test_everything_in_a_chat_counts_and_the_same_as_in_blocks() -> None:
    blocks = talk(4)
    chat = [SYSTEM, *in_chat_form(blocks)]
    read = [message for _, message in chat_form.read(chat)]
    assert estimate_tokens(chat) == estimate_tokens(read, system=SYSTEM["content"])
    assert estimate_tokens([reply(None, asked("a", text=LONG))]) > 200
    made = compact_history(chat)
    assert made.stats["originalTokens"] == estimate_tokens(chat)
    assert made.stats["compactedTokens"] == estimate_tokens(made.messages)
    assert made.stats["originalCount"] == len(chat)
    assert made.stats["compactedCount"] == len(made.messages)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ({"role": "robot", "content": "hi"}, "the role 'robot': it is 'user' or 'assistant', or 'tool' or 'system'"),
        ({"role": "tool"}, "has no content"),
        ({"role": "user", "content": "x", "tool_calls": []}, "tool calls are the assistant's"),
        ({"role": "assistant", "tool_calls": {"id": "a"}}, r"tool_calls is an object: it is a list of calls"),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, r"tool_calls\[0\] is not a call"),
        ({"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}]}, r"tool_calls\[0\] is not a call"),
    ],
)
def test_what_is_no_message_of_this_form_is_named(message: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadMessages, match=rf"^messages\[1\].*{sentence}"):
        compact_history([user("hi"), message])


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "null", {"q": 1}, None])
def test_arguments_that_are_no_json_are_kept(arguments: object) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": arguments}}
    messages = [user("q"), reply(None, call), found("a", "x"), user("r"), reply("s")]
    assert compact_history(messages, strategy="two_phase", limit=10_000).messages == messages
    assert estimate_tokens(messages) > 0


@pytest.mark.parametrize("call_id", ["call_0", ""])
def test_calls_that_are_counted_anew_in_each_reply_keep_their_results_and_their_own_ids(call_id: str) -> None:
    turns = [
        [
            user(f"q{number}"),
            reply(None, asked(call_id, q=number), asked(call_id, q=-number)),
            found(call_id, LONG),
            found(call_id, f"found {number}"),
            reply(None, asked(call_id, "attempt_completion", result=f"ORD-{number}")),
            found(call_id, "ok"),
        ]
        for number in range(3)
    ]
    messages = [message for turn in turns for message in turn]
    made = compact_history(messages).messages
    assert made[-6:] == turns[-1]
    assert [m["tool_calls"] for m in made[:-6] if m["role"] == "assistant"] == [t[4]["tool_calls"] for t in turns[:-1]]
    whole = in_block_form(messages)
    assert [block["content"] for m in whole for block in m["content"] if block["type"] == "tool_result"] == [
        message["content"] for message in messages if message["role"] == "tool"
    ]


def test_a_call_that_nothing_answered_takes_no_result_of_a_later_turn() -> None:
    messages = [user("q"), reply(None, asked("")), user("again"), reply(None, asked("")), found("", "it"), reply("so")]
    blocks = in_block_form(messages)
    assert blocks[1]["content"] == [{"type": "text", "text": "[Called the tool look; its result is no longer shown.]"}]
    assert blocks[4]["content"][0]["content"] == "it"


def test_a_refusal_is_what_the_model_answered() -> None:
    refused = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    messages = [user("q"), refused, *LAST[1:]]
    assert compact_history(messages).messages == messages
    assert in_block_form(messages)[1]["content"] == [{"type": "text", "text": "I cannot help with that."}]
