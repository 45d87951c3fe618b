"""The estimate counts everything that a request carries, whatever its shape, and as often as it is asked."""

from __future__ import annotations

import base64
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.estimate import (
    BLOCK_TOKENS,
    MESSAGE_TOKENS,
    PDF_PAGE_TOKENS,
    TOOL_PROMPT_TOKENS,
    UNKNOWN_DOCUMENT_TOKENS,
    UNKNOWN_IMAGE_TOKENS,
    Family,
    block_tokens,
    estimate_tokens,
    message_tokens,
    text_tokens,
)
from bot.estimate.request import _REMEMBERED_CHARACTERS, _Memory

TOOL = {
    "name": "read_file",
    "description": "Reads a file.",
    "input_schema": {"type": "object", "properties": {}},
}


def test_newer_models_need_more_tokens_for_the_same_english() -> None:
    messages = [{"role": "user", "content": "Please tell me how the weather will be tomorrow in the mountains."}]
    assert estimate_tokens(messages) > estimate_tokens(messages, model="claude-opus-4-6")


def test_nothing_takes_no_tokens_and_a_message_takes_its_framing() -> None:
    assert estimate_tokens([]) == 0
    assert estimate_tokens([{"role": "user", "content": ""}]) == MESSAGE_TOKENS


def test_a_string_and_a_text_block_take_the_same() -> None:
    as_string = estimate_tokens([{"role": "user", "content": "What is in it?"}], system="Be brief.")
    block = {"type": "text", "text": "What is in it?"}
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert estimate_tokens([{"role": "user", "content": [block]}], system=system) == as_string


def test_the_system_prompt_and_the_tools_count() -> None:
    messages = [{"role": "user", "content": "hi"}]
    bare = estimate_tokens(messages)
    assert estimate_tokens(messages, system="You help.") > bare
    assert estimate_tokens(messages, tools=[TOOL]) > bare + 20


def test_only_claude_gets_the_prompt_that_anthropic_adds_for_tools() -> None:
    messages = [{"role": "user", "content": "hi"}]
    with_prompt = estimate_tokens(messages, tools=[TOOL], model="claude-sonnet-5")
    assert with_prompt == estimate_tokens(messages, tools=[TOOL], model="unknown") + TOOL_PROMPT_TOKENS
    assert estimate_tokens(messages, tools=[], model="claude-sonnet-5") == estimate_tokens(messages)


def test_a_tool_call_and_its_result_count_with_what_they_carry() -> None:
    def call(path: str) -> float:
        block = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": path}}
        return block_tokens(block, family=Family.NEWER)

    def result(content: object) -> float:
        block = {"type": "tool_result", "tool_use_id": "t1", "content": content}
        return block_tokens(block, family=Family.NEWER)

    assert call("a/long/path/to/a/file.py") > call("a") > 0
    assert result([{"type": "text", "text": "some words"}]) == result("some words") > result("") > 0


def _png(width: int, height: int) -> str:
    head = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR"
    return base64.b64encode(head + width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes(20)).decode()


def _jpeg(width: int, height: int) -> str:
    app = b"\xff\xe0\x00\x10JFIF" + bytes(10)
    frame = b"\xff\xc2\x00\x11\x08" + height.to_bytes(2, "big") + width.to_bytes(2, "big") + bytes(10)
    return base64.b64encode(b"\xff\xd8" + app + frame).decode()


def _gif(width: int, height: int) -> str:
    return base64.b64encode(b"GIF89a" + width.to_bytes(2, "little") + height.to_bytes(2, "little") + bytes(9)).decode()


def _webp(width: int, height: int) -> str:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return base64.b64encode(b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + sizes + bytes(8)).decode()


def _webp_lossy(width: int, height: int) -> str:
    sizes = width.to_bytes(2, "little") + height.to_bytes(2, "little")
    return base64.b64encode(b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + sizes + bytes(8)).decode()


def _webp_lossless(width: int, height: int) -> str:
    bits = (width - 1) | (height - 1) << 14
    return base64.b64encode(b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + bits.to_bytes(4, "little") + bytes(9)).decode()


def _image(data: str) -> float:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return block_tokens({"type": "image", "source": source}, family=Family.NEWER)


@pytest.mark.parametrize("encode", [_png, _jpeg, _gif, _webp, _webp_lossy, _webp_lossless])
def test_a_picture_takes_a_token_for_every_750_pixels(encode: Any) -> None:
    assert _image(encode(600, 500)) == 400


def test_a_very_large_picture_is_scaled_down_first() -> None:
    assert _image(_png(10_000, 10_000)) < 5_000


@pytest.mark.parametrize("data", ["", "AAAA", "not base64!", _png(600, 500)[:12], _png(0, 0), _jpeg(0, 0)])
def test_a_picture_without_a_readable_size_takes_the_usual_amount(data: str) -> None:
    assert _image(data) == UNKNOWN_IMAGE_TOKENS


@given(
    st.binary(max_size=200),
    st.sampled_from([b"", b"\xff\xd8", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8L", b"GIF89a"]),
)
def test_no_bytes_break_the_reading_of_a_pictures_size(data: bytes, head: bytes) -> None:
    assert _image(base64.b64encode(head + data).decode()) > 0


def _document(source: dict[str, Any]) -> float:
    return block_tokens({"type": "document", "source": source}, family=Family.NEWER)


def test_a_text_document_takes_its_text() -> None:
    text = "Some words on a page. " * 50
    assert _document({"type": "text", "data": text}) == text_tokens(text, family=Family.NEWER)


def test_a_pdf_takes_its_pages_or_a_guess_by_its_size() -> None:
    shown = base64.b64encode(b"%PDF-1.4 <</Type /Pages>> <</Type /Page >> <</Type/Page>>").decode()
    assert _document({"type": "base64", "data": shown}) == 2 * PDF_PAGE_TOKENS
    hidden = base64.b64encode(b"%PDF-1.7 " + bytes(500_000)).decode()
    assert 5 * PDF_PAGE_TOKENS <= _document({"type": "base64", "data": hidden}) <= 20 * PDF_PAGE_TOKENS
    assert _document({"type": "url", "url": "https://example.com/a.pdf"}) == UNKNOWN_DOCUMENT_TOKENS


def test_a_block_of_an_unknown_type_takes_its_json() -> None:
    assert block_tokens({"type": "hologram", "beam": "green " * 30}, family=Family.NEWER) > 30


def test_what_was_reasoned_takes_its_text_only_where_it_is_sent_with_every_later_request() -> None:
    reasoned = {"type": "reasoning", "place": "p", "model": "m", "field": "reasoning", "value": "green " * 30}
    assert block_tokens(reasoned, family=Family.NEWER) == 0
    words = text_tokens(reasoned["value"], family=Family.NEWER)
    assert block_tokens({**reasoned, "lasting": True}, family=Family.NEWER) == words


def test_a_picture_or_a_document_inside_a_tools_result_takes_what_it_takes_outside() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": _png(600, 500)}
    page = {"type": "document", "source": {"type": "content", "content": [{"type": "image", "source": source}]}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "image", "source": source}, page]}
    assert block_tokens(result, family=Family.NEWER) == BLOCK_TOKENS + 2 * 400


def test_a_file_in_a_folder_takes_its_size_or_the_usual_amount() -> None:
    def folder(kind: str, **source: object) -> float:
        return block_tokens({"type": kind, "source": {"type": "folder", **source}}, family=Family.NEWER)

    assert folder("image", width=600, height=500) == 400
    assert folder("document", pages=2) == 2 * PDF_PAGE_TOKENS
    for broken in ({}, {"width": None, "height": 3, "pages": "two"}, {"width": -5, "height": 5, "pages": -1}):
        assert folder("image", **broken) == UNKNOWN_IMAGE_TOKENS
        assert folder("document", **broken) == UNKNOWN_DOCUMENT_TOKENS


def test_what_is_counted_again_takes_the_same_and_what_was_changed_in_place_is_seen() -> None:
    block = {"type": "text", "text": "The first text."}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [block]},
        {"role": "assistant", "content": "An answer — so it is."},
    ]
    first = estimate_tokens(messages)
    assert estimate_tokens(messages) == first
    assert estimate_tokens([*messages, {"role": "user", "content": "more"}]) > first
    block["text"] = "The second text, which is longer by far."
    assert estimate_tokens(messages) > first
    assert estimate_tokens(messages, model="claude-opus-4-6") < estimate_tokens(messages)


def test_no_more_text_is_remembered_than_there_is_room_for() -> None:
    memory = _Memory(Family.NEWER)
    large = ["some words " * 400_000 + str(number) for number in range(4)]
    totals = [memory.total([text]) for text in large]
    assert memory.total(large) == sum(totals)
    assert sum(map(len, memory._known)) <= _REMEMBERED_CHARACTERS


def test_content_nested_a_hundred_thousand_deep_is_counted() -> None:
    nested: Any = "deep down"
    for _ in range(100_000):
        nested = [nested]
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": nested}}
    assert estimate_tokens([{"role": "user", "content": nested}]) == estimate_tokens(
        [{"role": "user", "content": "deep down"}]
    )
    assert block_tokens(call, family=Family.NEWER) > 100_000


def test_mappings_and_sequences_of_any_kind_are_read_as_dicts_and_lists() -> None:
    plain = {"role": "user", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"at": [1, "two"]}}]}
    other = MappingProxyType(
        {
            "role": "user",
            "content": (
                MappingProxyType(
                    {"type": "tool_use", "id": "t1", "name": "look", "input": MappingProxyType({"at": (1, "two")})}
                ),
            ),
        }
    )
    assert estimate_tokens([other]) == estimate_tokens([plain])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = ["text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking", "other", None, 7]
sources = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["base64", "text", "content", "folder", "url", "file", None]),
        **dict.fromkeys(("data", "content", "width", "height", "pages", "url"), json_values),
    },
)
blocks = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(KINDS),
        "source": sources | json_values,
        **dict.fromkeys(("text", "thinking", "content", "input", "name", "title", "context", "data"), json_values),
    },
)
contents = st.text() | st.lists(blocks, max_size=4) | json_values


@given(st.lists(st.fixed_dictionaries({}, optional={"role": st.just("user"), "content": contents}) | json_values))
def test_any_message_is_counted_however_malformed_and_each_adds_to_the_sum(messages: list[Any]) -> None:
    total = estimate_tokens(messages)
    parts = [message_tokens(message, family=Family.NEWER) for message in messages]
    assert all(part >= MESSAGE_TOKENS for part in parts)
    assert sum(parts) <= total < sum(parts) + 1


@given(json_values, json_values, st.none() | st.text(max_size=9))
def test_any_system_prompt_and_tools_are_counted(system: Any, tool: Any, model: str | None) -> None:
    assert estimate_tokens([], system=system, tools=[tool], model=model) >= 0
