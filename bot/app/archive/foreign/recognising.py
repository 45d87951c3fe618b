"""Whose export a file, a folder or a zip archive is: told by what stands in it, not by what it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from bot.app.archive.foreign.chatgpt import ChatGPT
from bot.app.archive.foreign.claude import Claude
from bot.app.archive.foreign.conversation import FormatName, Reader
from bot.app.archive.foreign.files import BadExport, Part, Source
from bot.app.archive.foreign.hermes import Hermes, is_exported, is_transcript
from bot.app.archive.foreign.openclaw import OpenClaw, is_session
from bot.app.archive.foreign.telegram import IS_HTML, Telegram

READERS: Mapping[FormatName, Reader] = {
    reader.name: reader for reader in (ChatGPT(), Claude(), Telegram(), OpenClaw(), Hermes())
}
"""By what `--format` calls them."""

_MOST_EVENTS = 200_000
_BEGIN = 4_096
_SQLITE = b"SQLite format 3\x00"
_KEYS: Mapping[str, FormatName] = {
    "item.mapping": "chatgpt",
    "conversations.item.mapping": "chatgpt",
    "item.chat_messages": "claude",
    "conversations.item.chat_messages": "claude",
    "item.prompt_template": "claude",
    "chats.list": "telegram",
    "left_chats.list": "telegram",
    "session_id": "hermes",
}
"""Where these stand in a file of JSON, it is that program's."""
WHAT_IS_TAKEN = (
    "Exports of ChatGPT and Claude (the zip, or its conversations.json), of Telegram Desktop (result.json), sessions "
    "of OpenClaw and Hermes (.jsonl), and what `palimpsest agents export` wrote are taken; --format names one of them."
)


def reader_of(source: Source, wanted: FormatName | None = None) -> tuple[Reader, Sequence[Part]]:
    """Who reads it, and what. Raises BadExport."""
    if wanted is not None:
        reader = READERS[wanted]
        if parts := _parts(reader, source):
            return reader, parts
        raise BadExport(f"{source.path} holds nothing that {reader.program} exports.")
    for reader in READERS.values():
        parts = _parts(reader, source)
        if parts and _format_of(parts[0]) == reader.name:
            return reader, parts
    raise BadExport(_refusal(source))


def _parts(reader: Reader, source: Source) -> Sequence[Part]:
    """What it may read; a file that was named by itself may be called anything."""
    return source.parts if source.is_single else reader.parts(source.parts)


def _format_of(part: Part) -> FormatName | None:
    with part.open() as file:
        begin = file.read(_BEGIN).lstrip()
    if begin.startswith(b"<"):
        raise BadExport(IS_HTML if b"elegram" in begin else f"{part.name} is HTML, and no export that can be read.")
    if begin.startswith(_SQLITE):
        raise BadExport(
            f"{part.name} is a database. For Hermes: `hermes sessions export sessions.jsonl`, then import that file."
        )
    if not begin.startswith((b"{", b"[")):
        return None
    if begin.startswith(b"{") and part.has_lines:
        if is_session(part):
            return "openclaw"
        if is_transcript(part) or is_exported(part):
            return "hermes"
    return _format_of_json(part)


def _format_of_json(part: Part) -> FormatName | None:
    seen: set[str] = set()
    for place, event, value in islice(part.events(), _MOST_EVENTS):
        if event == "map_key":
            key = f"{place}.{value}" if place else str(value)
            if key in _KEYS:
                return _KEYS[key]
            if not place:
                seen.add(str(value))
        if event == "start_array" and place == "messages" and {"id", "type"} <= seen:
            return "telegram"
        if event == "end_map" and place in ("item", "conversations.item"):
            return None  # the first of them has none of these keys
    return None


def _refusal(source: Source) -> str:
    if source.is_single:
        return f"{source.path} is no export that is known. {WHAT_IS_TAKEN}"
    what = "archive" if source.archive else "folder"
    return f"The {what} {source.path} holds no conversations.json, no result.json and no sessions. {WHAT_IS_TAKEN}"
