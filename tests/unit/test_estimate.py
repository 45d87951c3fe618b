"""The estimate is near the truth for every kind of text, and counts everything that a request carries."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.estimate import (
    MESSAGE_TOKENS,
    PDF_PAGE_TOKENS,
    TOOL_PROMPT_TOKENS,
    UNKNOWN_DOCUMENT_TOKENS,
    UNKNOWN_IMAGE_TOKENS,
    Family,
    block_tokens,
    estimate_tokens,
    family_of,
    message_tokens,
    text_tokens,
)

_LINES = (Path(__file__).parent / "token_vectors.jsonl").read_text(encoding="utf-8").splitlines()
VECTORS: list[dict[str, Any]] = [json.loads(line) for line in _LINES]
CLOSE_ENOUGH = 0.12
TOOL = {
    "name": "read_file",
    "description": "Reads a file.",
    "input_schema": {"type": "object", "properties": {}},
}


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["class"]))
def test_the_estimate_of_every_kind_of_text_is_near_its_true_count(vector: dict[str, Any], family: Family) -> None:
    true = vector[f"tokens_{family.value}"]
    assert abs(text_tokens(vector["text"], family=family) / true - 1) < CLOSE_ENOUGH


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-3-opus-20240229", Family.OLDER),
        ("claude-3-5-sonnet-latest", Family.OLDER),
        ("claude-sonnet-4-20250514", Family.OLDER),
        ("claude-haiku-4-5-20251001", Family.OLDER),
        ("claude-opus-4-6", Family.OLDER),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", Family.OLDER),
        ("anthropic.claude-v2:1", Family.OLDER),
        ("claude-opus-4-1@20250805", Family.OLDER),
        ("anthropic/claude-3.7-sonnet", Family.OLDER),
        ("claude-instant-1.2", Family.OLDER),
        ("claude-opus-4-8", Family.NEWER),
        ("claude-sonnet-5", Family.NEWER),
        ("anthropic/claude-opus-5.1", Family.NEWER),
        ("claude-opus-latest", Family.NEWER),
        ("llama3", Family.NEWER),
        ("", Family.NEWER),
        (None, Family.NEWER),
    ],
)
def test_a_models_name_chooses_the_tokenizer_family(model: str | None, family: Family) -> None:
    assert family_of(model) is family


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
    assert with_prompt == estimate_tokens(messages, tools=[TOOL], model="qwen3") + TOOL_PROMPT_TOKENS
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


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = ["text", "image", "document", "tool_use", "tool_result", "thinking", "other"]
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "text": st.text(max_size=30),
        "content": json_values,
        "source": json_values,
        "input": json_values,
    },
)


@given(st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": st.text() | st.lists(blocks, max_size=4)})))
def test_any_message_is_counted_and_each_adds_to_the_sum(messages: list[dict[str, Any]]) -> None:
    total = estimate_tokens(messages)
    parts = sum(message_tokens(message, family=Family.NEWER) for message in messages)
    assert parts <= total < parts + 1


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(Family))
def test_a_longer_text_never_takes_fewer_tokens(text: str, more: str, family: Family) -> None:
    longer = text_tokens(f"{text}\n{more}", family=family)
    assert longer >= text_tokens(text, family=family) >= 0


def test_lone_surrogates_and_text_without_spaces_are_counted() -> None:
    assert text_tokens("\ud83d\udc00", family=Family.NEWER) > 0
    assert text_tokens("x" * 8_000, family=Family.OLDER) > 1_000


def test_random_ids_take_about_a_token_for_every_character_and_a_third() -> None:
    ids = base64.b64encode(bytes(range(256)) * 3).decode()
    for family in Family:
        assert 0.5 < text_tokens(ids, family=family) / len(ids) < 1.0


def test_a_megabyte_is_estimated_in_well_under_a_second() -> None:
    text = "The quick brown fox jumps over 13 lazy dogs.\n" * 25_000
    began = time.perf_counter()
    text_tokens(text, family=Family.NEWER)
    assert time.perf_counter() - began < 0.5
