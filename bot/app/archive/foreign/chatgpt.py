"""ChatGPT's export: `conversations.json`, or numbered ones in newer exports, each an array of conversations.

A conversation is a tree of messages (`mapping`), since people edit and ask again; `current_node` is the end of the
branch that they see, which is the one that is read. Messages that they do not see (system prompts, what the model
thought, what is marked as hidden) are left out. The format is not documented; fields are as they were observed from
2023 to 2026, and what is not known is left out.
"""

from __future__ import annotations

import json
import re
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

_WHOLE = "conversations.json"
_NUMBERED = re.compile(r"conversations-\d+\.json")
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201")
"""A mark in a text that its page shows as a link; what it names is not in the export."""
_THOUGHT = frozenset({"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"})
_TO_PEOPLE = frozenset({"", "all"})
_TEXTS = ("title", "url", "text", "result", "content")
"""Where contents of a kind of their own hold what is to be read."""
_NEW_CANVAS = "canmore.create_textdoc"
_POINTERS = {"image_asset_pointer": "image", "audio_asset_pointer": "audio", "video_container_asset_pointer": "video"}


class ChatGPT:
    """See :class:`bot.app.archive.foreign.conversation.Reader`."""

    name: FormatName = "chatgpt"
    program = "ChatGPT"

    def parts(self, found: Sequence[Part]) -> Sequence[Part]:
        """One file of all, or else those that have numbers."""
        whole = [part for part in found if part.base == _WHOLE]
        return whole[:1] or [part for part in found if _NUMBERED.fullmatch(part.base)]

    def read(self, parts: Sequence[Part]) -> Read:
        """Conversation by conversation."""
        for part in parts:
            for found in part.objects_with("mapping"):
                if isinstance(found.get("mapping"), dict):
                    yield _conversation(found), _messages(found)


def _conversation(found: dict[str, Any]) -> ForeignConversation:
    name = text_of(found.get("conversation_id")) or text_of(found.get("id"))
    at = seconds(found.get("update_time")) or seconds(found.get("create_time"))
    return ForeignConversation("chatgpt", name or text_of(found.get("current_node")), text_of(found.get("title")), at)


def _messages(found: dict[str, Any]) -> Iterator[ForeignMessage]:
    for node_id, message in _branch(found):
        pieces = [piece for piece in _pieces(message) if piece.text.strip()]
        if pieces:
            yield ForeignMessage(text_of(message.get("id")) or node_id, seconds(message.get("create_time")), pieces)


def _branch(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """From the first message to the one that people see last."""
    nodes = found["mapping"]
    at: Any = found.get("current_node")
    if at not in nodes:
        at = _newest(nodes)
    branch: list[tuple[str, dict[str, Any]]] = []
    seen: set[str] = set()
    while isinstance(at, str) and at in nodes and at not in seen:
        seen.add(at)
        node = mapping(nodes[at])
        if message := mapping(node.get("message")):
            branch.append((at, message))
        at = node.get("parent")
    return branch[::-1]


def _newest(nodes: dict[str, Any]) -> str | None:
    """The node at an end that was written last."""
    ends = [name for name, node in nodes.items() if not items(mapping(node).get("children"))]
    return max(ends, key=lambda name: _time_of(nodes[name]), default=None)


def _time_of(node: Any) -> float:
    return seconds(mapping(mapping(node).get("message")).get("create_time")) or 0.0


def _pieces(message: dict[str, Any]) -> Iterator[Piece]:
    metadata, content = mapping(message.get("metadata")), mapping(message.get("content"))
    author = mapping(message.get("author"))
    role, kind = author.get("role"), content.get("content_type")
    if metadata.get("is_visually_hidden_from_conversation") or kind in _THOUGHT or role == "system":
        return
    text = _CITATION.sub("", _text(content)).strip()
    if role == "user":
        yield Piece(EntryKind.SAID, "\n".join(filter(None, [text, *_attachments(metadata)])))
    elif role == "tool":
        if text:
            yield Piece(EntryKind.RESULT, returned(text_of(author.get("name")), text))
    elif role == "assistant":
        recipient = text_of(message.get("recipient"))
        is_answer = recipient in _TO_PEOPLE and kind != "code"
        yield Piece(EntryKind.REPLY, text if is_answer else _called(recipient or "code", text))


def _called(tool: str, given: str) -> str:
    try:
        arguments = json.loads(given) if given.startswith("{") else given
    except (ValueError, RecursionError):
        arguments = given
    if tool == _NEW_CANVAS and isinstance(arguments, dict) and isinstance(arguments.get("content"), str):
        return f"[Canvas: {text_of(arguments.get('name')) or 'without a name'}]\n{arguments['content']}"
    return called(tool, arguments) if given else ""


def _text(content: dict[str, Any]) -> str:
    """Whatever of a content is to be read."""
    pieces = [_part(part) for part in items(content.get("parts"))]
    pieces += [text_of(content.get(name)) for name in _TEXTS]
    return "\n".join(piece for piece in pieces if piece.strip())


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    part = mapping(part)
    kind = text_of(part.get("content_type"))
    if what := _POINTERS.get(kind):
        name = text_of(part.get("asset_pointer")).rpartition("/")[2]
        prompt = text_of(mapping(mapping(part.get("metadata")).get("dalle")).get("prompt"))
        return "\n".join(filter(None, [attached(name, what), prompt]))
    return text_of(part.get("text"))


def _attachments(metadata: dict[str, Any]) -> list[str]:
    return [attached(text_of(mapping(one).get("name"))) for one in items(metadata.get("attachments"))]
