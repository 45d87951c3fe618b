"""A time in words, strictly: understood, asked back, or past. Pure.

What can be meant in one way alone is understood. What can be meant in several is asked, with what it may be. Nothing
is understood of which a word is left over.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import product

from bot.agent.appointments.reading.grammar import LAST_DAY, Date, Said, TimeOfDay, said
from bot.agent.appointments.reading.words import LANGUAGES, signs
from bot.agent.appointments.schedule import LATEST, Schedule, first, wall

MOST_READINGS = 4
_HALF_A_DAY = 12
_EARLY = range(1, 7)
"""Hours that alone may be of either half of the day; what is at 7 to 11 with a day is in its morning."""
_MONTHS = 12
_SUNDAY = 6
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_OFTENEST_SECONDS = 60
_TIMES = {
    "": (9, 13, 18),
    "morning": (8, 9, 10),
    "midday": (12, 13),
    "afternoon": (14, 15, 16),
    "evening": (18, 19, 20),
    "night": (20, 21, 22),
}
"""What is proposed where no time was said."""
_UNIT_DAYS = {"d": 1, "w": 7}
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600}
_LEAP_YEARS = 9
_INTERVAL = re.compile(r"INTERVAL=\d+")


@dataclass(frozen=True)
class Understood:
    """It can be meant in one way."""

    schedule: Schedule


@dataclass(frozen=True)
class Asked:
    """It may be one of these, or (none) cannot be told. ``why``: a sentence for people."""

    why: str
    readings: tuple[Schedule, ...] = ()


@dataclass(frozen=True)
class Past:
    """It was already."""

    schedule: Schedule


Outcome = Understood | Asked | Past

NOT_UNDERSTOOD = "I do not understand when that is."
WHICH = "Which of these do you mean?"
WHAT_TIME = "At what time?"
DID_YOU_MEAN = "Did you mean this?"
NO_END = "Nothing that is repeated ends by itself: it comes until it is cancelled. Did you mean this?"
TOO_OFTEN = "That is more often than once a minute, which is as often as it can be."


@dataclass(frozen=True)
class Now:
    """``seconds`` since 1970, in a zone."""

    seconds: float
    zone: str

    @property
    def local(self) -> datetime:
        """What the wall says."""
        return wall(self.seconds, self.zone)


class _ImpossibleError(ValueError):
    """There is no such time; the text says why, for people."""


def read(text: str, now: Now) -> Outcome:
    """What all of this text says."""
    outcomes = [found for found, reach in readings_of(text, now) if reach == len(text.rstrip())]
    return together(outcomes)


def readings_of(text: str, now: Now) -> list[tuple[Outcome, int]]:
    """What its beginning says in each language that says a time so, and how far (characters) that reaches."""
    found: list[tuple[Outcome, int]] = []
    for language in LANGUAGES:
        parts = said(signs(text, language))
        if parts.reach:
            found.append((_outcome(parts, now), parts.reach))
    return found


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """What is meant, where languages may read the same words in several ways."""
    if not outcomes:
        return Asked(NOT_UNDERSTOOD)
    if all(outcome == outcomes[0] for outcome in outcomes):
        return outcomes[0]
    readings: list[Schedule] = []
    for outcome in outcomes:
        readings += outcome.readings if isinstance(outcome, Asked) else [outcome.schedule]
    return Asked(WHICH, _distinct(readings))


def _distinct(readings: Sequence[Schedule]) -> tuple[Schedule, ...]:
    return tuple(dict.fromkeys(readings))[:MOST_READINGS]


def _outcome(parts: Said, now: Now) -> Outcome:
    try:
        return _resolved(parts, now)
    except _ImpossibleError as error:
        return Asked(str(error))
    except (ValueError, OverflowError):  # a figure that no calendar has
        return Asked(NOT_UNDERSTOOD)


def _resolved(parts: Said, now: Now) -> Outcome:
    if parts.is_repeated:
        return _repeated(parts, now)
    if parts.delta and parts.filled == {"delta"}:
        return _from_now(parts, now)
    days, must_ask = _days(parts, now)
    times = _times(parts, is_day_known=bool(parts.filled & {"day", "weekdays", "date", "delta"}))
    if parts.which == "habit" and times:
        return _habit(parts, now, days, times)
    if not times:
        return _without_time(parts, now, days)
    if days is None:
        found = [_next_at(at, now) for at in times]
        if len(times) == 1 and _may_be_evening(parts, now):
            found.append(_next_at(times[0].replace(hour=times[0].hour + _HALF_A_DAY), now))
    else:
        found = [_once(day, at, now.zone) for day, at in product(days, times)]
    return _chosen(found, now, must_ask=must_ask or parts.vague)


def _chosen(found: Sequence[Schedule], now: Now, *, must_ask: bool = False) -> Outcome:
    """Of several that may be meant those that are past cannot be."""
    if any(one.local >= LATEST for one in found):
        return Asked(NOT_UNDERSTOOD)
    future = sorted({one for one in found if one.instant > now.seconds}, key=lambda one: one.instant)
    if not future:
        return Past(found[0])
    if len(future) > 1 or must_ask:
        return Asked(WHICH, _distinct(future))
    return Understood(future[0])


def _once(day: date, at: time, zone: str) -> Schedule:
    return Schedule(datetime.combine(day, at), zone)


def _next_at(at: time, now: Now) -> Schedule:
    today = _once(now.local.date(), at, now.zone)
    return today if today.instant > now.seconds else _once(now.local.date() + timedelta(days=1), at, now.zone)


def _from_now(parts: Said, now: Now) -> Outcome:
    """What is said in hours or less is that much time; days and more are on the wall."""
    seconds = sum(count * _UNIT_SECONDS[unit] for count, unit in parts.delta if unit in _UNIT_SECONDS)
    on_wall = [(count, unit) for count, unit in parts.delta if unit not in _UNIT_SECONDS]
    if not on_wall:
        due = now.seconds + seconds
        return Understood(Schedule(wall(due, now.zone), now.zone, at=due)) if seconds else Asked(NOT_UNDERSTOOD)
    day, clock = _after(now.local.date(), on_wall), now.local.time().replace(microsecond=0)
    if seconds:
        return Asked(WHAT_TIME)
    if day >= LATEST.date():
        return Asked(NOT_UNDERSTOOD)
    nine = _once(day, time(9), now.zone)
    return Asked(WHAT_TIME, _distinct([_once(day, clock.replace(second=0), now.zone), nine]))


def _after(day: date, counts: Sequence[tuple[int, str]]) -> date:
    for count, unit in counts:
        if unit in _UNIT_DAYS:
            day += timedelta(days=count * _UNIT_DAYS[unit])
        elif unit in "My":
            months = day.year * _MONTHS + day.month - 1 + count * (_MONTHS if unit == "y" else 1)
            year, month = divmod(months, _MONTHS)
            day = date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
        else:
            raise _ImpossibleError(NOT_UNDERSTOOD)
    return day


def _days(parts: Said, now: Now) -> tuple[list[date] | None, bool]:
    """The days that may be meant, None for whichever is next; and whether it is asked also where only one is not
    past."""
    today = now.local.date()
    if parts.delta:
        return [_after(today, parts.delta)], False
    if parts.day:
        return [today + timedelta(days={"today": 0, "tomorrow": 1, "day2": 2, "yesterday": -1}[parts.day])], False
    if parts.date:
        days = _dates(parts.date, today)
        if parts.weekdays and (days := [day for day in days if day.weekday() in parts.weekdays]) == []:
            raise _ImpossibleError("The day of the week and the date do not agree.")
        return days, parts.date.other is not None
    if parts.weekdays:
        return _on_weekday(parts, today), parts.which in ("next", "next week") and len(_on_weekday(parts, today)) > 1
    if parts.midnight or parts.time or parts.part:
        return ([today] if parts.part and not parts.time else None), False
    raise _ImpossibleError(NOT_UNDERSTOOD)


def _dates(said_date: Date, today: date) -> list[date]:
    if not said_date.month:
        return _days_of_months(said_date.day, today)
    orders = [(said_date.day, said_date.month), *([said_date.other] if said_date.other else [])]
    found = [_date_of(day, month, said_date.year, today) for day, month in orders]
    return list(dict.fromkeys(found))


def _days_of_months(day: int, today: date) -> list[date]:
    """ "On the 20th": of the first month that it is not over in. What is today may be today, or a month on."""
    if not 1 <= day <= 31:  # noqa: PLR2004  # days of a month
        raise _ImpossibleError("No month has such a day.")
    found: list[date] = []
    year, month = today.year, today.month
    while not found or found == [today]:
        if day <= calendar.monthrange(year, month)[1] and (one := date(year, month, day)) >= today:
            found.append(one)
        year, month = (year, month + 1) if month < _MONTHS else (year + 1, 1)
    return found


def _date_of(day: int, month: int, year: int, today: date) -> date:
    """Without a year: the next one that there is."""
    for one in [year] if year else range(today.year, today.year + _LEAP_YEARS):
        last = calendar.monthrange(one, month)[1] if 1 <= month <= _MONTHS else 0
        if 1 <= (wanted := last if day == LAST_DAY else day) <= last:
            found = date(one, month, wanted)
            if year or found >= today:
                return found
    named = calendar.month_name[month] if 1 <= month <= _MONTHS else f"month {month}"
    raise _ImpossibleError(f"There is no {day} {named}{f' {year}' if year else ''}.")


def _on_weekday(parts: Said, today: date) -> list[date]:
    wanted = parts.weekdays[0]
    ahead = (wanted - today.weekday()) % 7
    nearest = today + timedelta(days=ahead)
    if parts.which in ("", "habit"):
        return [nearest, nearest + timedelta(days=7)] if ahead == 0 else [nearest]
    if parts.which == "short":  # "Sam 16:30": on Saturday, or somebody's name
        return list(dict.fromkeys([today, nearest]))
    if parts.which == "this":
        return [nearest] if wanted >= today.weekday() else [nearest, nearest - timedelta(days=7)]
    coming = nearest if ahead else nearest + timedelta(days=7)
    next_week = today - timedelta(days=today.weekday()) + timedelta(days=7 + wanted)
    if parts.which == "next week":  # where weeks begin on Sunday that day is a week earlier
        return [next_week] if wanted != _SUNDAY else [next_week - timedelta(days=7), next_week]
    return [coming] if parts.which == "coming" else list(dict.fromkeys([coming, next_week]))


def _times(parts: Said, *, is_day_known: bool) -> list[time]:
    """The times of day that may be meant; none where none was said. Raises _ImpossibleError."""
    said_time = parts.time
    if said_time is None:
        return []
    hours = _hours(said_time, parts.part)
    if not hours or not (0 <= said_time.minute < 60 and 0 <= said_time.second < 60):  # noqa: PLR2004
        raise _ImpossibleError("There is no such time of day.")
    if parts.midnight and is_day_known:
        raise _ImpossibleError("Midnight belongs to two days: say 0:00 of the day that it begins.")
    return [time(hour, said_time.minute, said_time.second) for hour in hours]


def _hours(said_time: TimeOfDay, part: str) -> list[int]:
    hour = said_time.hour
    if not 0 <= hour < 24:  # noqa: PLR2004  # hours of a day
        return []
    if hour > _HALF_A_DAY or hour == 0 or said_time.is_exact:
        fits = part != "morning" or hour < _HALF_A_DAY
        fits &= part not in ("midday", "afternoon", "evening") or hour >= _HALF_A_DAY
        return [hour] if fits else []
    if part == "morning":
        return [hour] if hour < _HALF_A_DAY else []
    if part == "midday":
        return [hour] if hour >= _HALF_A_DAY - 1 else [hour + _HALF_A_DAY]
    if part in ("afternoon", "evening"):
        return [hour % _HALF_A_DAY + _HALF_A_DAY]
    if part == "night":
        return [hour + _HALF_A_DAY] if 6 <= hour < _HALF_A_DAY else [hour, (hour + _HALF_A_DAY) % 24]  # noqa: PLR2004
    return [hour, hour + _HALF_A_DAY] if hour in _EARLY else [hour]


def _may_be_evening(parts: Said, now: Now) -> bool:
    """ "At 8", said at ten in the morning: tonight, or tomorrow?"""
    at = parts.time
    if at is None or at.is_exact or at.is_clock or parts.part or not 7 <= at.hour < _HALF_A_DAY:  # noqa: PLR2004
        return False
    clock = now.local.time()
    return time(at.hour, at.minute) <= clock < time(at.hour + _HALF_A_DAY, at.minute)


def _without_time(parts: Said, now: Now, days: Sequence[date] | None) -> Outcome:
    proposed = [time(hour) for hour in _TIMES[parts.part]]
    if days is None:
        raise _ImpossibleError(NOT_UNDERSTOOD)
    found = [_once(day, at, now.zone) for day, at in product(days[:1], proposed)]
    future = [one for one in found if one.instant > now.seconds]
    if not future and max(days) < now.local.date():
        return Past(found[0])
    return Asked(WHAT_TIME, _distinct(future))


def _habit(parts: Said, now: Now, days: Sequence[date] | None, times: Sequence[time]) -> Outcome:
    """ "Le lundi": on Monday, or on Mondays."""
    once = _chosen([_once(day, at, now.zone) for day, at in product(days or (), times)], now, must_ask=True)
    often = _repeated(replace(parts, is_repeated=True, every=(1, "w"), which=""), now)
    return together([once, often])


def _repeated(parts: Said, now: Now) -> Outcome:
    count, unit = parts.every or (1, "d")
    if unit in _UNIT_SECONDS:
        return _every_while(parts, count, unit, now)
    rules, times = _rules(parts, count, unit, now), _times(parts, is_day_known=False)
    if parts.delta or parts.day or parts.which:
        return Asked(NOT_UNDERSTOOD)
    if not 1 <= count <= 1_000:  # noqa: PLR2004
        return Asked(NOT_UNDERSTOOD)
    must_ask = parts.vague or not times
    times = times or [time(hour) for hour in _TIMES[parts.part]]
    found = [one for rule, at in product(rules, times) if (one := _begun(rule, at, now))]
    if parts.workdays == "weekend" and parts.vague:  # "at the weekend" may be this one, and each
        coming = [now.local.date() + timedelta(days=(day - now.local.weekday()) % 7) for day in (5, _SUNDAY)]
        once = [_once(day, at, now.zone) for day, at in product(coming, times)]
        found = sorted((one for one in once if one.instant > now.seconds), key=lambda one: one.instant) + found
    if not found:
        return Asked(NOT_UNDERSTOOD)
    if len(found) > 1 or must_ask:
        return Asked(WHICH if parts.time else WHAT_TIME, _distinct(found))
    return Understood(found[0])


def _begun(rule: str, at: time, now: Now) -> Schedule | None:
    """It begins with the next day that it may have: what is every other week this week or next."""
    start = datetime.combine(now.local.date(), at)
    found = first(_INTERVAL.sub("INTERVAL=1", rule), now.zone, start=start, after=now.seconds)
    return replace(found, rule=rule) if found else None


def _every_while(parts: Said, count: int, unit: str, now: Now) -> Outcome:
    step = count * _UNIT_SECONDS[unit]
    if step < _OFTENEST_SECONDS:
        return Asked(TOO_OFTEN)
    if parts.filled != {"every"} or step % _OFTENEST_SECONDS or count > 100_000:  # noqa: PLR2004
        return Asked(NOT_UNDERSTOOD)
    due = now.seconds + step
    freq = "HOURLY" if unit == "h" else "MINUTELY"
    interval = count if unit != "s" else step // _OFTENEST_SECONDS
    return Understood(Schedule(wall(due, now.zone), now.zone, f"FREQ={freq};INTERVAL={interval}", due))


def _rules(parts: Said, count: int, unit: str, now: Now) -> list[str]:
    """What goes on so, as RFC 5545 has it. Raises _ImpossibleError."""
    if parts.workdays:
        days = {"workday": ["MO,TU,WE,TH,FR"], "weekend": ["SA,SU"]}
        both = ["MO,TU,WE,TH,FR", "MO,TU,WE,TH,FR,SA"]
        return [f"FREQ=WEEKLY;INTERVAL=1;BYDAY={one}" for one in days.get(parts.workdays, both)]
    if parts.place:
        return [_placed(parts, count)]
    if unit == "y":
        if parts.date is None or parts.date.year or parts.date.other:
            raise _ImpossibleError("On which day of the year? For example: every year on 24 December at 18:00.")
        return [_yearly(parts.date, count)]
    if parts.date:
        raise _ImpossibleError(NOT_UNDERSTOOD)
    if unit == "M":
        return [f"FREQ=MONTHLY;INTERVAL={count};{_month_day(parts.month_day or now.local.day)}"]
    if unit == "w":
        days = [_CODES[day] for day in parts.weekdays] or [_CODES[now.local.weekday()]]  # type: ignore[assignment]
        return [f"FREQ=WEEKLY;INTERVAL={count};BYDAY={','.join(days)}"]
    if parts.weekdays:
        raise _ImpossibleError(NOT_UNDERSTOOD)
    return [f"FREQ=DAILY;INTERVAL={count}"]


def _placed(parts: Said, count: int) -> str:
    if parts.weekdays:
        return f"FREQ=MONTHLY;INTERVAL={count};BYDAY={parts.place}{_CODES[parts.weekdays[0]]}"
    return f"FREQ=MONTHLY;INTERVAL={count};BYMONTHDAY={parts.place}"


def _month_day(day: int) -> str:
    """A day that not every month has is its last one there."""
    if not 1 <= day <= 31:  # noqa: PLR2004  # days of a month
        raise _ImpossibleError("No month has such a day.")
    if day == 31:  # noqa: PLR2004
        return "BYMONTHDAY=-1"
    if day > 28:  # noqa: PLR2004
        return f"BYMONTHDAY={','.join(map(str, range(28, day + 1)))};BYSETPOS=-1"
    return f"BYMONTHDAY={day}"


def _yearly(said_date: Date, count: int) -> str:
    day, month = said_date.day, said_date.month
    _date_of(day, month, 0, date(2024, 1, 1))  # a leap year
    month_day = -1 if (day, month) == (29, 2) else day
    return f"FREQ=YEARLY;INTERVAL={count};BYMONTH={month};BYMONTHDAY={month_day}"
