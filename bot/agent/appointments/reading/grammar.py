"""What signs say together: each part of a time at most once, in any order, as far as it goes. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from bot.agent.appointments.reading.words import Sign


@dataclass(frozen=True)
class TimeOfDay:
    """``hour`` and ``minute`` as said. ``is_exact``: it can be no other half of the day."""

    hour: int
    minute: int = 0
    second: int = 0
    is_exact: bool = False
    is_clock: bool = False
    """Written as clocks of 24 hours show it: 9:00."""


@dataclass(frozen=True)
class Date:
    """A day as said; ``year`` 0: none was; ``month`` 0: neither was a month. ``other``: the same
    figures as the other order of day and month has them."""

    day: int
    month: int
    year: int = 0
    other: tuple[int, int] | None = None


@dataclass(frozen=True)
class Said:
    """The parts of a time that were said, and how far (in characters) they reach."""

    delta: tuple[tuple[int, str], ...] = ()
    """So many of a unit (s, m, h, d, w, M, y) from now."""
    time: TimeOfDay | None = None
    part: str = ""
    """Of the day: morning, midday, afternoon, evening, night."""
    midnight: bool = False
    day: str = ""
    """today, tomorrow, day2, yesterday."""
    weekdays: tuple[int, ...] = ()
    which: str = ""
    """Of a weekday: this, next, next week; coming, which is the next one; habit, which may be meant once or each
    time; short, which may be no weekday."""
    date: Date | None = None
    every: tuple[int, str] | None = None
    """Each so many of a unit."""
    is_repeated: bool = False
    workdays: str = ""
    """workday; workday?, which may have Saturday in it; weekend."""
    place: int = 0
    """In a month: the first (1) to fifth, the last (-1) of the weekdays that are said; of days where none is."""
    month_day: int = 0
    vague: bool = False
    """It says something that may be one thing or another."""
    reach: int = 0
    filled: frozenset[str] = field(default=frozenset())


LAST_DAY = 32
"""Instead of a day: the last one of the month."""

_DELTA = r"(?:(\d+) U([smhdwMy]))(?: (?:AND )?(\d+) U([smhdwMy]))?(?: AND (\d+) U([smhdwMy]))?"
_CONNECTED = r"(?:ON )?(?:THE |LE )?(?:THEDAY )?"
_Values = dict[str, object]
_Make = Callable[[re.Match[str]], Any]


def _delta(found: re.Match[str]) -> _Values:
    given = [group for group in found.groups() if group]
    return {"delta": tuple((int(n), u) for n, u in zip(given[::2], given[1::2], strict=True))}


def _clock(found: re.Match[str]) -> _Values:
    hour, minute = int(found[1]), int(found[2])
    half, part = found["half"], found["of"]
    if half in ("am", "pm") and 1 <= hour <= 12:  # noqa: PLR2004  # hours of half a day
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif half and half in ("am", "pm"):
        hour = 99
    exact = half in ("am", "pm") or (len(found[1]) == 2 and hour < 10) or hour == 0  # noqa: PLR2004  # 09:00, not 10:00
    hour, minute = _shifted(hour, minute, found["shift"])
    time = TimeOfDay(hour, minute, int(found[3] or 0), is_exact=exact, is_clock=True)
    return {"time": time, **({"part": part} if part else {})}


def _shifted(hour: int, minute: int, shift: str | None) -> tuple[int, int]:
    """A quarter or a half past or to what was said."""
    of_shift = {"PLUSHALF": (hour, 30), "PLUSQUARTER": (hour, 15), "LESSQUARTER": (hour - 1, 45)}
    return of_shift.get(shift or "", (hour, minute))


def _hour(found: re.Match[str]) -> _Values:
    minute = int(found["minute"] or 0)
    shift = found["shift"]
    hour, minute = _shifted(int(found["hour"]), minute, shift)
    clock = found["oclock"] is not None and not shift
    part = found["of"]
    return {"time": TimeOfDay(hour, minute, is_clock=clock), **({"part": part} if part else {})}


def _midday(found: re.Match[str]) -> _Values:
    hour, minute = _shifted(12 if found["base"] == "NOON" else 0, 0, found["shift"])
    time = TimeOfDay(hour % 24, minute, is_exact=True)
    return {"time": time} if found["base"] == "NOON" else {"time": time, "midnight": True}


def _idiom(found: re.Match[str]) -> _Values:
    shifts = {"HALFPAST": (0, 30), "QPAST": (0, 15), "QTO": (-1, 45), "DEHALF": (-1, 30)}
    less, minute = shifts[found[1]]
    if found[2] in ("NOON", "MIDNIGHT"):
        hour = (12 if found[2] == "NOON" else 24) + less
        time = TimeOfDay(hour % 24, minute, is_exact=True)
        return {"time": time} if found[2] == "NOON" else {"time": time, "midnight": True}
    hour = int(found[2]) + less
    part = found["of"]
    return {"time": TimeOfDay(hour or 12, minute), **({"part": part} if part else {})}


def _date(day: str, month: str, year: str | None, *, other: bool = False) -> _Values:
    return {"date": Date(int(day), int(month), int(year or 0), (int(month), int(day)) if other else None)}


def _slashed(found: re.Match[str]) -> _Values:
    first, second, year = int(found[1]), int(found[2]), found[3]
    if second > 12:  # noqa: PLR2004  # months
        return _date(found[2], found[1], year)
    return _date(found[1], found[2], year, other=first <= 12 and first != second)  # noqa: PLR2004


def _weekdays(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(number) for number in re.findall(r"[WS](\d)", text)}))


def _every_weekday(found: re.Match[str]) -> _Values:
    count = int(found["count"] or 1) if "count" in found.re.groupindex else 1
    return {"every": (count, "w"), "weekdays": _weekdays(found["days"]), "is_repeated": True}


def _every_unit(found: re.Match[str]) -> _Values:
    count = 2 if found["other"] else int(found["count"] or 1)
    return {"every": (count, found["unit"]), "is_repeated": True}


def _workdays(found: re.Match[str]) -> _Values:
    kind = {"WORKDAY": "workday", "WORKDAYS?": "workday?", "WEEKEND": "weekend"}[found["kind"]]
    return {
        "every": (1, "w"),
        "is_repeated": True,
        "workdays": kind,
        "vague": kind == "workday?" or (kind == "weekend" and "EVERY" not in found[0]),
    }


def _placed(found: re.Match[str]) -> _Values:
    place = -1 if found["place"] == "LAST" else int(found["place"][0])
    weekdays = _weekdays(found["days"] or "")
    every = {"every": (1, "M"), "is_repeated": True}
    return {**every, "place": place, "weekdays": weekdays} if weekdays else {**every, "place": place}


_TIME_END = r"(?: OF(?P<of>morning|midday|afternoon|evening|night))?"
_MINUTES = r"(?: (?P<minute>\d\d)(?! U))?"
_SHIFT = r"(?: (?P<shift>PLUSHALF|PLUSQUARTER|LESSQUARTER))?"
_ONE = r"(\d{1,2})(?:th|st)?"
_DAYS = r"(?P<days>[WS]\d(?: (?:AND )?(?:EVERY )?[WS]\d)*)"
_MONTH_END = r"(?: OFMONTH| OF EVERY UM| OF (?:THE )?UM)"

_PATTERNS: Sequence[tuple[re.Pattern[str], _Make]] = [
    (re.compile(pattern + r"(?= |$)"), make)
    for pattern, make in (
        # How often.
        (rf"EVERY (?:(?P<count>\d+) Uw) {_CONNECTED}{_DAYS}", _every_weekday),
        (r"EVERY (?P<other>OTHER) (?P<days>W\d)",
         lambda m: {"every": (2, "w"), "weekdays": _weekdays(m["days"]), "is_repeated": True}),
        (rf"(?:EVERY )?{_CONNECTED}(?P<place>[1-5](?:st|th)|LAST) (?:(?P<days>W\d)|Ud){_MONTH_END}", _placed),
        (rf"{_CONNECTED}(?:AT )?{_ONE}{_MONTH_END}",
         lambda m: {"every": (1, "M"), "is_repeated": True, "month_day": int(m[1])}),
        (rf"EVERY UM {_CONNECTED}(?:AT )?{_ONE}(?! (?:OCLOCK|Ud|M\d))",
         lambda m: {"every": (1, "M"), "is_repeated": True, "month_day": int(m[1])}),
        (r"EVERY UM LAST Ud|EVERY UM ON THE LAST Ud", lambda _: {"every": (1, "M"), "is_repeated": True, "place": -1}),
        (r"(?:EVERY |ON |THE )*(?P<kind>WORKDAYS\?|WORKDAY|WEEKEND)", _workdays),
        (rf"EVERY Ud {_ONE}(?= AT)", lambda m: {"every": (1, "M"), "is_repeated": True, "month_day": int(m[1])}),
        (r"EVERY (?:ON )?(?:(?P<other>OTHER) |(?P<count>\d+) )?U(?P<unit>[smhdwMy])", _every_unit),
        (r"OF (?P<count>\d+) IN (?P=count) U(?P<unit>[smhdwMy])(?P<other>)", _every_unit),
        (rf"EVERY(?= {_CONNECTED}(?:AT )?\d{{1,2}}(?:th|st)? (?:OF )?M\d)",
         lambda _: {"every": (1, "y"), "is_repeated": True}),
        (rf"EVERY {_CONNECTED}{_DAYS}", _every_weekday),
        (r"(?:ON |AT |THE )?(?P<days>S\d(?: (?:AND )?S\d)*)", _every_weekday),
        # From now on.
        (rf"IN {_DELTA}", _delta),
        (r"IN @(\d{1,2}):(\d\d)[ho]", lambda m: {"delta": ((int(m[1]), "h"), (int(m[2]), "m"))}),
        (rf"{_DELTA} FROMNOW", _delta),
        # Which day.
        (r"#(\d{4})-(\d\d)-(\d\d)", lambda m: {"date": Date(int(m[3]), int(m[2]), int(m[1]))}),
        (rf"{_CONNECTED}\.(\d{{1,2}})\.(\d{{1,2}})\.(\d{{4}})?", lambda m: _date(m[1], m[2], m[3])),
        (rf"{_CONNECTED}/(\d{{1,2}})/(\d{{1,2}})(?:/(\d{{4}}))?", _slashed),
        (rf"{_CONNECTED}(?:AT )?{_ONE} (?:OF (?:THE )?)?M(\d{{1,2}})(?: (?:OF )?(\d{{4}}))?",
         lambda m: _date(m[1], m[2], m[3])),
        (r"(?:(?:ON )?THE (\d{1,2})th|ON (\d{1,2})th|THEDAY (\d{1,2})(?:th|st)?)(?! (?:OF|M|U|W))",
         lambda m: {"date": Date(int(m[1] or m[2] or m[3]), 0)}),
        (rf"{_CONNECTED}M(\d{{1,2}}) (?:THE )?{_ONE}(?! U)(?: (\d{{4}}))?(?! [ap]m)",
         lambda m: _date(m[2], m[1], m[3])),
        (rf"{_CONNECTED}LAST Ud (?:OF )?(?:THE )?M(\d{{1,2}})", lambda m: {"date": Date(LAST_DAY, int(m[1]))}),
        (r"(?:THE )?(TODAY|TOMORROW|DAY2|YESTERDAY)", lambda m: {"day": m[1].lower()}),
        (r"TONIGHT\?", lambda _: {"day": "today", "part": "night", "vague": True}),
        (r"(?:ON )?(?:THE |LE )?(THIS|NEXT|COMING) (W\d)",
         lambda m: {"which": m[1].lower(), "weekdays": _weekdays(m[2])}),
        (r"(?:ON )?(?:THE |LE )?(W\d) (NEXT|COMING)", lambda m: {"which": m[2].lower(), "weekdays": _weekdays(m[1])}),
        (r"NEXTWEEK (?:ON )?(?:THE |LE )?(W\d)", lambda m: {"which": "next week", "weekdays": _weekdays(m[1])}),
        (r"(?:ON )?(?:THE |LE )?(W\d) (?:OF )?(?:THE |LE )?NEXTWEEK",
         lambda m: {"which": "next week", "weekdays": _weekdays(m[1])}),
        (r"w(\d)(?= (?:@|\d{1,2} OCLOCK))",
         lambda m: {"which": "short", "weekdays": (int(m[1]),), "vague": True}),
        (r"LE (W\d)(?! \d)", lambda m: {"which": "habit", "weekdays": _weekdays(m[1])}),
        (r"(?:ON )?(?:THE |LE )?(W\d)", lambda m: {"weekdays": _weekdays(m[1])}),
        # What time.
        (rf"(?:AT )?@(\d{{1,2}}):(\d\d)(?::(\d\d))?(?P<half>am|pm|h|o)?(?P<oclock> OCLOCK)?{_SHIFT}{_TIME_END}",
         _clock),
        (rf"(?:AT |THE )*(?P<base>NOON|MIDNIGHT){_SHIFT}", _midday),
        (rf"(?:AT |THE )*(HALFPAST|QPAST|QTO|DEHALF) (\d{{1,2}}|NOON|MIDNIGHT)(?: OCLOCK)?{_TIME_END}", _idiom),
        (rf"AT (?:THE )?(?P<hour>\d{{1,2}})(?P<oclock> OCLOCK| Uh)?{_MINUTES}{_SHIFT}{_TIME_END}(?! U)", _hour),
        (rf"(?P<hour>\d{{1,2}})(?P<oclock> OCLOCK){_MINUTES}(?P<shift>){_TIME_END}", _hour),
        (r"(?:THIS )?(?:IN |AT )?(?:THE )?P(morning|midday|afternoon|evening|night)", lambda m: {"part": m[1]}),
        (r"OF(morning|midday|afternoon|evening|night)", lambda m: {"part": m[1]}),
    )
]  # fmt: skip


def said(signs: Sequence[Sign]) -> Said:
    """The parts of a time at the beginning of these signs."""
    text = " ".join(sign.text for sign in signs)
    ends = _ends(signs)
    found, at = Said(), 0
    while at < len(text):
        taken = _next(text, at, found)
        if taken is None:
            break
        values, end = taken
        filled = found.filled | (values.keys() - {"is_repeated", "vague"})
        vague = found.vague or bool(values.get("vague"))
        found = replace(found, **{**values, "vague": vague, "filled": filled, "reach": ends[end]})  # type: ignore[arg-type]
        at = end + 1
    return found


def _next(text: str, at: int, found: Said) -> tuple[_Values, int] | None:
    for pattern, make in _PATTERNS:
        matched = pattern.match(text, at)
        if matched is None:
            continue
        values = make(matched)
        new = values.keys() - {"is_repeated", "vague"}
        if new == {"part"} and found.time and matched[0][:2] != "OF":
            continue  # "tomorrow 10:00 night shift": it belongs to what is said
        if not new & found.filled and _fits(found, new):
            return values, matched.end()
    return None


_SETS = MappingProxyType(
    {
        "delta": frozenset({"time", "part"}),
        "day": frozenset({"time", "part", "midnight"}),
        "month_day": frozenset({"time", "part", "every"}),
        "place": frozenset({"time", "part", "every", "weekdays"}),
        "workdays": frozenset({"time", "part", "every"}),
    }
)


def _fits(found: Said, new: frozenset[str] | set[str]) -> bool:
    """Whether these can be said of one time."""
    together = found.filled | new
    return all(together <= others | {one} | _with_time for one, others in _SETS.items() if one in together)


_with_time = frozenset({"midnight"})


def _ends(signs: Sequence[Sign]) -> dict[int, int]:
    """Where a sign ends in the text of signs, and where its words do in what was written."""
    found, at = {}, 0
    for sign in signs:
        at += len(sign.text)
        found[at] = sign.end
        for inner in range(sign.text.count(" ")):
            cut = at - len(sign.text) + len(" ".join(sign.text.split(" ")[: inner + 1]))
            found.setdefault(cut, sign.end)
        at += 1
    return found
