"""What streamed chunks come to, in every shape in which endpoints have been seen to send them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import ModelOverflow
from bot.history import Usage
from bot.messages import text_block
from bot.model import Reply
from bot.model.chat.chunks import ChatStream, ErrorInStream, usage_of
from bot.model.provider_errors import TryAgain
from bot.runtime.providers import Quirks

ID, OTHER_ID = "call_abcdefghijkl", "call_mnopqrstuvwx"
LOOK = {"type": "tool_use", "id": ID, "name": "look", "input": {"at": "a fox"}}
READ = {"type": "tool_use", "id": OTHER_ID, "name": "read", "input": {"path": "b.txt"}}


def delta(**more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": more, "finish_reason": None}]}


def calls(*pieces: Mapping[str, Any]) -> dict[str, Any]:
    return delta(tool_calls=list(pieces))


def piece(index: int | None, own: str | None, name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    """A piece of a call; what is None is not there."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    given = {"index": index, "id": own, "type": "function", "function": function, **more}
    return {key: value for key, value in given.items() if value is not None}


def end(reason: str | None = "stop") -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def made() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"made-{next(numbers):05}"


def reply_of(chunks: Sequence[Any], quirks: Quirks | None = None, **more: Any) -> Reply:
    stream = ChatStream()
    for chunk in chunks:
        stream.take(chunk)
    given: dict[str, Any] = {"place": "here", "model": "m", "names": {}, "used": (), "new_id": made(), **more}
    return stream.reply(quirks or Quirks(), **given)


# --- words ---


@pytest.mark.parametrize(
    "chunks",
    [
        [delta(role="assistant"), delta(content="Yes"), delta(content=", I do."), end()],
        [delta(role="assistant", content=""), delta(content="Yes, I do."), end()],
        [delta(role="assistant", content=None, tool_calls=None), delta(content="Yes, I do.", refusal=None), end()],
        [delta(content=[{"type": "text", "text": "Yes"}, {"type": "text", "text": ", I do."}]), end()],
        [delta(content=["Yes", ", I do."]), end()],
        [{"choices": [], "prompt_filter_results": []}, delta(content="Yes, I do."), end()],
        [{"choices": [{"delta": {"content": "Yes, I do."}, "finish_reason": "stop"}]}],
        [{"choices": [{"index": 0, "message": {"content": "Yes, I do."}, "finish_reason": "stop"}]}],
        [delta(content="Yes, I do."), end(), end(), {"choices": None, "usage": {}}],
        [delta(content="Yes, I do."), {"choices": [{"index": 1, "delta": {"content": "No."}}]}, end()],
        [delta(content="Yes, I do.")],
        [delta(reasoning_content="Hm."), delta(reasoning="Hm.", content=None), delta(content="Yes, I do."), end()],
        [
            delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]),
            delta(content="Yes, I do."),
        ],
        [
            delta(content="<th"),
            delta(content="ink>Hm."),
            delta(content="</think>\n\nYes"),
            delta(content=", I do."),
            end(),
        ],
    ],
)
def test_words_are_put_together_whatever_is_between_them(chunks: Sequence[Any]) -> None:
    assert reply_of(chunks) == Reply((text_block("Yes, I do."),), Usage(), "end_turn")


def test_the_text_so_far_grows_with_words_alone() -> None:
    stream = ChatStream()
    grew = [stream.take(it) for it in (delta(role="assistant"), delta(content="a"), delta(reasoning="b"), end())]
    assert grew == [False, True, False, False]
    assert stream.text == "a"


def test_a_character_that_comes_in_two_halves_is_one() -> None:
    stream = ChatStream()
    assert not stream.take(delta(content="\ud83d"))
    assert stream.take(delta(content="\ude42!"))
    assert stream.text == "🙂!"
    assert reply_of([delta(content="a\ude42b\ud83d"), end()]).blocks == (text_block("a\ufffdb"),)


def test_an_answer_of_nothing_has_no_blocks() -> None:
    assert reply_of([delta(content=" \n"), end()]).blocks == ()


# --- calls ---


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param(
            [calls(piece(0, ID, "look", ""), piece(0, None, None, '{"at": ')), calls(piece(0, None, None, '"a fox"}'))],
            id="pieces",
        ),
        pytest.param([calls(piece(0, ID, "look", '{"at": "a fox"}'))], id="at once"),
        pytest.param([calls(piece(None, ID, "look", '{"at": "a fox"}'))], id="no number"),
        pytest.param([calls(piece(0, ID, "look", {"at": "a fox"}))], id="arguments as an object"),
        pytest.param([calls(piece(0, ID, "look", '"{\\"at\\": \\"a fox\\"}"'))], id="JSON in JSON"),
        pytest.param(
            [calls(piece(0, ID, "look", '{"at":')), calls(piece(0, ID, "look", '"a fox"}'))], id="heads repeated"
        ),
        pytest.param([calls(piece(0, ID, "look", '{"at":')), calls(piece(0, "", "", '"a fox"}'))], id="heads emptied"),
        pytest.param(
            [calls(piece(0, ID, "look", "")), calls(piece(0, OTHER_ID, None, '{"at": "a fox"}'))],
            id="another id each time",
        ),
        pytest.param(
            [
                calls(piece(0, ID, "lo", None), piece(0, None, "ok", None)),
                calls(piece(0, None, None, '{"at": "a fox"}')),
            ],
            id="a name in pieces",
        ),
        pytest.param(
            [calls(piece(None, ID, "look", "")), calls(piece(None, None, None, '{"at": "a fox"}'))],
            id="only the head has an id",
        ),
        pytest.param([delta(tool_calls=piece(0, ID, "look", '{"at": "a fox"}'))], id="not in a list"),
        pytest.param([calls({"id": ID, "name": "look", "arguments": {"at": "a fox"}})], id="without a function"),
        pytest.param(
            [{"choices": [{"message": {"tool_calls": [piece(None, ID, "look", '{"at": "a fox"}')]}}]}],
            id="not streamed",
        ),
    ],
)
@pytest.mark.parametrize("reason", ["tool_calls", "stop", "function_call", "STOP", None, "length"])
def test_a_call_is_put_together(chunks: Sequence[Any], reason: str | None) -> None:
    assert reply_of([*chunks, end(reason)]) == Reply((LOOK,), Usage(), "tool_use")


A, B = '{"at": "a fox"}', '{"path": "b.txt"}'


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([calls(piece(0, ID, "look", A)), calls(piece(1, OTHER_ID, "read", B))], id="one after the other"),
        pytest.param([calls(piece(0, ID, "look", A), piece(1, OTHER_ID, "read", B))], id="in one chunk"),
        pytest.param(
            [
                calls(piece(0, ID, "look", "")),
                calls(piece(1, OTHER_ID, "read", "")),
                calls(piece(0, None, None, A[:5]), piece(1, None, None, B[:7])),
                calls(piece(1, None, None, B[7:])),
                calls(piece(0, None, None, A[5:])),
            ],
            id="by turns",
        ),
        pytest.param([calls(piece(0, ID, "look", A)), calls(piece(0, OTHER_ID, "read", B))], id="all are number 0"),
        pytest.param([calls(piece(None, ID, "look", A)), calls(piece(None, OTHER_ID, "read", B))], id="no numbers"),
        pytest.param(
            [
                calls(piece(None, ID, "look", "")),
                calls(piece(None, None, None, A)),
                calls(piece(None, OTHER_ID, "read", "")),
                calls(piece(None, None, None, B)),
            ],
            id="no numbers, in pieces",
        ),
    ],
)
def test_several_calls_are_told_apart(chunks: Sequence[Any]) -> None:
    assert reply_of([*chunks, end("tool_calls")]).blocks == (LOOK, READ)


@pytest.mark.parametrize("own", ["", None, "0", "call_1", "functions.look:0"])
@pytest.mark.parametrize("index", [0, None])
def test_calls_without_an_id_of_their_own_get_one(own: str | None, index: int | None) -> None:
    chunks = [calls(piece(index, own, "look", A)), calls(piece(index, own, "look", '{"at": "b"}'))]
    reply = reply_of([*chunks, end("tool_calls")])
    assert [(block["id"], block["input"]) for block in reply.blocks] == [
        ("made-00001", {"at": "a fox"}),
        ("made-00002", {"at": "b"}),
    ]


def test_an_id_that_the_page_has_already_is_another() -> None:
    assert reply_of([calls(piece(0, ID, "look", A))], used={ID}).blocks[0]["id"] == "made-00001"


def test_two_calls_with_one_id_are_two() -> None:
    reply = reply_of([calls(piece(0, ID, "look", A), piece(1, ID, "read", B))])
    assert [block["id"] for block in reply.blocks] == [ID, "made-00001"]


def test_a_name_that_is_the_id_too_is_no_id() -> None:
    assert reply_of([calls(piece(0, "look_around", "look_around", A))]).blocks[0]["id"] == "made-00001"


def test_a_name_that_was_changed_for_the_wire_is_changed_back() -> None:
    assert reply_of([calls(piece(0, ID, "short", A))], names={"short": "very.long"}).blocks[0]["name"] == "very.long"


def test_a_call_that_is_said_again_as_a_whole_is_one() -> None:
    whole = piece(0, ID, "look", A)
    pieces = [piece(0, ID, "look", A[:4]), piece(0, None, None, A[4:])]
    assert reply_of([calls(*pieces), calls(whole), end("tool_calls")]).blocks == (LOOK,)


@pytest.mark.parametrize("arguments", ["", "{}", "null", None, " "])
def test_a_call_without_arguments_has_none(arguments: str | None) -> None:
    assert reply_of([calls(piece(0, ID, "look", arguments))]).blocks[0]["input"] == {}


@pytest.mark.parametrize("arguments", ["a fox", '["a fox"]', '{"at": NaN}', "7"])
def test_arguments_that_are_none_are_not_to_be_acted_on(arguments: str) -> None:
    reply = reply_of([calls(piece(0, ID, "look", arguments)), end("tool_calls")])
    assert reply.blocks[0]["input"] == {"arguments": arguments}
    assert reply.broken == {ID}


@pytest.mark.parametrize("reason", ["length", "max_tokens", "tool_calls", "stop", None])
def test_arguments_that_break_off_are_shown_as_far_as_they_go_and_not_to_be_acted_on(reason: str | None) -> None:
    whole, broken = piece(0, ID, "look", A), piece(1, OTHER_ID, "read", '{"path": "a.txt", "why": "the wo')
    reply = reply_of([calls(whole), calls(broken), end(reason)])
    assert reply.blocks[1]["input"]["path"] == "a.txt"
    assert reply.broken == {OTHER_ID}


def test_a_call_in_which_the_answer_ended_before_its_arguments_is_not_to_be_acted_on() -> None:
    begun = [calls(piece(0, ID, "look", ""), piece(1, OTHER_ID, "read", ""))]
    assert reply_of([*begun, end("length")]).broken == {OTHER_ID}
    assert reply_of([*begun, end("tool_calls")]).broken == set()


def test_the_legacy_form_of_a_call_is_one() -> None:
    chunks = [delta(function_call={"name": "look"}), delta(function_call={"arguments": A}), end("function_call")]
    assert reply_of(chunks) == Reply(({**LOOK, "id": "made-00001"},), Usage(), "tool_use")


# --- the end ---


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "end_turn"),
        ("eos", "end_turn"),
        ("whatever", "end_turn"),
        ("length", "max_tokens"),
        ("max_tokens", "max_tokens"),
        ("content_filter", "refusal"),
        ("content_filter: SAFETY", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
    ],
)
def test_why_it_ended_is_said_in_our_words(reason: str, expected: str) -> None:
    assert reply_of([delta(content="So"), end(reason)]).stop_reason == expected


def test_a_refusal_is_words_and_a_reason() -> None:
    reply = reply_of([delta(refusal="I can"), delta(refusal="not."), end()])
    assert reply == Reply((text_block("I cannot."),), Usage(), "refusal")


def test_a_call_that_was_declined_in_its_middle_is_a_refusal() -> None:
    assert reply_of([calls(piece(0, ID, "look", '{"at')), end("content_filter")]).stop_reason == "refusal"


def test_an_answer_that_fills_the_window_is_an_overflow() -> None:
    with pytest.raises(ModelOverflow):
        reply_of([delta(content="So"), end("model_length")])


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL", "abort"])
def test_an_answer_that_broke_is_tried_again(reason: str) -> None:
    with pytest.raises(TryAgain):
        reply_of([delta(content="So"), end(reason)])


def test_an_answer_that_nobody_ended_is_tried_again() -> None:
    with pytest.raises(TryAgain):
        reply_of([delta(content="So")], ended=False)
    assert reply_of([delta(content="So"), end()], ended=False).stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("chunk", "body"),
    [
        ({"error": {"code": 502}}, {"code": 502}),
        ({"choices": [{"index": 0, "delta": {}, "error": {"code": 400}}]}, {"code": 400}),
        ({"object": "error", "message": "no"}, {"object": "error", "message": "no"}),
    ],
)
def test_an_error_in_the_stream_is_raised(chunk: Any, body: Any) -> None:
    with pytest.raises(ErrorInStream) as raised:
        ChatStream().take(chunk)
    assert raised.value.body == body


# --- usage ---


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, Usage()),
        ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}, Usage(10, output=3)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 8}}, Usage(2, 8)),
        ({"prompt_tokens": 10, "prompt_tokens_details": None, "completion_tokens": None}, Usage(10)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5}}, Usage(1, 4, 5)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 4}, Usage(4, 6)),
        ({"prompt_tokens": 10, "cached_tokens": 6}, Usage(4, 6)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99}}, Usage(0, 10)),
        (
            {"prompt_tokens": 1, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 6}},
            Usage(1, output=9, reasoning=6),
        ),
        ({"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 10}, Usage(1, output=9, reasoning=6)),
        ({"prompt_tokens": 10.0, "completion_tokens": "3"}, Usage(10)),
    ],
)
def test_usage_is_counted_in_our_sense(told: Mapping[str, Any], expected: Usage) -> None:
    assert usage_of(told) == expected


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": [], "usage": {"prompt_tokens": 7}},
        {"usage": {"prompt_tokens": 7}},
        {"choices": [{"delta": {}, "usage": {"prompt_tokens": 7}}]},
        {"choices": [{"delta": {}}], "x_groq": {"usage": {"prompt_tokens": 7}}},
    ],
)
def test_usage_is_found_wherever_it_stands(chunk: Any) -> None:
    chunks = [{"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 5}}, end(), chunk]
    assert reply_of([*chunks, {"choices": [], "usage": None}]).usage == Usage(7)


# --- thoughts ---


def test_thoughts_are_dropped_where_nobody_wants_them_back() -> None:
    told = {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 6}}
    chunks = [delta(reasoning_content="Hm."), delta(content="Yes."), {**end(), "usage": told}]
    reply = reply_of(chunks, Quirks(reasoning="reasoning_content"))
    assert reply.blocks == (text_block("Yes."),)
    assert reply.usage.reasoning == 6


@pytest.mark.parametrize("sent_as", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize(("back", "lasting"), [("with_calls", False), ("calls_always", True), ("always", True)])
def test_thoughts_are_kept_where_they_are_wanted_back(sent_as: str, back: str, *, lasting: bool) -> None:
    told = {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 6}}
    chunks = [
        delta(**{sent_as: "H"}),
        delta(**{sent_as: "m."}),
        calls(piece(0, ID, "look", A)),
        {**end(), "usage": told},
    ]
    reply = reply_of(chunks, Quirks(reasoning="reasoning_content", reasoning_back=back))
    kept = {"type": "reasoning", "place": "here", "model": "m", "field": "reasoning_content", "value": "Hm."}
    assert reply.blocks == ({**kept, "lasting": True} if lasting else kept, LOOK)
    assert reply.usage.reasoning == 0


def test_thoughts_without_a_call_are_kept_only_where_all_are() -> None:
    chunks = [delta(reasoning="Hm."), delta(content="Yes."), end()]
    kept = [
        len(reply_of(chunks, Quirks(reasoning="reasoning", reasoning_back=back)).blocks)
        for back in ("never", "with_calls", "calls_always", "always")
    ]
    assert kept == [1, 1, 1, 2]


def test_details_of_thoughts_grow_by_their_number() -> None:
    text, sealed = {"type": "reasoning.text", "index": 0}, {"type": "reasoning.encrypted", "data": "x", "index": 1}
    chunks = [
        delta(reasoning="H", reasoning_details=[{**text, "text": "H"}]),
        delta(reasoning="m", reasoning_details=[{**text, "text": "m", "signature": None}]),
        delta(reasoning_details=[{**text, "signature": "s"}, sealed, {**sealed, "data": "y"}]),
        end(),
    ]
    reply = reply_of(chunks, Quirks(reasoning="reasoning_details", reasoning_back="always"))
    assert reply.blocks[0]["value"] == [{**text, "text": "Hm", "signature": "s"}, sealed, {**sealed, "data": "y"}]


@pytest.mark.parametrize("where", ["in the call", "behind it", "beside it"])
def test_signatures_are_kept_by_the_call_that_they_sign(where: str) -> None:
    signed = {"google": {"thought_signature": "s"}}
    chunks = {
        "in the call": [calls(piece(0, ID, "look", A, extra_content=signed))],
        "behind it": [calls(piece(0, ID, "look", A)), calls({"extra_content": signed})],
        "beside it": [calls(piece(0, ID, "look", A)), delta(extra_content=signed)],
    }[where]
    reply = reply_of([*chunks, end()], Quirks(reasoning="extra_content", reasoning_back="with_calls"))
    assert reply.blocks[0]["value"] == {ID: signed}
    assert reply.blocks[1] == LOOK


# --- anything ---

SCALARS = st.one_of(st.none(), st.text(max_size=8), st.integers(-2, 3), st.booleans())
FUNCTIONS = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(["look", "", "näme", None]), "arguments": st.one_of(SCALARS, st.just("{}"))}
)
PIECES = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([0, 1, None]),
        "id": st.sampled_from([ID, "", "0", None]),
        "function": st.one_of(FUNCTIONS, st.none()),
        "extra_content": st.just({"google": {"thought_signature": "s"}}),
    },
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.one_of(SCALARS, st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text()}))),
        "tool_calls": st.one_of(st.none(), st.lists(PIECES, max_size=3)),
        "reasoning_content": SCALARS,
        "reasoning": SCALARS,
        "reasoning_details": st.lists(st.fixed_dictionaries({"type": st.just("reasoning.text"), "text": st.text()})),
        "refusal": st.none(),
        "function_call": st.one_of(st.none(), FUNCTIONS),
    },
)
CHUNKS = st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"delta": st.one_of(st.none(), DELTAS)}), max_size=1)},
    optional={
        "usage": st.one_of(st.none(), st.dictionaries(st.sampled_from(["prompt_tokens", "total_tokens"]), SCALARS))
    },
)


@given(
    st.lists(CHUNKS, max_size=8),
    st.sampled_from(["reasoning_content", "reasoning", "reasoning_details", "extra_content", "thinking_chunks"]),
)
def test_whatever_is_streamed_is_a_reply_that_can_be_kept(chunks: list[Any], reasoning: str) -> None:
    reply = reply_of([*chunks, end()], Quirks(reasoning=reasoning, reasoning_back="always"))
    assert reply.blocks == tuple(json.loads(json.dumps(reply.blocks).encode()))
    uses = [block for block in reply.blocks if block["type"] == "tool_use"]
    assert len({block["id"] for block in uses}) == len(uses)
    assert all(isinstance(block["input"], dict) and block["name"] for block in uses)
    assert all(block["text"].strip() for block in reply.blocks if block["type"] == "text")
    assert min(reply.usage.input, reply.usage.output, reply.usage.reasoning) >= 0


def test_thoughts_that_nothing_counts_are_their_share_of_the_answer_and_part_of_no_later_request() -> None:
    used = {"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 40}}
    between_tags = reply_of([delta(content="<think>A long thought.</think>"), delta(content="Short"), end(), used])
    beside = reply_of([delta(reasoning_content="A long thought."), delta(content="Short"), end(), used])
    assert between_tags == beside
    assert (between_tags.usage.output, between_tags.usage.with_answer) == (40, 60)
