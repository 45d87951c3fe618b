"""Where a phrase says when, and where it says what: `tomorrow 9:00 call Ana`, `call Ana tomorrow at 9`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.agent.appointments.reading.abroad import may_say_time
from bot.agent.appointments.reading.reading import (
    DID_YOU_MEAN,
    NO_END,
    NOT_UNDERSTOOD,
    Asked,
    Now,
    Outcome,
    Understood,
    read,
    readings_of,
    together,
)
from bot.agent.appointments.reading.words import LANGUAGES, signs

_LEADING = re.compile(r"(?:me|mich|moi|me)\s+", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s:,–—-]+")
_TO = re.compile(r"(?:to|that)\s+", re.IGNORECASE)
_WORD_BEGINS = re.compile(r"(?<!\S)(?=\S)")
_MORE = re.compile(
    r"AND(?: |$)|(?:[WS]\d|@|PLUS|LESS|HALFPAST|QPAST|QTO|DEHALF|EVERY|TODAY|TOMORROW|DAY2|YESTERDAY|NEXTWEEK|OF[a-z]|"
    r"[/#.]\d)"
)
"""Behind a time: more of it, which was not understood."""
_OR = re.compile(r"(?:or|oder|ou)\s", re.IGNORECASE)
_HOW_LONG = re.compile(r"(?:FOR )?\d+ U[dwMy]|TILL")
"""Behind what is repeated: for how long it is, which cannot be."""
_ONLY_A_CLOCK = re.compile(
    r"(?:(?:AT|THE|@\S+|\d{1,2}|OCLOCK|Uh|NOON|MIDNIGHT|PLUS\w+|LESS\w+|HALFPAST|QPAST|QTO|DEHALF)(?: |$))+$"
)
_NO_DAY = re.compile(
    r"(?:(?:AT|THE|LE|ON|OF|@\S+|\d{1,2}|OCLOCK|Uh|NOON|MIDNIGHT|PLUS\w+|LESS\w+|HALFPAST|QPAST|QTO|DEHALF|OF[a-z]+|P[a-z]+)"
    r"(?: |$))+$"
)
"""A time of day, and nothing of a day."""
_A_DATE = re.compile(r"\d{1,2}th|[/#.]\d")
_NO_NUMBER = re.compile(r"(?!w\d)\D|\d{1,2}th")
"""Of the word before a time, which may belong to it: "at half past | midnight"."""
_MOST_BEGINNINGS = 12
"""Words of the end that may say when."""


@dataclass(frozen=True)
class Split:
    """``when``: the words that say so; ``what``: the rest, as it was written."""

    outcome: Outcome
    when: str
    what: str


def split(text: str, now: Now) -> Split | None:
    """The longest beginning that says when, else an end that does; None where neither is there."""
    text = text.strip()
    if leading := _LEADING.match(text):
        text = text[leading.end() :]
    return _at_the_beginning(text, now) or _at_the_end(text, now)


def _at_the_beginning(text: str, now: Now) -> Split | None:
    found = readings_of(text, now)
    furthest = max((reach for _, reach in found), default=0)
    if not furthest or not _ends_there(text, furthest):
        return None
    outcome = together([outcome for outcome, reach in found if reach == furthest])
    what = _BETWEEN.sub("", text[furthest:], count=1) if _BETWEEN.match(text, furthest) else text[furthest:]
    if _is_repeated(outcome) and _says(_HOW_LONG, text[furthest:]):
        outcome = _doubted(outcome, NO_END)
    elif _says(_MORE, what) or _OR.match(what) or _lacks_a_day(text[:furthest], what):
        outcome = _doubted(outcome)
    return Split(outcome, text[:furthest], _without_to(what))


def _ends_there(text: str, at: int) -> bool:
    return at == len(text) or bool(_BETWEEN.match(text, at))


def _at_the_end(text: str, now: Now) -> Split | None:
    """The longest end that says when, and nothing else: a shorter one may leave a word out that belongs to it."""
    for at in [found.start() for found in _WORD_BEGINS.finditer(text)][1:][-_MOST_BEGINNINGS:]:
        outcome = read(text[at:], now)
        if outcome == Asked(NOT_UNDERSTOOD):
            continue
        what = text[:at].strip(" ,:–—-")
        last = what.split()[-1:]
        is_part = _says(_ONLY_A_CLOCK, text[at:]) and any(_says(_NO_NUMBER, word) for word in last)
        if is_part or _lacks_a_day(text[at:], what):
            outcome = _doubted(outcome)
        return Split(outcome, text[at:], _without_to(what))
    return None


def _without_to(what: str) -> str:
    return _TO.sub("", what, count=1) if _TO.match(what) else what


def _is_repeated(outcome: Outcome) -> bool:
    return isinstance(outcome, Understood) and outcome.schedule.is_repeated


def _doubted(outcome: Outcome, why: str = DID_YOU_MEAN) -> Outcome:
    """It is asked whether that is what is meant."""
    return Asked(why, (outcome.schedule,)) if isinstance(outcome, Understood) else outcome


def _says(pattern: re.Pattern[str], words: str) -> bool:
    """Whether these words begin so in any language."""
    return any(pattern.match(" ".join(sign.text for sign in signs(words, language))) for language in LANGUAGES)


def _lacks_a_day(when: str, what: str) -> bool:
    """Whether it is a time of day alone, and what stands beside it may say the day, in whatever language. Where the
    time is figures and no word, nothing shows that the language is one that is read."""
    if not what or not _says(_NO_DAY, when):
        return False
    is_figures = not any(map(str.isalpha, when))
    says_date = any(_says(_A_DATE, what[found.start() :]) for found in _WORD_BEGINS.finditer(what))
    return is_figures or says_date or may_say_time(what)
