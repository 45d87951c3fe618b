"""Whose export something is, and what is read from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.app.archive.foreign import BadExport, ForeignMessage, FormatName, reader_of, source_at
from bot.history import EntryKind
from tests.exports import shapes


def _read(path: Path, form: FormatName | None = None) -> list[tuple[str, str, list[ForeignMessage]]]:
    """Format, title and messages of each conversation."""
    with source_at(path) as source:
        reader, parts = reader_of(source, form)
        for part in parts:
            part.check()
        return [(reader.name, talk.title, [*messages]) for talk, messages in reader.read(parts)]


def _said(messages: Sequence[ForeignMessage]) -> list[tuple[EntryKind, str]]:
    return [(piece.kind, piece.text) for message in messages for piece in message.pieces]


CHATGPT = [
    (EntryKind.SAID, "[image: file_0123]\nWhat is on this picture?\n[file: tram.png]"),
    (EntryKind.REPLY, "[Called the tool python:\nprint(6 * 7)]"),
    (EntryKind.RESULT, "[The tool python returned:]\n> 42"),
    (EntryKind.REPLY, "A tram of line 28. It costs 3.10 €."),
    (EntryKind.REPLY, "[Canvas: Packing list]\n- passport\n- sunglasses"),
    (EntryKind.RESULT, "[The tool canmore.create_textdoc returned:]\n> Successfully created text document."),
]


def test_of_chatgpt_the_branch_is_read_that_people_see(tmp_path: Path) -> None:
    path = shapes.put_json(tmp_path / "conversations.json", shapes.chatgpt())
    [(form, title, messages)] = _read(path)
    assert (form, title) == ("chatgpt", "Trip to Lisbon")
    assert _said(messages) == CHATGPT
    assert messages[0].at == shapes.AT + 2


def test_the_zip_the_numbered_files_and_a_wrapped_array_are_the_same_export(tmp_path: Path) -> None:
    talks = shapes.chatgpt(), shapes.chatgpt("Second", "beef")
    whole = shapes.put_zip(
        tmp_path / "export.zip", {"user.json": {}, "chat.html": "<html>", "conversations.json": talks[0]}
    )
    named = {f"a/conversations-{at:03}.json": talk for at, talk in enumerate(talks)}
    numbered = shapes.put_zip(tmp_path / "numbered.zip", {**named, "a/shared_conversations.json": []})
    wrapped = shapes.put_json(tmp_path / "wrapped.json", {"conversations": talks[0]})
    assert [title for _, title, _ in _read(whole)] == ["Trip to Lisbon"]
    assert [title for _, title, _ in _read(numbered)] == ["Trip to Lisbon", "Second"]
    assert _said(_read(wrapped)[0][2]) == CHATGPT


def test_of_claude_attachments_are_files_and_tools_are_text(tmp_path: Path) -> None:
    parts = {"conversations.json": shapes.claude(), "projects.json": shapes.claude_projects(), "users.json": []}
    talk, project = _read(shapes.put_zip(tmp_path / "data.zip", parts))
    assert talk[:2] == ("claude", "Castles")
    assert _said(talk[2]) == [
        (EntryKind.SAID, "When does it open?\n[file: map.pdf]"),
        (EntryKind.FILE, "[File: notes.txt, 16 characters]\nThe moat is dry.\n[End of notes.txt]"),
        (EntryKind.REPLY, "[Called the tool web_search:\nquery: castle hours]"),
        (EntryKind.RESULT, "[The tool web_search returned:]\n> Open from nine."),
        (EntryKind.REPLY, "[Artifact: Plan]\nDay 1: Alfama"),
        (EntryKind.REPLY, "At nine."),
    ]
    assert project[1] == "Project Garden"
    assert [kind for kind, _ in _said(project[2])] == [EntryKind.SAID, EntryKind.FILE]


def test_of_a_telegram_group_everybody_is_named(tmp_path: Path) -> None:
    [(form, title, messages)] = _read(shapes.put_json(tmp_path / "result.json", shapes.telegram_group()))
    assert (form, title) == ("telegram", "Hikers")
    assert _said(messages) == [
        (EntryKind.NOTE, "[Ada: invite members: Bob]"),
        (EntryKind.SAID, "Look at the site (https://example.org)!"),
        (EntryKind.SAID, "It rains on Sunday."),
        (EntryKind.SAID, "[photo: photo_1.jpg]"),
        (EntryKind.SAID, "[voice message]"),
        (EntryKind.SAID, "[Forwarded from a deleted account]\n[file: map.pdf]"),
    ]
    assert [(one.speaker, one.person, one.answers) for one in messages[1:3]] == [("Ada", "7", ""), ("Bob", "8", "2")]


def test_of_an_account_all_chats_are_read_and_a_bot_is_the_assistant(tmp_path: Path) -> None:
    found = _read(shapes.put_json(tmp_path / "result.json", shapes.telegram_account()))
    assert [(title, len(messages)) for _, title, messages in found] == [
        ("Weather", 2),
        ("Hikers", 6),
        ("Old hikers", 6),
    ]
    assert _said(found[0][2]) == [(EntryKind.SAID, "Will it rain?"), (EntryKind.REPLY, "Not before Monday.")]
    assert found[0][2][0].speaker == ""


def test_a_control_character_as_telegram_writes_it_is_no_error(tmp_path: Path) -> None:
    path = shapes.put_json(tmp_path / "result.json", shapes.telegram_bot())
    text = path.read_text().replace("Will it rain?", "Will\\x0B it \\\\x41 rain?")
    for padding in range(8):  # also where the escape lies at the end of what is read at once
        path.write_text("{" + " " * (65_536 - text.index("\\x0B") - 4 + padding) + text[1:])
        assert _said(_read(path)[0][2])[0] == (EntryKind.SAID, "Will\x0b it \\x41 rain?")


def test_of_openclaw_the_branch_of_the_last_entry_is_read(tmp_path: Path) -> None:
    shapes.put_lines(tmp_path / "5e55.jsonl", shapes.openclaw())
    shapes.put_lines(tmp_path / "5e55.checkpoint.1.jsonl", shapes.openclaw())
    shapes.put_json(tmp_path / "sessions.json", {"agent:main:main": {"sessionId": "5e55", "displayName": "Shopping"}})
    [(form, title, messages)] = _read(tmp_path)
    assert (form, title) == ("openclaw", "Shopping")
    assert _said(messages) == [
        (EntryKind.SAID, "What is on my list?"),
        (EntryKind.REPLY, "[Called the tool read:\npath: todo.md]"),
        (EntryKind.RESULT, "[The tool read returned:]\n> milk"),
        (EntryKind.REPLY, "Milk."),
        (EntryKind.NOTE, "[A summary that OpenClaw wrote here:]\nAda buys milk."),
    ]


HERMES = [
    (EntryKind.SAID, "Which day is it?"),
    (EntryKind.REPLY, "[Called the tool terminal:\ncommand: date]"),
    (EntryKind.RESULT, "[The tool terminal returned:]\n> Saturday"),
    (EntryKind.REPLY, "It is Saturday."),
]


def test_hermes_writes_its_sessions_in_three_forms(tmp_path: Path) -> None:
    whole = {
        "session_id": "s1",
        "model": "m",
        "session_start": "2026-04-18T19:26:00",
        "messages": shapes.hermes_messages(),
    }
    found = [
        *_read(shapes.put_lines(tmp_path / "20260418_a1.jsonl", shapes.hermes_messages())),
        *_read(shapes.put_lines(tmp_path / "sessions.jsonl", shapes.hermes_exported())),
        *_read(shapes.put_json(tmp_path / "session_s1.json", whole)),
    ]
    assert [form for form, _, _ in found] == ["hermes"] * 3
    assert [title for _, title, _ in found] == ["Hermes 20260418_a1", "The day", "Hermes s1"]
    assert [_said(messages) for _, _, messages in found] == [HERMES] * 3


def test_a_message_has_the_same_name_in_a_longer_export(tmp_path: Path) -> None:
    short = _read(shapes.put_lines(tmp_path / "a.jsonl", shapes.hermes_messages()[:3]))[0][2]
    longer = _read(shapes.put_lines(tmp_path / "a.jsonl", shapes.hermes_messages()))[0][2]
    assert [one.id for one in longer][: len(short)] == [one.id for one in short]


REFUSED = {
    "truncated": (json.dumps(shapes.chatgpt())[:-200], "breaks off in the middle"),
    "html of Telegram": ("<!DOCTYPE html><title>Exported Data</title> Telegram", "Machine-readable JSON"),
    "html": ("<html></html>", "is HTML"),
    "another list": ('[{"name": "x"}]', "is no export that is known"),
    "no JSON": ("hello", "is no export that is known"),
    "broken line": ('{"type": "session", "id": "1"}\n{"type": "mess', "Line 2"),
    "nothing": ("", "is no export that is known"),
}


@pytest.mark.parametrize(("content", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_none_is_refused_with_what_to_do(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(BadExport, match=told):
        _read(path)


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(shapes.chatgpt(), ensure_ascii=False), encoding="utf-16")
    with pytest.raises(BadExport, match="UTF-16"):
        _read(path)
    path.write_bytes(json.dumps(shapes.chatgpt("Café"), ensure_ascii=False).encode("latin-1", "replace"))
    with pytest.raises(BadExport, match="not UTF-8"):
        _read(path)
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(shapes.chatgpt()).encode())
    assert len(_read(path)) == 1


def test_an_archive_or_a_folder_without_any_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadExport, match=r"holds no conversations\.json"):
        _read(shapes.put_zip(tmp_path / "some.zip", {"user.json": {}}))
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(BadExport, match="no whole zip archive"):
        _read(tmp_path / "broken.zip")
    (tmp_path / "chats").mkdir()
    (tmp_path / "chats" / "messages.html").write_text("<html>")
    with pytest.raises(BadExport, match="Machine-readable JSON"):
        _read(tmp_path / "chats")
    with pytest.raises(BadExport, match="cannot be read"):
        _read(tmp_path / "nowhere.json")
    (tmp_path / "state.db").write_bytes(b"SQLite format 3\x00" + bytes(100))
    with pytest.raises(BadExport, match="hermes sessions export"):
        _read(tmp_path / "state.db")


def test_a_format_can_be_named(tmp_path: Path) -> None:
    path = shapes.put_lines(tmp_path / "any.txt", shapes.hermes_messages())
    assert _read(path, "hermes")[0][0] == "hermes"
    with pytest.raises(BadExport, match="holds nothing that ChatGPT exports"):
        _read(tmp_path, "chatgpt")
