"""The same instants by other means: days are walked one by one, and what a wall shows is looked for instant by instant,
by `dateutil`'s own reading of the zones. Slow, and made of nothing that the program uses.
"""

from __future__ import annotations

import calendar
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache

from dateutil import tz

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def occurrences(rule: str, start: datetime) -> Iterator[datetime]:
    """Wall times of a rule from one of them on."""
    parts = dict(part.split("=") for part in rule.split(";"))
    count = int(parts.get("INTERVAL", "1"))
    day = start.date()
    while day.year < 2100:
        if _is_day(parts, day, count, start.date()):
            yield datetime.combine(day, start.time())
        day += timedelta(days=1)


def steps(rule: str) -> int:
    """The seconds from one time to the next of what counts hours or minutes; 0 for what goes by the wall."""
    parts = dict(part.split("=") for part in rule.split(";"))
    return {"HOURLY": 3_600, "MINUTELY": 60}.get(parts["FREQ"], 0) * int(parts.get("INTERVAL", "1"))


def _is_day(parts: dict[str, str], day: date, count: int, start: date) -> bool:
    match parts["FREQ"]:
        case "DAILY":
            return (day - start).days % count == 0
        case "WEEKLY":
            weeks = (day - timedelta(days=day.weekday()) - (start - timedelta(days=start.weekday()))).days // 7
            return weeks % count == 0 and _DAYS[day.weekday()] in parts["BYDAY"].split(",")
        case "MONTHLY":
            months = (day.year - start.year) * 12 + day.month - start.month
            return months % count == 0 and day in _of_month(parts, day.year, day.month)
        case _:
            years = day.year - start.year
            is_month = day.month == int(parts["BYMONTH"])
            return years % count == 0 and is_month and day in _of_month(parts, day.year, day.month)


def _of_month(parts: dict[str, str], year: int, month: int) -> list[date]:
    length = calendar.monthrange(year, month)[1]
    every = [date(year, month, number) for number in range(1, length + 1)]
    if "BYDAY" in parts:
        place, code = int(parts["BYDAY"][:-2]), parts["BYDAY"][-2:]
        same = [one for one in every if _DAYS[one.weekday()] == code]
        at = place - 1 if place > 0 else place
        return [same[at]] if -len(same) <= at < len(same) else []
    numbers = [int(number) for number in parts["BYMONTHDAY"].split(",")]
    found = [one for one in every if one.day in numbers or one.day - length - 1 in numbers]
    return found[-1:] if "BYSETPOS" in parts else found


@cache
def offsets(zone: str, year: int) -> tuple[tuple[int, int], ...]:
    """The instants (seconds) around a year from which on an offset (seconds) counts: found by halving."""
    found = tz.gettz(zone)
    assert found

    def offset(at: int) -> int:
        return int(datetime.fromtimestamp(at, UTC).astimezone(found).utcoffset().total_seconds())  # type: ignore[union-attr]

    low = int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) - 7 * 86_400
    end = low + 380 * 86_400
    changes = [(low, offset(low))]
    while low < end:
        high = low + 86_400
        if offset(high) != changes[-1][1]:
            a, b = low, high
            while b - a > 1:
                middle = (a + b) // 2
                a, b = (middle, b) if offset(middle) == changes[-1][1] else (a, middle)
            changes.append((b, offset(high)))
        low = high
    return tuple(changes)


def instant(local: datetime, zone: str) -> float:
    """The first instant at which a wall shows this; where none does, by the offset before the gap."""
    changes = offsets(zone, local.year)
    naive = calendar.timegm(local.timetuple())
    fits = []
    for at, (begins, offset) in enumerate(changes):
        ends = changes[at + 1][0] if at + 1 < len(changes) else float("inf")
        if begins <= naive - offset < ends:
            fits.append(naive - offset)
    if fits:
        return float(min(fits))
    before = bisect_left([begins + offset for begins, offset in changes], naive + 1) - 1
    return float(naive - changes[before][1])
