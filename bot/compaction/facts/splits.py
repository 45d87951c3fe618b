"""Where a sentence ends: not after an abbreviation. Pure."""

from __future__ import annotations

import re

from bot.compaction.facts.words import is_common, words_of

_END = re.compile(r"(?<=[.!?…][\"”’»')\]])\s+|(?<=[.!?…])\s+|(?<=[。！？；])")
_LAST = re.compile(r"(?:\A|[\s(\[\"'«“/-])((?:[^\W\d_]{1,20}\.){1,3})\Z")
_ORDINAL = re.compile(r"\b\d{1,2}\.\Z")
_MONTH = re.compile(r"(?:Jan|Jän|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)[a-zä]{0,6}\b")
_LONGEST = 40

_LEADING = words_of(
    """
    mr mrs ms dr prof rev hon gen sen fig figs eq sec no nos vol vs cf approx ca e.g i.e al dept st ave blvd
    ул д кв стр корп пер пр просп пл наб обл г им см св т.е т.н напр тел ред рис гл п пп
    nr bzw z.b d.h evtl ggf inkl abs str tel art s.o
    """
)
"""Abbreviations with something after them."""

_TRAILING = words_of(
    """
    etc inc ltd co corp jr sr est rd a.m p.m u.s u.k min max sq ft hr hrs
    jan feb mar apr jun jul aug sep sept oct nov dec
    руб р коп тыс млн млрд гг в вв ч мин сек шт экз т.д т.п т.к н.э др
    usw u.a etw zzgl mio mrd
    """
)
"""Abbreviations that may end a sentence, where the next word begins one."""


def split_sentences(line: str) -> list[str]:
    """The sentences of one line."""
    parts: list[str] = []
    start = 0
    for end in _END.finditer(line):
        if not _goes_on(line[max(start, end.start() - _LONGEST) : end.start()], line[end.end() : end.end() + _LONGEST]):
            parts.append(line[start : end.start()].strip())
            start = end.end()
    parts.append(line[start:].strip())
    return [part for part in parts if part]


def _goes_on(before: str, after: str) -> bool:
    """Whether the point at the end of ``before`` is that of an abbreviation within a sentence."""
    if _ORDINAL.search(before) and _MONTH.match(after):
        return True
    found = _LAST.search(before)
    if found is None or not after:
        return False
    word = found[1][:-1].casefold()
    next_word = re.match(r"\w+", after)
    begins = next_word is not None and next_word[0][0].isupper()
    if word in _LEADING or word.endswith("str"):
        return not (begins and next_word is not None and is_common(next_word[0].casefold()))
    if word in _TRAILING:
        return not begins
    return len(word) == 1 and found[1][0].isalpha() and found[1] != "I." and word.isalpha()
