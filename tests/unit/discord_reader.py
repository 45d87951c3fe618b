"""What people see of a message on Discord, read as its apps do: with one regular expression for each construct.

https://support.discord.com/hc/en-us/articles/210298617, and for mentions
https://discord.com/developers/docs/reference#message-formatting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_CODE_BLOCK = re.compile(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n](?:.|\n)*?)\n*```", re.IGNORECASE)
_QUOTE = re.compile(r"> [^\n]*(?:\n> [^\n]*)*|>>> (?:.|\n)*")
_HEADING = re.compile(r"\s*(#{1,3}) +([^\n]+)")
_SUBTEXT = re.compile(r"-# +([^\n]+)")
_BULLET = re.compile(r" *(?:([-*])|(\d+\.))(?: +(?=\S)|$)", re.MULTILINE)
_ESCAPE = re.compile(r"\\([^0-9A-Za-z\s])")
_SPECIAL = re.compile(r"<(?:@[!&]?\d+|#\d+|a?:\w+:\d+|t:-?\d+(?::\w)?|/[\w ]+:\d+|id:\w+)>")
_AUTOLINK = re.compile(r"<(https?://[^\s>]+)>")
_URL = re.compile(r"https?://[^\s<]+[^<.,:;\"')\]\s]")
_STRONG = re.compile(r"\*\*((?:\\.|[^\\])+?)\*\*(?!\*)", re.DOTALL)
_EM_STAR = re.compile(r"\*(?=\S)((?:\*\*|\\.|\s+(?:\\.|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)", re.DOTALL)
_EM_LINE = re.compile(r"_((?:__|\\.|[^\\_])+?)_(?![0-9A-Za-z_])", re.DOTALL)
_UNDERLINE = re.compile(r"__((?:\\.|[^\\])+?)__(?!_)", re.DOTALL)
_STRIKE = re.compile(r"~~(.+?)~~(?!_)", re.DOTALL)
_SPOILER = re.compile(r"\|\|(.+?)\|\|", re.DOTALL)
_CODE = re.compile(r"(`+)(.*?[^`])\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\[((?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*)\]\((https?://[^\s)]+)\)")


@dataclass
class Seen:
    """The text that is shown, and each mark with the text in it."""

    text: str = ""
    marks: list[tuple[str, str]] = field(default_factory=list)


def read(message: str) -> Seen:
    """Read a message."""
    seen = Seen()
    _read(message, seen, line_start=True)
    seen.text = seen.text.replace("\u200b", "")
    return seen


def _read(source: str, seen: Seen, *, line_start: bool = False) -> None:
    place = 0
    while place < len(source):
        at_start = (place == 0 and line_start) or source[place - 1 : place] == "\n"
        taken = _block(source, place, seen) if at_start and line_start else 0
        taken = taken or _inline(source, place, seen)
        if not taken:
            seen.text += source[place]
            taken = 1
        place += taken


def _inside(kind: str, source: str, seen: Seen, *, line_start: bool = False) -> None:
    before = len(seen.text)
    _read(source, seen, line_start=line_start)
    seen.marks.append((kind, seen.text[before:]))


def _block(source: str, place: int, seen: Seen) -> int:
    if found := _QUOTE.match(source, place):
        _inside("quote", re.sub(r"^> ", "", found[0], flags=re.MULTILINE), seen, line_start=True)
        return len(found[0])
    if found := _HEADING.match(source, place):
        _inside(f"heading {len(found[1])}", found[2], seen)
        return len(found[0])
    if found := _SUBTEXT.match(source, place):
        _inside("subtext", found[1], seen)
        return len(found[0])
    if found := _BULLET.match(source, place):
        seen.text += found[2] or ""
        seen.marks.append(("bullet", found[1] or found[2]))
        rest = source[found.end() :].split("\n", 1)[0]
        return len(found[0]) + (0 if rest.startswith("```") else _block(rest, 0, seen))
    return 0


def _inline(source: str, place: int, seen: Seen) -> int:
    if found := _CODE_BLOCK.match(source, place):
        seen.text += found[2]
        seen.marks.append((f"code block {found[1] or ''}".strip(), found[2]))
    elif found := _ESCAPE.match(source, place):
        seen.text += found[1]
    elif found := _SPECIAL.match(source, place):
        seen.marks.append(("special", found[0]))
    elif found := _AUTOLINK.match(source, place):
        seen.text += found[1]
    elif found := _URL.match(source, place):
        seen.text += found[0]
    elif found := _CODE.match(source, place):
        padded = len(found[2]) > 2 and found[2][0] == found[2][-1] == " " and "`" in found[2]
        seen.text += found[2][1:-1] if padded else found[2]
        seen.marks.append(("code", found[2]))
    elif found := _LINK.match(source, place):
        _inside(f"link {found[2]}", found[1], seen)
    else:
        return _styled(source, place, seen)
    return len(found[0])


def _styled(source: str, place: int, seen: Seen) -> int:
    """Of the styles that could begin here, the one that takes most."""
    kinds = {
        "bold": _STRONG,
        "italic": _EM_STAR,
        "underline": _UNDERLINE,
        "italic_": _EM_LINE,
        "strikethrough": _STRIKE,
        "spoiler": _SPOILER,
    }
    if source[place] not in "*_~|":
        return 0
    found = [(match.end(), kind, match[1]) for kind, rule in kinds.items() if (match := rule.match(source, place))]
    if not found:
        return 0
    end, kind, inner = max(found)
    _inside(kind.rstrip("_"), inner, seen)
    return end - place
