"""Which parts of a message are its writer's own words, and which are pasted, quoted or forwarded. Pure.

What somebody hands over sets no goal and no rule. Only marks are looked at, and no word of any language: fences,
quotation marks, lines that begin with ``>``, and heads of letters. Every pattern is bounded, so that any text takes
linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

QUOTED = "[quoted] "
"""What a line of memory begins with that is nobody's own word."""
SENT = "[sent "
"""What a line of memory begins with that tells of a picture or document."""

_MOST_CODE = 600
"""Characters of a block of code that is looked into; a longer one is left out."""
_BLOCK = re.compile(
    r"```(?P<code>.{0,20000}?)(?:```|\Z)|\"\"\"(?P<three>.{1,20000}?)(?:\"\"\"|\Z)|'''(?P<single>.{1,20000}?)(?:'''|\Z)"
    r"|“(?P<curved>[^“”]{20,6000})”|«(?P<angles>[^«»]{20,6000})»|「(?P<corners>[^「」]{8,6000})」"
    r"|(?<!\S)\"(?P<plain>[^\s\"][^\"\n]{18,2000})\"(?!\w)",
    re.DOTALL,
)
_MARKS = ("```", '"""', "'''", "“", "«", "「", '"')
_SEVERAL = re.compile(r"[.!?…]\s+\S|[。！？]\s*[^\s。！？]|\n")
_INLINE = re.compile(r"“[^“”]{10,400}”|«[^«»]{10,400}»|「[^「」]{8,400}」|(?<!\S)\"[^\s\"][^\"]{9,400}\"(?!\w)")
_PARAGRAPH = 300
"""Bytes of a line that nobody types into a chat: of Chinese a hundred characters."""
_QUOTING_LINE = re.compile(r"[ \t]{0,3}>")
_LETTER = re.compile(
    r"^[ \t>]*-{2,} ?[^\n-]{3,60}-{2,}[ \t]*$"
    r"|^(?=[^\n]{0,200}\S@\S)[ \t]*[^\W\d_][^\n:：]{0,20}[:：][^\n]{1,200}\n[ \t]*[^\W\d_][^\n:：]{0,20}[:：]\s"
    r"|^[^\n:：]{2,12}[:：][^\n]{1,120}\n(?:[^\n:：]{2,12}[:：][^\n]{1,120}\n){1,4}\n",
    re.MULTILINE,
)
"""Where a letter begins that is handed on: a line between dashes, or lines of a head, one with an address or all
together before an empty line."""


def is_note(text: str) -> bool:
    """Whether a line of memory tells what was quoted or sent, which changes nothing that was said."""
    return text.startswith((QUOTED, SENT))


def note_and_words(text: str) -> tuple[str, str]:
    """A line of memory as the note that it begins with, if any (and a blank behind it), and the words."""
    note, end, words = text.partition("] ") if is_note(text) else ("", "", text)
    return (f"{note}{end}", words) if end and "[" not in note[1:] else ("", text)


def parts_of(text: str) -> Iterator[tuple[bool, str]]:
    """The parts of a text in order, each with whether it is quoted. Long blocks of code are left out."""
    letter = _LETTER.search(text) if "--" in text or "\n" in text else None
    end = letter.start() if letter else len(text)
    at = 0
    hits = _BLOCK.finditer(text, 0, end) if any(mark in text for mark in _MARKS) else ()
    for hit in hits:
        inner = hit[hit.lastgroup or 0] or ""
        if hit.lastgroup in ("curved", "angles", "corners", "plain") and not _SEVERAL.search(inner):
            continue
        yield from _by_lines(text[at : hit.start()])
        if hit.lastgroup != "code":
            yield True, inner
        elif len(inner) <= _MOST_CODE:
            yield True, inner.partition("\n")[2]
        at = hit.end()
    yield from _by_lines(text[at:end])
    if end < len(text):
        yield True, text[end:]


def own_words(sentence: str) -> str:
    """A sentence without what it quotes at some length: what marks it stands in the rest."""
    return _INLINE.sub(" … ", sentence)


def _by_lines(text: str) -> Iterator[tuple[bool, str]]:
    """Runs of lines that begin with ``>``, or are long and stand behind a colon at the end of a line, and of others."""
    introduced = False
    lines: list[tuple[bool, str]] = []
    for line in text.split("\n"):
        quotes = bool(_QUOTING_LINE.match(line)) or (introduced and len(line.encode(errors="replace")) > _PARAGRAPH)
        introduced = introduced or line.rstrip().endswith((":", "："))
        lines.append((quotes, line.lstrip(" \t>") if quotes else line))
    for quotes, run in groupby(lines, key=itemgetter(0)):
        yield quotes, "\n".join(line for _, line in run)
