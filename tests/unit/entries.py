"""Short ways to write down a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.estimate import Meter, Part
from bot.history import Entry, EntryKind, History
from bot.messages import Block, text_block


def said(seq: int, text: str, **more: Any) -> Entry:
    """A person's message."""
    return Entry(seq, "user", (text_block(text),), EntryKind.SAID, **more)


def replied(seq: int, text: str = "", *calls: str, **more: Any) -> Entry:
    """The model's reply, with calls of the tool ``look`` by these ids."""
    blocks = [text_block(text)] if text else []
    return Entry(seq, "assistant", (*blocks, *map(call, calls)), EntryKind.REPLY, **more)


def returned(seq: int, call_id: str, content: str | list[Block] = "seen", **more: Any) -> Entry:
    """A tool's result."""
    return Entry(seq, "user", (result(call_id, content),), EntryKind.RESULT, **more)


def call(call_id: str) -> Block:
    """A tool call."""
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}}


def result(call_id: str, content: str | list[Block] = "seen") -> Block:
    """The block of a tool's result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def history(*entries: Entry) -> History:
    """Without any layer."""
    return History(entries)


def shown(page: History) -> list[tuple[str, list[str]]]:
    """A page as roles and texts; calls and results by what they are."""
    return [(message["role"], [_brief(block) for block in message["content"]]) for message in page.view()]


def full(total: int, limit: int = 1_000, parts: Sequence[Part] = ()) -> Meter:
    """A meter that shows this."""
    return Meter.of(parts or [Part("conversation", total)], limit=limit)


def _brief(block: Block | str) -> str:
    assert not isinstance(block, str)
    if block["type"] == "text":
        return str(block["text"])
    return f"{block['type']} {block.get('id') or block.get('tool_use_id')}"
