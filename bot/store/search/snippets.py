"""The part of a text that shows why it was found. Pure."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice

from bot.estimate.cuts import cut_after, cut_before, head_of
from bot.store.search.words import PREFIX, STEM, Wanted

_SEARCHED = 100_000
"""Characters of a text."""
_MOST_PLACES = 500
_LEAD = 0.25
"""Of a snippet: what stands before the first word of the query in it."""
_BEGINS, _WHOLE = r"(?<!\w)", r"\w*"
_BETWEEN_DIGITS = "[,\u00a0\u202f]?"
_CYRILLIC = re.compile("[\u0400-\u052f]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uac00-\ud7a3\U00020000-\U000323af]")


def snippet(text: str, words: Sequence[Wanted], width: int) -> str:
    """About ``width`` characters of a text, on one line, around the most words of a query that stand together."""
    line = " ".join(head_of(text, _SEARCHED).split())
    if len(line) <= width:
        return line if len(text) <= _SEARCHED else f"{line} …"
    start = _start(line, words, width)
    end = start + width
    start = cut_before(line, start)
    earliest = start + width // 2
    end = place if (place := cut_before(line, end)) > earliest else cut_after(line, end)
    return f"{'… ' if start else ''}{line[start:end].strip()}{' …' if end < len(line) else ''}"


def excerpt(text: str, words: Sequence[Wanted], width: int) -> str:
    """About ``width`` characters of a text as they stand, around the most words of a query that stand together. It
    begins with a line, where one begins near."""
    text = text[:_SEARCHED]
    if len(text) <= width:
        return text
    start = _start(text, words, width)
    begin = text.rfind("\n", max(0, start - width // 4), start) + 1 or start
    return text[begin : start + width]


def found_in(text: str, words: Sequence[Wanted]) -> list[tuple[int, int]]:
    """Where words of a query stand in a text, from and up to, in order: each as long as the word that it is, or begins.
    With accents or without, where the query has none."""
    pattern = _pattern(words, _BEGINS, _WHOLE) if words else None
    if pattern is None:
        return []
    bare = "".join(map(_bare, text)) if not text.isascii() else text
    spans = [hit.span() for version in {text, bare} for hit in islice(pattern.finditer(version), _MOST_PLACES)]
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _bare(letter: str) -> str:
    """Without its accent, if what is left is one letter, as :mod:`bot.store.search.words` does it in these scripts."""
    parts = unicodedata.normalize("NFD", letter)
    is_accented = len(parts) > 1 and all(unicodedata.category(mark) == "Mn" for mark in parts[1:])
    keeps_it = _CYRILLIC.match(letter) and letter not in "ёЁ"
    return parts[0] if is_accented and not keeps_it else letter


def _start(line: str, words: Sequence[Wanted], width: int) -> int:
    places = _places(line, words, _BEGINS) or _places(line, words, "")
    if not places:
        return 0
    starts = [start for start, _ in places]
    reach = int(width * (1 - _LEAD))

    def different(at: int) -> int:
        """Words of the query in a snippet that begins with this one."""
        return len({word for _, word in places[at : bisect_left(starts, starts[at] + reach)]})

    best = max(range(len(places)), key=lambda at: (different(at), -at))
    return max(0, min(starts[best] - int(width * _LEAD), len(line) - width))


def _places(line: str, words: Sequence[Wanted], before: str) -> list[tuple[int, str]]:
    """Where words of a query stand, or in scripts with spaces what begins like one without its ending."""
    pattern = _pattern(words, before)
    found = pattern.finditer(line) if pattern else ()
    return [(hit.start(), hit[0].casefold()) for hit in islice(found, _MOST_PLACES)]


def _pattern(words: Sequence[Wanted], before: str, after: str = "") -> re.Pattern[str] | None:
    """``before`` and ``after``: what stands around a word in scripts with spaces."""
    forms = {part.strip(STEM + PREFIX) for word in words for form in word.forms for part in form}
    longest_first = sorted(filter(None, forms), key=len, reverse=True)
    patterns = [
        re.escape(form) if _UNSPACED.match(form) else f"{before}{_of_form(form)}{after}" for form in longest_first
    ]
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _of_form(form: str) -> str:
    """A number may stand in groups of digits."""
    return _BETWEEN_DIGITS.join(form) if form.isdecimal() else re.escape(form)
