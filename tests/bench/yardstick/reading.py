"""A request as the text that a model reads. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.messages import Block, Message, text_of

Leaf = tuple[str, str | int | float]
"""A value of a tool call's input, and the name of its innermost field."""


def request_text(messages: Iterable[Message]) -> str:
    """All that a request says, in reading order: texts, values of tool inputs, tool results; a line between any two."""
    return "\n".join(line for message in messages for block in blocks_of(message) for line in _lines(block))


def blocks_of(message: Message) -> Sequence[Block]:
    """The content blocks of a message, a plain string as one text block."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def occurs(value: str, text: str) -> bool:
    """Whether this value stands in the text literally, and not as part of a longer word or number."""
    return next(places(value, text), None) is not None


def places(value: str, text: str) -> Iterator[int]:
    """Where this value begins in the text."""
    before = r"(?<![A-Za-z0-9_])" if _is_plain(value[:1]) else ""
    after = r"(?![A-Za-z0-9_])" if _is_plain(value[-1:]) else ""
    if value[:1].isdigit():
        before += r"(?<!\d[.,])"
    if value[-1:].isdigit():
        after += r"(?![.,]\d)"
    return (found.start() for found in re.finditer(f"{before}{re.escape(value)}{after}", text))


def leaves(value: object, field: str = "") -> Iterator[Leaf]:
    """The strings and numbers inside a tool's input, with the names of their fields; no booleans and no nulls."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, str(name))
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield field, value
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from leaves(inner, field)


def _lines(block: Block) -> Iterator[str]:
    match block.get("type"):
        case "text":
            yield str(block["text"])
        case "tool_use":
            yield str(block.get("name", ""))
            yield from (f"{field}: {value}" for field, value in leaves(block.get("input") or {}))
        case "tool_result":
            content: Any = block.get("content") or ""
            yield text_of(content)


def _is_plain(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")
