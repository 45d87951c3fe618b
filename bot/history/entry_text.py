"""What an entry says, as one text: for the index, and for whoever reads it again. Pure.

Thinking is left out, and so are the bytes of files: of a picture its name stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bot.estimate.cuts import head_of
from bot.history.entries import THINKING
from bot.history.quotations import as_read
from bot.messages import Block

RECALL = "recall"
"""The tool that finds earlier entries. What it was asked, and what it answered, is found already."""
RECALLED = "[recall: "
"""What its answers begin with."""

LONGEST_INDEXED = 100_000
"""Characters of one entry that it can be found by."""
LONGEST_RESULT = 20_000
"""Of these, characters of one tool's result, and of the arguments of one call."""

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_TELLING = ("title", "name", "path", "url", "text", "content", "source")
"""Keys of blocks of any kind whose texts are words for people."""


def text_to_find(blocks: Sequence[Block]) -> str:
    """What an entry is found by, at most ``LONGEST_INDEXED`` characters. Echoes of other entries are no part of it."""
    return head_of("\n".join(_indexed(blocks)), LONGEST_INDEXED)


def text_to_read(blocks: Sequence[Block]) -> str:
    """What it says, in full: words, calls with their arguments, results, the names of files."""
    return "\n".join(piece for block in as_read(blocks) if (piece := _piece(block).strip()))


def is_result(block: Block) -> bool:
    """Whether a tool returned it."""
    return str(block.get("type", "")).endswith("tool_result")


def _indexed(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if block.get("type") in _CALLS:
            if block.get("name") != RECALL:
                yield head_of(_piece(block), LONGEST_RESULT)
        elif is_result(block):
            result = _piece(block)
            if not result.startswith(RECALLED):
                yield head_of(result, LONGEST_RESULT)
        else:
            yield _piece(block)


def _piece(block: Block) -> str:
    if block.get("type") in _CALLS:
        arguments = "\n".join(_arguments(block.get("input")))
        return f"[{block.get('name')}: {arguments}]" if arguments else f"[{block.get('name')}]"
    if block.get("type") in ("image", "document"):
        return f"[{block['type']}: {' '.join(dict.fromkeys(_texts(block))) or 'without a name'}]"
    return "\n".join(_texts(block))


def _arguments(value: object, name: str = "") -> Iterator[str]:
    """Each value of nested arguments, by the innermost name."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _arguments(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _arguments(inner, name)
    elif value is not None:
        yield f"{name}={value}" if name else str(value)


def _texts(value: object) -> Iterator[str]:
    """The texts of a block, and of what it is made of."""
    if isinstance(value, str):
        if value.strip():
            yield value
    elif isinstance(value, Mapping):
        if value.get("type") in THINKING:
            return
        for key in _TELLING:
            yield from _texts(value.get(key))
        if value.get("type") == "text" and "media_type" in value:  # a document that came as plain text
            yield from _texts(value.get("data"))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
