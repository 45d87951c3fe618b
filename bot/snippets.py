"""The part of a text that shows why it was found. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice

from bot.words import PREFIX, STEM, Wanted

_SEARCHED = 100_000
"""Characters of a text."""
_MOST_PLACES = 500
_LEAD = 0.25
"""Of a snippet: what stands before the first word of the query in it."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uac00-\ud7a3\U00020000-\U000323af]")


def snippet(text: str, words: Sequence[Wanted], width: int) -> str:
    """About ``width`` characters of a text, on one line, around the most words of a query that stand together."""
    line = " ".join(text[:_SEARCHED].split())
    if len(line) <= width:
        return line if len(text) <= _SEARCHED else f"{line} …"
    start = _start(line, words, width)
    end = start + width
    if start:
        start = _at_space(line, start, start + width // 8)
    if end < len(line):
        end = line.rfind(" ", end - width // 8, end) if " " in line[end - width // 8 : end] else end
    return f"{'… ' if start else ''}{line[start:end].strip()}{' …' if end < len(line) else ''}"


def _start(line: str, words: Sequence[Wanted], width: int) -> int:
    places = _places(line, words, r"(?<!\w)") or _places(line, words, "")
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
    forms = {part.strip(STEM + PREFIX) for word in words for form in word.forms for part in form}
    longest_first = sorted(filter(None, forms), key=len, reverse=True)
    patterns = [re.escape(form) if _UNSPACED.match(form) else before + re.escape(form) for form in longest_first]
    if not patterns:
        return []
    found = re.finditer("|".join(patterns), line, re.IGNORECASE)
    return [(hit.start(), hit[0].casefold()) for hit in islice(found, _MOST_PLACES)]


def _at_space(line: str, start: int, latest: int) -> int:
    """The beginning of a word, where one is near."""
    space = line.find(" ", start, latest)
    return space + 1 if space >= 0 else start
