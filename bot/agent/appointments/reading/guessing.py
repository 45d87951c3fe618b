"""What a library makes of words that the strict reading does not understand: never taken, always asked.

`dateparser` reads more than it should ("may" alone is a date for it). What it says is put to people as a question, and
only when they say yes does it count.
"""

from __future__ import annotations

import re
import warnings

from bot.agent.appointments.reading.reading import DID_YOU_MEAN, Asked, Now
from bot.agent.appointments.reading.splitting import Split
from bot.agent.appointments.reading.words import LANGUAGES
from bot.agent.appointments.schedule import LATEST, Schedule

_MOST_WORDS = 8
_LESS_THAN_NOTHING = re.compile(r"(?<!\S)[-−]\d")


def guess(text: str, now: Now) -> Split | None:
    """The longest beginning of these words that may say when; None where none does. It takes a while."""
    words = text.split()
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        when = " ".join(words[:count])
        if count < len(words) and (schedule := _guessed(when, now)):
            return Split(Asked(DID_YOU_MEAN, (schedule,)), when, " ".join(words[count:]))
    return None


def _guessed(when: str, now: Now) -> Schedule | None:
    if not any(letter.isdigit() for letter in when) or _LESS_THAN_NOTHING.search(when):
        return None  # no time of day
    import dateparser

    settings = {
        "RELATIVE_BASE": now.local,
        "PREFER_DATES_FROM": "future",
        "STRICT_PARSING": False,
        "RETURN_AS_TIMEZONE_AWARE": False,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it does inside
        found = dateparser.parse(when, languages=list(LANGUAGES), settings=settings)
    if found is None or found.tzinfo is not None or found >= LATEST:
        return None
    schedule = Schedule(found.replace(second=0, microsecond=0), now.zone)
    return schedule if schedule.instant > now.seconds else None
