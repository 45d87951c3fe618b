"""Whether words hold a time in any language: what "at 9:00" is not all of, where it stands beside them.

`dateparser` ships what days, months, units and relative days are called in some 200 languages (the tables of Unicode's
CLDR). They are not read as a time here; they tell that one may be left over. An ending or a compound of such a word
("torstaina", "holnapután") counts like the word itself, and a short one not at all: "so" is a Sunday in German, and
mostly something else. What is written in letters that none of our languages has may say anything.

The tables lack one word in most languages, which is no compound in some of them: the day after tomorrow. That list is
ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from bot.agent.appointments.reading.words import plain

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")  # fmt: skip
_UNITS = ("year", "month", "week", "day", "hour", "minute", "fortnight", "morning", "afternoon", "evening", "night",
          "early_morning", "am", "pm")  # fmt: skip
_DAY_AFTER_TOMORROW = (
    "afak'ampitso", "amanathar", "an-earar", "antronoz", "birigün", "birisi gün", "drennydd", "etzi", "ertesi gün",
    "iwwermuer", "jibi", "lusa", "makalawa", "ngày kia", "ngày mốt", "oermoarn", "oormôre", "öbür gün", "pasadomañá",
    "passado manhã", "perendie", "pojutrze", "poryt", "postmorgaŭ", "saa dambe", "ugma damlag",
)  # fmt: skip
_FEWEST_LETTERS = 4
_FEWEST_OF_A_DAY = 3
"""`joi`, `azi`: of a day's full name, and of today and tomorrow, in the :data:`_MOST_SPOKEN` first languages."""
_MOST_SPOKEN = 60
_FEWEST_OF_A_STEM = 5
_LONGEST_ENDING = 5
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_OURS = frozenset("abcdefghijklmnopqrstuvwxyzßœæªºàâáãäçéèêëíîïóôõöúùûüñÿ'’")
"""Letters of the languages that are read."""


def may_say_time(text: str) -> bool:
    """Whether a time may be left over in these words, of whatever language. It takes 0.1 s the first time."""
    words = [plain(word) for word in _WORD.findall(text)]
    return any(map(_has_other_letters, _WORD.findall(text))) or any(_is_of_time(words, at) for at in range(len(words)))


def _has_other_letters(word: str) -> bool:
    letters = unicodedata.normalize("NFC", word.casefold())
    return not _OURS.issuperset(letters)


def _is_of_time(words: list[str], at: int) -> bool:
    known, phrases, stems = _tables()
    word = words[at]
    if word in known or any(words[at : at + len(phrase)] == list(phrase) for phrase in phrases.get(word, ())):
        return True
    beginnings = (word[:end] for end in range(max(_FEWEST_OF_A_STEM, len(word) - _LONGEST_ENDING), len(word) + 1))
    ends = (word[begin:] for begin in range(1, len(word) - _FEWEST_OF_A_STEM + 1))
    return any(one in stems or one in known for one in beginnings) or any(one in known for one in ends)


@cache
def _tables() -> tuple[frozenset[str], dict[str, list[tuple[str, ...]]], frozenset[str]]:
    """Words, phrases by their first word, and words without an ending."""
    from dateparser.data.languages_info import language_order

    names = [(name, _FEWEST_LETTERS) for name in _DAY_AFTER_TOMORROW]
    for number, language in enumerate(language_order):
        info = import_module(f"dateparser.data.date_translation_data.{language}").info
        names += _names(info, _FEWEST_OF_A_DAY if number < _MOST_SPOKEN else _FEWEST_LETTERS)
    known, phrases = set[str](), dict[str, list[tuple[str, ...]]]()
    for name, fewest in names:
        words = tuple(map(plain, _WORD.findall(name)))
        if sum(map(len, words)) < fewest:
            continue
        if len(words) == 1:
            known.add(words[0])
        elif words not in (there := phrases.setdefault(words[0], [])):
            there.append(words)
    stems = {word[:-1] for word in known if len(word) > _FEWEST_OF_A_STEM}
    stems |= {word[:-2] for word in known if len(word) > _FEWEST_OF_A_STEM + 3}
    return frozenset(known), phrases, frozenset(stems)


def _names(info: dict[str, Any], fewest_of_a_day: int) -> Iterator[tuple[str, int]]:
    """What a language calls them, and how many letters such a word has to have to count."""
    full = [max(info[day], key=len) for day in _DAYS if info.get(day)]
    if any(len(name) >= _FEWEST_OF_A_STEM for name in full):  # no abbreviations
        yield from ((name, fewest_of_a_day) for name in full)
    for key in (*_DAYS, *_MONTHS, *_UNITS):
        yield from ((name, _FEWEST_LETTERS) for name in info.get(key, ()))
    relative: dict[str, list[str]] = info.get("relative-type", {})
    for key, names in relative.items():
        fewest = fewest_of_a_day if key in ("0 day ago", "in 1 day") else _FEWEST_LETTERS
        yield from ((name, fewest) for name in names)
