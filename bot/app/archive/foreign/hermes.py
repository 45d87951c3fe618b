"""Hermes' sessions, in the three forms that it writes them in.

`hermes sessions export` writes JSON Lines, each of them a session with its `messages`; its gateway wrote a file of JSON
Lines a session, each of them a message in the form of Chat Completions, the first one about the session
(`session_meta`); its command line wrote `session_….json`, an object with `messages`. Its database is none of these.
The forms are those of its documentation ("Session storage") and of observed files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2s
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

_ROLES = frozenset({"session_meta", "system", "user", "assistant", "tool"})


class Hermes:
    """See :class:`bot.app.archive.foreign.conversation.Reader`."""

    name: FormatName = "hermes"
    program = "Hermes"

    def parts(self, found: Sequence[Part]) -> Sequence[Part]:
        """Every file of sessions."""
        return [
            part
            for part in found
            if part.base.endswith(".jsonl") or (part.base.startswith("session_") and part.base.endswith(".json"))
        ]

    def read(self, parts: Sequence[Part]) -> Read:
        """Session by session."""
        for part in parts:
            if not part.has_lines:
                yield from _whole_file(part)
            elif is_transcript(part):
                yield _named(part.base.partition(".")[0]), _messages(line for _, line in part.lines())
            else:
                yield from _exported(part)


def is_transcript(part: Part) -> bool:
    """Whether each line is a message."""
    return any(line.get("role") in _ROLES for _, line in islice(part.lines(), 1))


def is_exported(part: Part) -> bool:
    """Whether each line is a session."""
    return any(_is_session(line) for _, line in islice(part.lines(), 1))


def _is_session(line: Mapping[str, Any]) -> bool:
    return isinstance(line.get("messages"), list) and bool(line.get("id") or line.get("session_id"))


def _exported(part: Part) -> Read:
    for _, line in part.lines():
        if _is_session(line):
            name = text_of(line.get("id")) or text_of(line.get("session_id"))
            at = seconds(line.get("ended_at")) or seconds(line.get("started_at"))
            active = (one for one in map(mapping, line["messages"]) if one.get("active") not in (0, False))
            yield _named(name, text_of(line.get("title")), at), _messages(active)


def _whole_file(part: Part) -> Read:
    head = {
        place: value
        for place, event, value in part.events()
        if event == "string" and place in ("session_id", "title", "last_updated", "session_start")
    }
    name = text_of(head.get("session_id")) or part.base.removesuffix(".json")
    at = seconds(head.get("last_updated")) or seconds(head.get("session_start"))
    yield _named(name, text_of(head.get("title")), at), _messages(part.objects("messages.item"))


def _named(name: str, title: str = "", at: float | None = None) -> ForeignConversation:
    return ForeignConversation("hermes", name, title or f"Hermes {name}", at)


def _messages(found: Iterable[Mapping[str, Any]]) -> Iterator[ForeignMessage]:
    tools: dict[str, str] = {}
    for message in found:
        pieces = [piece for piece in _pieces(message, tools) if piece.text.strip()]
        if pieces:
            yield ForeignMessage(_id(message, pieces), seconds(message.get("timestamp")), pieces)


def _id(message: Mapping[str, Any], pieces: Sequence[Piece]) -> str:
    """Its number, or where it has none, what it says and when."""
    if number := message.get("id") or message.get("message_id"):
        return str(number)
    told = "\x1f".join([str(message.get("timestamp")), *(f"{piece.kind}\x1f{piece.text}" for piece in pieces)])
    return blake2s(told.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _pieces(message: Mapping[str, Any], tools: dict[str, str]) -> Iterator[Piece]:
    role, text = message.get("role"), "\n".join(_texts(message.get("content")))
    if role == "user":
        yield Piece(EntryKind.SAID, text)
    elif role == "assistant":
        yield Piece(EntryKind.REPLY, text)
        for call in _calls(message.get("tool_calls")):
            function = mapping(call.get("function"))
            name = text_of(function.get("name")) or text_of(call.get("name"))
            tools[text_of(call.get("id"))] = name
            yield Piece(EntryKind.REPLY, called(name, _given(function.get("arguments", call.get("arguments")))))
    elif role == "tool" and text.strip():
        name = text_of(message.get("tool_name")) or text_of(message.get("name"))
        known = tools.pop(text_of(message.get("tool_call_id")), "")
        yield Piece(EntryKind.RESULT, returned(name or known, text))


def _calls(calls: Any) -> list[dict[str, Any]]:
    """They stand there as such, or as text of JSON."""
    return [mapping(call) for call in items(_given(calls))]


def _given(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for part in map(mapping, items(content)):
        if part.get("type") in ("text", "input_text"):
            found.append(text_of(part.get("text")))
        elif text_of(part.get("type")).endswith(("image_url", "image")):
            found.append(attached("", "image"))
    return found
