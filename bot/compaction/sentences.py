"""Where the sentences of a text end, in any writing; and lists, each with what introduces it. Pure.

A point may be that of an abbreviation or a number, which is told by the letters before it and what stands behind it,
and by no list of any language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST_LIST = 200
"""Characters of a list that stands in one line with what introduces it."""
_ITEM = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)]|#{1,6})\s+")
_INTRODUCES = re.compile(r"[:：]\s*\Z")
_END = re.compile(r"([.!?…][\"”’»')\]*]?(?=\s)|[。！？；।॥۔؟])\s*")
_LAST = re.compile(r"(?:\A|[\s(\[\"'«“/-])((?:[^\W\d_]{1,20}\.)+|\d{1,2}\.)\Z")
_LONGEST_LAST = 40
_INITIAL, _SHORT = 2, 3
"""Letters of a word before a point that is an abbreviation, in whatever language; and where the next word is small."""


def sentences_in(text: str, *, joined: bool = True) -> list[str]:
    """The sentences of a text, each word for word. ``joined``: an item stands in one with what introduces the list."""
    found: list[str] = []
    in_list = False
    for line in filter(str.strip, text.splitlines()):
        marker = _ITEM.match(line)
        plain = " ".join(line.split())
        in_list = joined and bool(marker and found) and (in_list or bool(_INTRODUCES.search(found[-1])))
        if in_list and len(found[-1]) + len(plain) < _LONGEST_LIST:
            found[-1] = f"{found[-1]} {plain}"
        else:
            found += _split(" ".join(line[marker.end() :].split()) if marker else plain)
    return found


def asks(text: str) -> bool:
    """Whether a text ends in a question, in whatever writing."""
    return text.rstrip(" \t\n\"'”’»)」*_").endswith(("?", "？", "؟", "՞"))


def _split(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        stop, begin = end.end(1), end.end()
        if stop > start and not _goes_on(line[max(start, stop - _LONGEST_LAST) : stop], line[begin : begin + 2]):
            yield line[start:stop].strip()
            start = begin
    if rest := line[start:].strip():
        yield rest


def _goes_on(before: str, after: str) -> bool:
    """Whether the point at the end of ``before`` is that of an abbreviation or a number within a sentence."""
    found = _LAST.search(before.rpartition(" ")[2]) if after and before[-1] == "." else None
    word = found[1][:-1] if found else ""
    is_short = "." in word or word.isdigit() or len(word) <= _INITIAL
    return bool(found) and (is_short or (len(word) <= _SHORT and after[0].islower()))
