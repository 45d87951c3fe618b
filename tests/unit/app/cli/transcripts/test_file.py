"""Transcripts in files: three forms, and what is said of files that are none."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.app.cli.transcripts.file import Transcript, TranscriptError, parsed, read_transcript, write_text

MESSAGES: list[Any] = [
    {"role": "user", "content": "Привет 你好 🙂 \u2028 line"},
    {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "uuid": 7},
]
OBJECT = {
    "model": "claude-3-5-sonnet",
    "system": "Be brief.",
    "messages": MESSAGES,
    "tools": [{"name": "t"}],
    "max_tokens": 9,
}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (json.dumps(MESSAGES), "list"),
        (json.dumps(MESSAGES, indent=2, ensure_ascii=False), "list"),
        (json.dumps(OBJECT, indent=2), "object"),
        ("\n".join(json.dumps(message, ensure_ascii=False) for message in MESSAGES), "jsonl"),
        ("\r\n\r\n".join(json.dumps(message) for message in MESSAGES) + "\r\n\n", "jsonl"),
    ],
)
def test_every_form_is_read_and_written_as_it_was(text: str, form: str) -> None:
    transcript = parsed(text, "it")
    assert (transcript.messages, transcript.form) == (MESSAGES, form)
    again = transcript.written(transcript.messages)
    assert parsed(again, "it") == transcript
    assert "你好" in again
    assert again.endswith("\n")


def test_the_keys_of_an_object_are_kept_in_their_order_and_used() -> None:
    transcript = parsed(json.dumps(OBJECT), "it")
    assert (transcript.system, transcript.tools) == ("Be brief.", [{"name": "t"}])
    assert transcript.model == "claude-3-5-sonnet"
    written = json.loads(transcript.written(MESSAGES[:1]))
    assert list(written) == list(OBJECT)
    assert written == {**OBJECT, "messages": MESSAGES[:1]}


def test_jsonl_has_a_line_for_each_message() -> None:
    text = Transcript(MESSAGES, "jsonl").written(MESSAGES)
    assert [json.loads(line) for line in text.split("\n") if line] == MESSAGES


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_file_is_a_transcript_without_messages(text: str) -> None:
    assert parsed(text, "it").messages == []
    assert parsed(text, "it").written([]) == ""


def test_one_line_with_one_message_is_jsonl() -> None:
    assert parsed(json.dumps(MESSAGES[0]), "it") == Transcript(MESSAGES[:1], "jsonl")


def test_an_object_without_system_and_tools_has_none() -> None:
    transcript = parsed('{"messages": [], "tools": null, "model": 3}', "it")
    assert (transcript.system, transcript.tools, transcript.model) == (None, [], None)


def test_half_of_a_surrogate_pair_comes_through() -> None:
    transcript = parsed('[{"role": "user", "content": "a\\ud83db"}]', "it")
    again = transcript.written(transcript.messages)
    assert again.encode()
    assert parsed(again, "it") == transcript


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[\n{"role": "user",}\n]', r"it is broken JSON: .* \(line 2, column \d+\)\."),
        ('{"role": "user", "content": "a"}\n\n{"role": ', r"it is broken JSON in line 3: .* \(column \d+\)\."),
        ('{"role": "user", "content": "a"}\nNaN', r"it is broken JSON in line 2: NaN is no number in JSON\."),
        ("hello there", r"it is broken JSON: .*line 1, column 1"),
        ("[" * 200_000, r"it is broken JSON: it is nested too deeply\."),
        ("[" + "9" * 5_000 + "]", r"it is broken JSON: "),
        ("7", "it is no transcript: that is a JSON list of messages, an object with messages, or a"),
        ('{"a": 1}', "it is no transcript"),
        ('{"messages": {}}', "its messages are not a list"),
        ('{"messages": [], "system": 7}', "its system prompt is neither a text nor a list of blocks"),
        ('{"messages": [], "system": ["a"]}', "its system prompt is neither"),
        ('{"messages": [], "tools": ["a"]}', "its tools are not a list of definitions"),
    ],
)  # fmt: skip
def test_what_is_no_transcript_says_where_and_why(text: str, sentence: str) -> None:
    with pytest.raises(TranscriptError, match=sentence) as caught:
        parsed(text, "it")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    there = tmp_path / "t.json"
    with pytest.raises(TranscriptError, match=r"t\.json cannot be read: No such file or directory\."):
        read_transcript(str(there))
    there.write_bytes(b'["\xff"]')
    with pytest.raises(TranscriptError, match=r"t\.json is not UTF-8 \(byte 3\)\."):
        read_transcript(str(there))
    with pytest.raises(TranscriptError, match="cannot be read: Is a directory"):
        read_transcript(str(tmp_path))
    with pytest.raises(TranscriptError, match="cannot be read: embedded null byte"):
        read_transcript("a\0b")
    with pytest.raises(TranscriptError, match=r"no/t\.json cannot be written: No such file or directory\."):
        write_text(str(tmp_path / "no" / "t.json"), "")


def test_a_byte_order_mark_is_no_part_of_the_transcript(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b"\xef\xbb\xbf[]")
    assert read_transcript(str(tmp_path / "t.json")) == Transcript([])


def test_a_hyphen_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(MESSAGES).encode())))
    assert read_transcript("-").messages == MESSAGES
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"[")))
    with pytest.raises(TranscriptError, match="Standard input is broken JSON"):
        read_transcript("-")
