"""Text for a terminal: made harmless, and set from Markdown block by block. Pure.

rich is slow to import, and a prompt must not wait for it: it is imported when there is something to set.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from io import StringIO
from typing import ClassVar

import wcwidth

_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_TRAILING = re.compile(r"(?:\x1b\[[0-9;]*m| )+$", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")


def clean(text: str) -> str:
    """The text without what a terminal would obey: escape sequences, control and direction characters."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text))


def finished(text: str) -> int:
    """How many characters at the start of a Markdown text are blocks that nothing after them can change."""
    from rich.markdown import Markdown

    lines = text.split("\n")[:-1]
    blocks = [token for token in Markdown("\n".join(lines)).parsed if token.level == 0 and token.map]
    starts = [token.map[0] for token in blocks if token.map and token.nesting >= 0]
    return sum(len(line) + 1 for line in lines[: starts[-1]]) if len(starts) > 1 else 0


@lru_cache(maxsize=4)
def typeset(text: str, width: int) -> str:
    """Markdown as lines of at most ``width`` columns, with no escape sequences but colours and weights."""
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import CodeBlock, Markdown
    from rich.syntax import Syntax

    class Code(CodeBlock):
        """Without rich's blank line above and below, for there is one between any two blocks."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code = str(self.text).rstrip()
            yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 1))

    class Blocks(Markdown):
        elements: ClassVar = {**Markdown.elements, "fence": Code, "code_block": Code}

    markdown = Blocks(text, code_theme="ansi_dark", hyperlinks=False)
    for token in markdown.parsed:  # rich would leave HTML out, centre a title, and make one line of a poem
        if token.type == "html_block":
            token.type = "code_block"
        token.tag = "h2" if token.tag == "h1" else token.tag
        for child in token.children or ():
            if child.type == "html_inline":
                child.type = "hardbreak" if child.content.startswith("<br") else "text"
            elif child.type == "softbreak":
                child.type = "hardbreak"
    console = Console(file=StringIO(), force_terminal=True, color_system="256", width=width, legacy_windows=False)
    with console.capture() as capture:
        console.print(markdown)
    rows = _TRAILING.sub(lambda match: match[0].replace(" ", ""), capture.get()).split("\n")
    inked = [number for number, row in enumerate(rows) if clean(row).strip()]
    return "\n".join(rows[inked[0] : inked[-1] + 1]) if inked else ""


def last_code(text: str) -> str:
    """The last block of code in a Markdown text, without its fence; empty where there is none."""
    from rich.markdown import Markdown

    blocks = [token.content for token in Markdown(text).parsed if token.type in ("fence", "code_block")]
    return blocks[-1] if blocks else ""


def wrapped(text: str, width: int) -> str:
    """The lines of a text, none longer than ``width`` columns, broken between words where there are any."""
    rows = [
        wcwidth.wrap(line, max(1, width), break_on_hyphens=False) if wcwidth.width(line) > width else [line]
        for line in text.split("\n")
    ]
    return "\n".join(row for line in rows for row in line)


def meter_line(facts: Mapping[str, str | int | float], width: int) -> str:
    """The bottom line, e.g. ``▓▓░░░░░░░░ 1,234 / 8,000 tokens (15 %) · model · ok``; empty without facts. Where there
    is no room for all of it, first the model is left out and then the bar. Of a limit that rests on a window which
    nobody has said, that is said."""
    total, limit, share = facts.get("total"), facts.get("limit"), facts.get("share")
    bar = tokens = ""
    if isinstance(total, int | float) and isinstance(limit, int | float):
        if not isinstance(share, int | float):
            share = total / limit if limit else 0.0
        full = min(10, max(0, round(share * 10)))
        bar, tokens = f"{'▓' * full}{'░' * (10 - full)} ", f"{total:,.0f} / {limit:,.0f} tokens ({_percent(share)} %)"
        tokens += "" if facts.get("limit_is_known", True) else ", limit assumed"
    model, level = (clean(str(facts.get(name) or "")) for name in ("model", "level"))
    lines = [
        " · ".join(part for part in parts if part)
        for parts in ((bar + tokens, model, level), (bar + tokens, level), (tokens, level), (tokens or level,))
    ]
    return next((line for line in lines if wcwidth.width(line) <= width), lines[-1])


def _percent(share: float) -> str:
    """Rounded down, as everywhere: what has not reached a level is not said to be there."""
    return f"{math.floor(share * 100 + 1e-6)}" if math.isfinite(share) else "∞"


def last_rows(block: str, rows: int) -> str:
    """The end of a block, so that drawing it again stays cheap however long it is; code stays code."""
    lines = block.strip("\n").split("\n")
    if len(lines) <= rows:
        return block
    return "\n".join([*lines[:1], *lines[-rows:]] if _FENCE.match(lines[0]) else lines[-rows:])
