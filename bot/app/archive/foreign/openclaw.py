"""OpenClaw's session files: JSON Lines, the first of them a header, below it a tree of entries (`id`, `parentId`).

Messages are of a person, of the model, or a result of a tool; what the model thought, settings and the program's own
records are left out. The branch that ends with the last entry is the one that is read. `sessions.json` beside the files
says what people call the sessions. The form is that of the program's documentation ("Session management deep dive").
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
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

_SESSION = re.compile(r"[^/]+\.jsonl(?:\.reset\.[^/]*)?")
_COPY = ".checkpoint."
_INDEX = "sessions.json"
_NAMES = ("displayName", "subject", "label", "room", "space")
_SUMMARIES = frozenset({"compaction", "branch_summary"})
_SHORTEST_NAME = 8
"""Of a session, where it has no title."""


class OpenClaw:
    """See :class:`bot.app.archive.foreign.conversation.Reader`."""

    name: FormatName = "openclaw"
    program = "OpenClaw"

    def parts(self, found: Sequence[Part]) -> Sequence[Part]:
        """Its sessions, also those that were reset, and last what they are called."""
        sessions = [part for part in found if _SESSION.fullmatch(part.base) and _COPY not in part.base]
        return [*sessions, *(part for part in found if part.base == _INDEX)] if sessions else []

    def read(self, parts: Sequence[Part]) -> Read:
        """File by file."""
        titles = _titles([part for part in parts if part.base == _INDEX])
        for part in parts:
            if part.base == _INDEX:
                continue
            head = next((line for _, line in part.lines() if line.get("type") == "session"), {})
            name = text_of(head.get("id")) or part.base.partition(".")[0]
            title = titles.get(name) or f"OpenClaw {name[:_SHORTEST_NAME]}"
            yield ForeignConversation("openclaw", name, title, seconds(head.get("timestamp"))), _messages(part)


def _titles(indexes: Sequence[Part]) -> Mapping[str, str]:
    """By the ids of sessions."""
    found: dict[str, str] = {}
    for part in indexes:
        with part.open() as file:
            try:
                index = mapping(json.loads(file.read()))
            except (ValueError, RecursionError):
                continue
        for key, entry in index.items():
            session = text_of(mapping(entry).get("sessionId"))
            found[session] = next((text for name in _NAMES if (text := text_of(mapping(entry).get(name)))), key)
    return found


def _messages(part: Part) -> Iterator[ForeignMessage]:
    branch = _branch(part)
    for number, line in part.lines():
        name = text_of(line.get("id"))
        if branch is not None and name not in branch:
            continue
        pieces = [piece for piece in _pieces(line) if piece.text.strip()]
        if pieces:
            at = seconds(line.get("timestamp")) or seconds(mapping(line.get("message")).get("timestamp"))
            yield ForeignMessage(name or f"line {number}", at, pieces)


def _branch(part: Part) -> Collection[str] | None:
    """The ids of the branch that ends with the last entry; None for a file without branches, which takes no memory."""
    before, is_line = None, True
    for _, line in part.lines():
        if name := text_of(line.get("id")) if line.get("type") != "session" else "":
            if "parentId" in line and before is not None and line["parentId"] != before:
                is_line = False
                break
            before = name
    if is_line:
        return None
    parents: dict[str, str] = {}
    last = ""
    for _, line in part.lines():
        if name := text_of(line.get("id")) if line.get("type") != "session" else "":
            parents[name], last = text_of(line.get("parentId")), name
    branch: dict[str, None] = {}
    while last and last not in branch:
        branch[last] = None
        last = parents.get(last, "")
    return branch.keys()


def _pieces(line: Mapping[str, Any]) -> Iterator[Piece]:
    kind = line.get("type")
    if kind in _SUMMARIES:
        if summary := text_of(line.get("summary")).strip():
            yield Piece(EntryKind.NOTE, f"[A summary that OpenClaw wrote here:]\n{summary}")
        return
    if kind == "custom_message":
        yield Piece(EntryKind.NOTE, "\n".join(_texts(line.get("content"))))
        return
    message = mapping(line.get("message")) if kind == "message" else {}
    role, content = message.get("role"), message.get("content")
    if role == "user":
        yield Piece(EntryKind.SAID, "\n".join(_texts(content)))
    elif role == "assistant":
        for block in _blocks(content):
            if block.get("type") in ("toolCall", "tool_use"):
                given = block.get("arguments", block.get("input"))
                yield Piece(EntryKind.REPLY, called(text_of(block.get("name")), given))
            else:
                yield Piece(EntryKind.REPLY, "\n".join(_texts([block])))
    elif role in ("toolResult", "tool") and (text := "\n".join(_texts(content)).strip()):
        yield Piece(EntryKind.RESULT, returned(text_of(message.get("toolName")), text))


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [*map(mapping, items(content))]


def _texts(content: Any) -> list[str]:
    found: list[str] = []
    for block in _blocks(content):
        if block.get("type") == "text":
            found.append(text_of(block.get("text")))
        elif block.get("type") == "image":
            found.append(attached(text_of(block.get("mimeType")), "image"))
    return [text for text in found if text.strip()]


def is_session(part: Part) -> bool:
    """Whether one of its first lines is the header of a session."""
    return any(line.get("type") == "session" and "id" in line for _, line in islice(part.lines(), 3))
