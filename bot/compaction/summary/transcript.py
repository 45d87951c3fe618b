"""A conversation as one text, for a model that summarises it from outside, and what to do when that text is
too long.

Pure: no I/O, no clock, no settings.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from bot.estimate.cuts import middle_of
from bot.estimate.text import Family, text_tokens
from bot.history import THINKING, Entry, EntryKind
from bot.history.quotations import as_read
from bot.history.server_tools import is_result, told
from bot.messages import Block

REMOVAL_SHARES = (0.0, 0.10, 0.20, 0.50, 1.0)
"""Shares of the tool results that are taken out in turn while the request for a summary overflows (AGIME's
``do_compact``: 0, 10, 20, 50, 100 percent)."""

REMOVED = "[tool result left out: the conversation was too long to summarise with it]"

EARLIER, PROGRAM = "earlier summary", "note of the program"
"""Roles of what a compaction wrote: it is nobody's words."""

_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_LABELS = ("User", "Human", "Assistant", "Tool result", "Tool error", "System", EARLIER, PROGRAM)
_FORGED = re.compile(
    rf"(?<=[\n\r\v\f\x85\u2028\u2029])(?=[^\S\n]{{0,20}}(?:{'|'.join(_LABELS)})[^\S\n]{{0,4}}[:：]"
    r"|[^\S\n]{0,20}(?:User|Assistant) called )",
    re.IGNORECASE,
)
_Message = TypeVar("_Message", bound=Mapping[str, Any])

_RESULT_TYPES = frozenset({"tool_result", "mcp_tool_result"})


def render(messages: Iterable[Mapping[str, Any]]) -> str:
    """A readable transcript, blank lines between turns: ``User:``, ``Assistant:``, ``Assistant called
    name(args)``, ``Tool result:``. Pictures and documents are named; thinking is left out. A line within a turn that
    looks like the beginning of another one is marked with ``|``.
    """
    return "\n\n".join(_FORGED.sub("| ", piece) for message in messages for piece in _pieces(message))


def turns_of(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Entries for :func:`render`: what an earlier compaction wrote is told apart from what was said."""
    return [{"role": _role(entry), "content": _with_time(entry)} for entry in entries]


def _with_time(entry: Entry) -> list[Block]:
    """What it says, and before that when it was said."""
    blocks = as_read(entry.blocks)
    if entry.mark and blocks and blocks[0].get("type") == "text":
        blocks[0] = {**blocks[0], "text": f"{entry.mark} {blocks[0]['text']}"}
    return blocks


def _role(entry: Entry) -> str:
    if entry.layer is None:
        return entry.role
    return EARLIER if entry.kind is EntryKind.SUMMARY else PROGRAM


def _pieces(message: Mapping[str, Any]) -> Iterator[str]:
    speaker = _SPEAKERS.get(str(message.get("role")), str(message.get("role")).capitalize())
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content or ():
        piece = block.strip() if isinstance(block, str) else _piece(block, speaker)
        if piece:
            yield piece


def _piece(block: Block, speaker: str) -> str:
    match block.get("type"):
        case "text":
            text = str(block.get("text") or "").strip()
            return f"{speaker}: {text}" if text else ""
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            arguments = json.dumps(block.get("input") or {}, ensure_ascii=False, default=str)
            return f"{speaker} called {block.get('name')}({arguments})"
        case "tool_result" | "mcp_tool_result":
            label = "Tool error" if block.get("is_error") else "Tool result"
            return f"{label}: {_inside(block.get('content'))}"
        case kind if kind in THINKING:
            return ""
        case _ if is_result(block):
            return f"{speaker}: {told(block)}"
        case _:
            return f"{speaker}: {_placeholder(block)}"


def _inside(content: object) -> str:
    if isinstance(content, str):
        return content.strip() or "(empty)"
    if not isinstance(content, Sequence):
        return "(empty)"
    parts = [
        str(block.get("text") or "").strip() if block.get("type") == "text" else _placeholder(block)
        for block in content
        if isinstance(block, Mapping)
    ]
    return "\n".join(part for part in parts if part) or "(empty)"


def _placeholder(block: Block) -> str:
    """What stands for a block that is no text."""
    source = block.get("source")
    kind = str(source.get("media_type") or "") if isinstance(source, Mapping) else ""
    if block.get("type") == "document" and isinstance(source, Mapping) and source.get("type") == "text":
        return f"[document {block.get('title') or ''}]\n{source.get('data') or ''}"
    path = str(source.get("path") or "") if isinstance(source, Mapping) else ""
    facts = ", ".join(fact for fact in (str(block.get("title") or path), kind) if fact)
    return f"[{block.get('type') or 'block'}: {facts}]" if facts else f"[{block.get('type') or 'block'}]"


def without_tool_results(messages: Sequence[_Message], share: float) -> list[_Message]:
    """``messages`` with that share of their tool results (rounded up, 0 to 1) replaced by a note.

    They go from the middle of the conversation outward. The blocks stay, so every call still has its result.
    """
    places = [
        (row, column)
        for row, message in enumerate(messages)
        if not isinstance(message["content"], str)
        for column, block in enumerate(message["content"])
        if block.get("type") in _RESULT_TYPES
    ]
    count = min(len(places), math.ceil(share * len(places) - 1e-9))
    middle = (len(places) - 1) / 2
    nearest = sorted(range(len(places)), key=lambda at: (abs(at - middle), at))
    gone = {places[at] for at in nearest[: max(0, count)]}
    return [_emptied(message, row, gone) for row, message in enumerate(messages)]


def _emptied(message: _Message, row: int, gone: set[tuple[int, int]]) -> _Message:
    content = message["content"]
    if isinstance(content, str):
        return message
    blocks = [{**block, "content": REMOVED} if (row, column) in gone else block for column, block in enumerate(content)]
    return cast("_Message", {**message, "content": blocks})


_SEPARATORS = ("\n\n", "\n", ". ", " ", "")


def chunks(text: str, max_tokens: int, *, family: Family) -> list[str]:
    """``text`` in pieces of at most ``max_tokens`` by estimate, which joined are the text again.

    It is cut between turns where that is possible, else between lines, sentences, words, characters. A
    single character that takes more than ``max_tokens`` is a piece of its own. Raises ``ValueError`` below
    one token.
    """
    if max_tokens < 1:
        raise ValueError(f"a chunk holds at least one token, not {max_tokens}")
    if not text:
        return []
    return list(_packed(text, max_tokens, family, _SEPARATORS))


def _packed(text: str, max_tokens: int, family: Family, separators: Sequence[str]) -> Iterator[str]:
    if text_tokens(text, family=family) <= max_tokens:
        yield text
        return
    if separators[0] == "":
        yield from _cut(text, max_tokens, family)
        return
    held: list[str] = []
    size = 0.0
    for piece in _split_after(text, separators[0]):
        tokens = text_tokens(piece, family=family)
        if held and size + tokens > max_tokens:
            yield from _fitting("".join(held), max_tokens, family, separators)
            held, size = [], 0.0
        if tokens > max_tokens:
            yield from _packed(piece, max_tokens, family, separators[1:])
            continue
        held.append(piece)
        size += tokens
    if held:
        yield from _fitting("".join(held), max_tokens, family, separators)


def _fitting(text: str, max_tokens: int, family: Family, separators: Sequence[str]) -> Iterator[str]:
    """Pieces that fit one by one may not fit together by a token, where joining them makes a word or an
    indent.
    """
    if text_tokens(text, family=family) <= max_tokens:
        yield text
    else:
        yield from _packed(text, max_tokens, family, separators[1:])


def _split_after(text: str, separator: str) -> list[str]:
    pieces = text.split(separator)
    return [piece + separator for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _cut(text: str, max_tokens: int, family: Family) -> Iterator[str]:
    """Pieces of a text without blanks, found by halving; words, values and characters stay whole where they fit."""
    if len(text) == 1 or text_tokens(text, family=family) <= max_tokens:
        yield text
        return
    half = middle_of(text)
    yield from _cut(text[:half], max_tokens, family)
    yield from _cut(text[half:], max_tokens, family)
