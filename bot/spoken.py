"""A reply as people read it: its text in one piece, its sources, and why it ends where it does. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.messages import Block
from bot.server_tools import citations_of

_FENCE = re.compile(r"^ {0,3}```", re.MULTILINE)
_MOST_SOURCES = 8
_LONGEST_TITLE = 80
_UNLINKED = str.maketrans("[]", "()")


def for_people(blocks: Sequence[Block], stop_reason: str) -> str:
    """A whole reply."""
    text = spoken(blocks)
    if stop_reason == "max_tokens":
        if len(_FENCE.findall(text)) % 2:  # it was cut off within code
            text = f"{text}\n```"
        return f"{text}\n\n(The answer was cut off at its longest; ask me to go on.)"
    if stop_reason == "refusal":
        return text or "The model declined to answer that."
    return text or "(The model gave an empty answer.)"


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
