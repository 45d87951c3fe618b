"""The replies of a turn: how far they have come, as its history has it, also after a crash; and how one reads to
people, its text in one piece, its sources, and why it ends where it does. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.history.entries import EntryKind, History
from bot.history.server_tools import citations_of
from bot.messages import Block, tool_calls

_MOST_SOURCES = 8
_LONGEST_TITLE = 80
_UNLINKED = str.maketrans("[]", "()")
_MARKS = re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|~~)(?=\S)")
"""What may open something, in a text in which it was taken for itself."""
_TICKS = re.compile(r"`+(?=[^`])")
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def replies(history: History, turn: str) -> int:
    """How often the model has answered in it."""
    return sum(entry.turn == turn and entry.kind is EntryKind.REPLY for entry in history.entries)


def paused(history: History, turn: str) -> list[Block]:
    """What the model has said of a reply that it is to go on with."""
    entries = (entry for entry in reversed(history.entries) if entry.layer is None)
    begun = [*takewhile(lambda entry: entry.turn == turn and entry.kind is EntryKind.REPLY, entries)]
    return [block for entry in reversed(begun) for block in entry.blocks]


def results(history: History, turn: str) -> list[list[tuple[Block, Block]]]:
    """The calls of each of its replies, with what they came to."""
    made: dict[str, tuple[Block, list[tuple[Block, Block]]]] = {}
    found: list[list[tuple[Block, Block]]] = []
    for entry in history.entries:
        if entry.turn != turn or entry.layer is not None:
            continue
        if entry.kind is EntryKind.REPLY:
            found.append([])
            made |= {call["id"]: (call, found[-1]) for call in tool_calls(entry.blocks)}
        for block in entry.blocks if entry.kind is EntryKind.RESULT else ():
            if known := made.get(str(block.get("tool_use_id"))):
                known[1].append((known[0], block))
    return found


def for_people(blocks: Sequence[Block], stop_reason: str, below: str = "") -> str:
    """A whole reply. ``below``: what the program has to say of it."""
    text = spoken(blocks)
    if stop_reason == "max_tokens":
        return noted(text, "(The answer was cut off at its longest; ask me to go on.)", cut=True)
    if stop_reason == "refusal":
        return noted(text, "(The model declined to go on.)", cut=True) if text else "The model declined to answer that."
    if below:
        return noted(text, f"({below})")
    return text or "(The model gave an empty answer.)"


def noted(text: str, note: str, *, cut: bool = False) -> str:
    """A note of the program below a text of the model, and in nothing that the text has opened. ``cut``: the text ends
    where it should not."""
    more = " …" if cut and (last := _last(text)) and last.type == "inline" else ""
    return f"{closed(text)}{more}\n\n{note}".strip()


def closed(text: str) -> str:
    """Markdown that ends in the middle, with what is open at its end closed: a fence with its indentation, emphasis,
    code within a line."""
    text = text.rstrip()
    last = _last(text)
    if last is not None and last.type == "fence":
        return text + _fence_closing(text.split("\n"), last)
    if last is not None and last.type == "inline" and text.endswith(last.content):
        return text + _closing(last.content)
    return text


def _last(text: str) -> Token | None:
    """The block at the end of a text."""
    tokens = reversed(_PARSER.parse(text.rstrip()))
    return next((token for token in tokens if not token.type.endswith("_close")), None)


def _fence_closing(lines: Sequence[str], fence: Token) -> str:
    assert fence.map is not None
    first, end = fence.map[0], min(fence.map[1], len(lines))
    marker = fence.markup
    if end - 1 > first and re.fullmatch(rf"[\s>]*{re.escape(marker)}{re.escape(marker[0])}*\s*", lines[end - 1]):
        return ""
    before = lines[first].partition(marker)[0]
    return "\n" + re.sub(r"[^\s>]", " ", before) + marker


def _closing(line: str) -> str:
    """What closes a paragraph's marks, the last opened first; nothing where they were none after all."""
    closing = ""
    if tick := _TICKS.search(_as_text(line)):
        closing = tick[0]
    opened = [mark[0] for mark in _MARKS.finditer(_as_text(line + closing))]
    for marks in (opened, opened[-1:]):
        whole = closing + "".join(reversed(marks))
        if not _MARKS.search(_as_text(line + whole)) and not _TICKS.search(_as_text(line + whole)):
            return whole
    return ""


def _as_text(line: str) -> str:
    """Of a line, what is neither code nor a mark."""
    [inline] = _PARSER.parseInline(line)
    return "\0".join(child.content for child in inline.children or () if child.type == "text")


def spoken(blocks: Sequence[Block]) -> str:
    """The text of a reply for people. A provider cuts it where a citation begins, within a sentence too; the sources
    stand at the end."""
    text = ""
    before: Block = {}
    for block in blocks:
        if block.get("type") == "text":
            cited = citations_of(before) or citations_of(block)
            goes_on = before.get("type") == "text" and bool(cited)
            text += ("" if goes_on or not text else "\n\n") + block["text"]
        before = block
    sources = _sources(blocks)
    return f"{text.strip()}\n\n{sources}".strip() if sources else text.strip()


def _sources(blocks: Sequence[Block]) -> str:
    cited: dict[str, str] = {}
    for block in blocks:
        for citation in citations_of(block):
            if url := str(citation.get("url") or ""):
                cited.setdefault(url, " ".join(str(citation.get("title") or url).split())[:_LONGEST_TITLE])
    lines = [f"- [{title.translate(_UNLINKED)}](<{url}>)" for url, title in list(cited.items())[:_MOST_SOURCES]]
    return "\n".join(["Sources:", *lines]) if lines else ""
