"""Claude's export: `conversations.json`, an array of conversations with `chat_messages`, and `projects.json`.

Of a text that a person attached the export has the text (`extracted_content`), of other files the name. What the model
thought is left out. Where a message was edited there are two with one parent; the branch of the last message is read.
The format is not documented; fields are as they were observed from 2024 to 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bot.app.archive.foreign.conversation import (
    ForeignConversation,
    ForeignMessage,
    FormatName,
    Piece,
    Read,
    attached,
    called,
    items,
    mapping,
    returned,
    seconds,
    text_of,
)
from bot.app.archive.foreign.files import Part
from bot.history import EntryKind
from bot.history.file_headers import with_text

_CONVERSATIONS, _PROJECTS = "conversations.json", "projects.json"
_ARTIFACT = "artifacts"


class Claude:
    """See :class:`bot.app.archive.foreign.conversation.Reader`."""

    name: FormatName = "claude"
    program = "Claude"

    def parts(self, found: Sequence[Part]) -> Sequence[Part]:
        """The conversations, then the projects."""
        talks = [part for part in found if part.base == _CONVERSATIONS]
        projects = [part for part in found if part.base == _PROJECTS or "projects/" in f"{part.name[:-1]}"]
        return [*talks[:1], *(part for part in projects if part.base.endswith(".json"))] if talks else []

    def read(self, parts: Sequence[Part]) -> Read:
        """Conversation by conversation; a project with documents is one, too."""
        for part in parts:
            for found in part.objects_with("chat_messages"):
                if isinstance(found.get("chat_messages"), list):
                    yield _conversation(found), _messages(found)
            for found in part.objects_with("docs"):
                if found.get("docs") or found.get("prompt_template"):
                    yield _project(found), _documents(found)


def _conversation(found: dict[str, Any]) -> ForeignConversation:
    at = seconds(found.get("updated_at")) or seconds(found.get("created_at"))
    return ForeignConversation("claude", text_of(found.get("uuid")), text_of(found.get("name")), at)


def _messages(found: dict[str, Any]) -> Iterator[ForeignMessage]:
    for at, message in enumerate(_branch([one for one in found["chat_messages"] if isinstance(one, dict)])):
        pieces = [piece for piece in _pieces(message) if piece.text.strip()]
        if pieces:
            yield ForeignMessage(text_of(message.get("uuid")) or str(at), seconds(message.get("created_at")), pieces)


def _branch(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All of them, or where they branch what leads to the last one."""
    parents = [message.get("parent_message_uuid") for message in messages]
    if len({parent for parent in parents if parent}) == sum(map(bool, parents)):
        return messages
    named = {message.get("uuid"): message for message in messages}
    branch: list[dict[str, Any]] = []
    at: dict[str, Any] | None = messages[-1]
    while at is not None and len(branch) < len(messages):
        branch.append(at)
        at = named.get(at.get("parent_message_uuid"))
    return branch[::-1]


def _pieces(message: dict[str, Any]) -> Iterator[Piece]:
    blocks = [mapping(block) for block in items(message.get("content"))]
    if message.get("sender") == "human":
        text = "\n\n".join(_said(blocks)) or text_of(message.get("text"))
        yield Piece(EntryKind.SAID, "\n".join(filter(None, [text, *_names(message)])))
        for one in map(mapping, items(message.get("attachments"))):
            if content := text_of(one.get("extracted_content")).strip():
                yield Piece(EntryKind.FILE, with_text(_name(one) or "paste.txt", len(content), content))
        return
    if not blocks:
        yield Piece(EntryKind.REPLY, text_of(message.get("text")))
    for kind, text in _answered(blocks):
        yield Piece(kind, text)


def _said(blocks: Sequence[dict[str, Any]]) -> list[str]:
    texts = (text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    return [text for text in texts if text.strip()]


def _answered(blocks: Sequence[dict[str, Any]]) -> Iterator[tuple[EntryKind, str]]:
    for block in blocks:
        kind, tool = block.get("type"), text_of(block.get("name"))
        if kind == "text":
            yield EntryKind.REPLY, text_of(block.get("text"))
        elif kind == "tool_use":
            yield EntryKind.REPLY, _called(tool, mapping(block.get("input")))
        elif kind == "tool_result" and (text := _result(block.get("content"))):
            yield EntryKind.RESULT, returned(tool, text)


def _called(tool: str, given: dict[str, Any]) -> str:
    if tool == _ARTIFACT and (content := text_of(given.get("content"))):
        return f"[Artifact: {text_of(given.get('title')) or text_of(given.get('id')) or 'without a name'}]\n{content}"
    return called(tool, given)


def _result(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = [mapping(block) for block in items(content)]
    texts = (text_of(block.get("text")) or text_of(block.get("title")) for block in blocks)
    return "\n".join(filter(None, texts)).strip()


def _names(message: dict[str, Any]) -> list[str]:
    """Of the files whose text is not there."""
    files = [one for one in map(mapping, items(message.get("attachments"))) if not one.get("extracted_content")]
    named = [_name(one) for one in (*files, *map(mapping, items(message.get("files"))))]
    return [attached(name) for name in dict.fromkeys(named)]


def _name(one: dict[str, Any]) -> str:
    return text_of(one.get("file_name")) or text_of(one.get("file_uuid"))


def _project(found: dict[str, Any]) -> ForeignConversation:
    at = seconds(found.get("updated_at")) or seconds(found.get("created_at"))
    title = f"Project {text_of(found.get('name'))}".strip()
    return ForeignConversation("claude", f"project:{text_of(found.get('uuid'))}", title, at)


def _documents(found: dict[str, Any]) -> Iterator[ForeignMessage]:
    began = seconds(found.get("created_at"))
    for name in ("description", "prompt_template"):
        if text := text_of(found.get(name)).strip():
            yield ForeignMessage(name, began, [Piece(EntryKind.SAID, text)])
    for at, one in enumerate(map(mapping, items(found.get("docs")))):
        if content := text_of(one.get("content")).strip():
            shown = with_text(text_of(one.get("filename")) or "document", len(content), content)
            at_time = seconds(one.get("created_at")) or began
            yield ForeignMessage(text_of(one.get("uuid")) or f"doc {at}", at_time, [Piece(EntryKind.FILE, shown)])
