"""One small export of each form that is known, as its program writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

AT = 1_700_000_000.0


def chatgpt(title: str = "Trip to Lisbon", name: str = "c0ffee", more: int = 0) -> list[dict[str, Any]]:
    """A conversation with whatever ChatGPT writes. ``more``: exchanges that came later."""
    made = [
        _node("system", "system", _text(""), metadata={"is_visually_hidden_from_conversation": True}),
        _node("about", "user", {"content_type": "user_editable_context", "user_profile": "I am Ada."}),
        _node("asked", "user", _image("What is on this picture?"), metadata={"attachments": [{"name": "tram.png"}]}),
        _node("thought", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "It is a tram."}]}),
        _node("code", "assistant", {"content_type": "code", "text": "print(6 * 7)"}, recipient="python"),
        _node("ran", "tool", {"content_type": "execution_output", "text": "42"}, tool="python"),
        _node("answered", "assistant", _text("A tram of line 28.\ue200cite\ue202turn0search1\ue201 It costs 3.10 €.")),
        _node("canvas", "assistant", _text(json.dumps(_CANVAS)), recipient="canmore.create_textdoc"),
        _node("made", "tool", _text("Successfully created text document."), tool="canmore.create_textdoc"),
    ]
    for number in range(more):
        made.append(_node(f"later {number}", "user", _text(f"And what about castle {number}?")))
        made.append(_node(f"castle {number}", "assistant", _text(f"Castle {number} opens at nine.")))
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    for at, message in enumerate(made):
        message["create_time"] = AT + at
        mapping[message["id"]] = {"id": message["id"], "message": message, "parent": parent, "children": []}
        mapping[parent]["children"].append(message["id"])
        parent = message["id"]
    other = _node("dropped", "assistant", _text("An answer that was thrown away."))
    mapping["dropped"] = {"id": "dropped", "message": other, "parent": "asked", "children": []}
    mapping["asked"]["children"].append("dropped")
    head = {"title": title, "create_time": AT, "update_time": AT + len(made), "conversation_id": name}
    return [{**head, "mapping": mapping, "current_node": parent}]


_CANVAS = {"name": "Packing list", "type": "document", "content": "- passport\n- sunglasses"}


def _node(name: str, role: str, content: dict[str, Any], **more: Any) -> dict[str, Any]:
    author: dict[str, Any] = {"role": role, "name": more.get("tool"), "metadata": {}}
    rest = {"metadata": more.get("metadata", {}), "recipient": more.get("recipient", "all")}
    return {"id": name, "author": author, "content": content, "weight": 1.0, **rest}


def _text(text: str) -> dict[str, Any]:
    return {"content_type": "text", "parts": [text]}


def _image(text: str) -> dict[str, Any]:
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_0123", "size_bytes": 7}
    return {"content_type": "multimodal_text", "parts": [pointer, text]}


def claude() -> list[dict[str, Any]]:
    """A conversation with an attachment, a tool, an artifact and an edited message."""
    artifact = {"command": "create", "title": "Plan", "content": "Day 1: Alfama", "type": "text/markdown"}
    result = {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "Open from nine."}]}
    return [
        {
            "uuid": "facade",
            "name": "Castles",
            "created_at": "2024-05-01T10:00:00.000000Z",
            "updated_at": "2024-05-01T10:05:00.000000Z",
            "chat_messages": [
                _said(
                    "m1", "human", "When does it open?", None, attachments=[_PASTE], files=[{"file_name": "map.pdf"}]
                ),
                _said("m2", "assistant", "An answer to what was edited.", "m1"),
                _said(
                    "m3",
                    "assistant",
                    "At nine.",
                    "m1",
                    blocks=[
                        {"type": "thinking", "thinking": "I look it up."},
                        {"type": "tool_use", "name": "web_search", "input": {"query": "castle hours"}},
                        result,
                        {"type": "tool_use", "name": "artifacts", "input": artifact},
                    ],
                ),
            ],
        }
    ]


_MAP = {"file_name": "map.pdf"}
_PASTE = {"file_name": "notes.txt", "file_size": 20, "file_type": "txt", "extracted_content": "The moat is dry."}


def _said(name: str, sender: str, text: str, parent: str | None, **more: Any) -> dict[str, Any]:
    blocks = [*more.pop("blocks", []), {"type": "text", "text": text}]
    at = {"created_at": "2024-05-01T10:00:00.000000Z", "updated_at": "2024-05-01T10:00:00.000000Z"}
    head = {"uuid": name, "sender": sender, "text": "", "content": blocks, "parent_message_uuid": parent, **at}
    return {"attachments": [], "files": [], **head, **more}


def claude_projects() -> list[dict[str, Any]]:
    """A project with a document."""
    doc = {"uuid": "d1", "filename": "rules.md", "content": "Nobody feeds the peacocks."}
    return [{"uuid": "p1", "name": "Garden", "prompt_template": "You know all birds.", "docs": [doc]}]


def telegram_group() -> dict[str, Any]:
    """A group with entities, an answer, files, and what Telegram itself says."""
    link = {"type": "text_link", "text": "the site", "href": "https://example.org"}
    return {
        "name": "Hikers",
        "type": "private_supergroup",
        "id": 4711,
        "messages": [
            {
                **_head(1, "service"),
                "actor": "Ada",
                "actor_id": "user7",
                "action": "invite_members",
                "members": ["Bob"],
            },
            {**_sent(2, "Ada", 7), "text": ["Look at ", link, "!"]},
            {**_sent(3, "Bob", 8), "text": "It rains on Sunday.", "reply_to_message_id": 2},
            {**_sent(4, "Bob", 8), "text": "", "photo": "photos/photo_1.jpg", "width": 1, "height": 1},
            {**_sent(5, "Ada", 7), "text": "", "file": "(File not included.)", "media_type": "voice_message"},
            {**_sent(6, "Ada", 7), "text": "", "forwarded_from": None, "file": "files/map.pdf", "file_name": "map.pdf"},
            {**_head(7, "unsupported")},
        ],
    }


def telegram_bot() -> dict[str, Any]:
    """A chat with a bot."""
    return {
        "name": "Weather",
        "type": "bot_chat",
        "id": 99,
        "messages": [
            {**_sent(1, "Ada", 7), "text": "Will it rain?"},
            {**_sent(2, "Weather", 99), "text": "Not before Monday."},
        ],
    }


def telegram_account() -> dict[str, Any]:
    """All chats of an account."""
    return {
        "about": "Here is the data you requested.",
        "personal_information": {"user_id": 7, "first_name": "Ada"},
        "chats": {"about": "…", "list": [telegram_bot(), telegram_group()]},
        "left_chats": {"about": "…", "list": [{**telegram_group(), "id": 4712, "name": "Old hikers"}]},
    }


def _head(number: int, kind: str) -> dict[str, Any]:
    return {"id": number, "type": kind, "date": "2024-05-01T10:00:00", "date_unixtime": str(int(AT) + number)}


def _sent(number: int, name: str, person: int) -> dict[str, Any]:
    return {**_head(number, "message"), "from": name, "from_id": f"user{person}", "text_entities": []}


def openclaw() -> list[dict[str, Any]]:
    """A session with a tool, a compaction and a branch that was left."""
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "todo.md"}}
    thinking = {"type": "thinking", "thinking": "I read it."}
    result = {
        "role": "toolResult",
        "toolCallId": "t1",
        "toolName": "read",
        "content": [{"type": "text", "text": "milk"}],
    }
    return [
        {"type": "session", "version": 3, "id": "5e55", "timestamp": "2026-02-06T07:49:00.000Z", "cwd": "/home/ada"},
        {"type": "model_change", "id": "a0", "parentId": None, "provider": "anthropic", "modelId": "m"},
        _entry("a1", "a0", {"role": "user", "content": "What is on my list?"}),
        _entry("a2", "a1", {"role": "assistant", "content": [thinking, call]}),
        _entry("a3", "a2", result),
        _entry("b4", "a3", {"role": "assistant", "content": [{"type": "text", "text": "A branch that was left."}]}),
        _entry("a4", "a3", {"role": "assistant", "content": [{"type": "text", "text": "Milk."}]}),
        {"type": "compaction", "id": "a5", "parentId": "a4", "summary": "Ada buys milk.", "firstKeptEntryId": "a4"},
    ]


def _entry(name: str, parent: str, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message",
        "id": name,
        "parentId": parent,
        "timestamp": "2026-02-06T07:49:03.000Z",
        "message": message,
    }


def hermes_messages() -> list[dict[str, Any]]:
    """Messages in the form of Chat Completions."""
    call = {"id": "t1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "date"}'}}
    return [
        {"role": "session_meta", "tools": [], "model": "m", "platform": "slack", "timestamp": "2026-04-18T19:26:00"},
        {"role": "user", "content": "Which day is it?", "timestamp": "2026-04-18T19:26:05"},
        {"role": "assistant", "content": "", "tool_calls": [call], "timestamp": "2026-04-18T19:26:06"},
        {"role": "tool", "content": "Saturday", "tool_call_id": "t1", "timestamp": "2026-04-18T19:26:07"},
        {"role": "assistant", "content": "It is Saturday.", "timestamp": "2026-04-18T19:26:08"},
    ]


def hermes_exported() -> list[dict[str, Any]]:
    """As `hermes sessions export` writes a session."""
    messages = [{**one, "id": number, "active": 1} for number, one in enumerate(hermes_messages()[1:], start=1)]
    undone = {"id": 9, "role": "user", "content": "This was taken back.", "active": 0}
    head = {"id": "20260418_192600_a1b2c3", "source": "cli", "title": "The day", "started_at": AT}
    return [{**head, "messages": [*messages, undone]}]


def put_json(path: Path, value: object) -> Path:
    """As JSON."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def put_lines(path: Path, values: list[dict[str, Any]]) -> Path:
    """As JSON Lines."""
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
    return path


def put_zip(path: Path, parts: Mapping[str, object]) -> Path:
    """As JSON in an archive."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, value in parts.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return path
