"""What is said of appointments. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.agent.appointments.schedule import Schedule, exists, step_seconds, wall
from bot.messages import as_quoted, in_brackets
from bot.store.appointments import Appointment

_DAYS = {"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
         "SU": "Sunday"}  # fmt: skip
_DAY_NAMES = list(_DAYS.values())
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_PLACES = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "-1": "last"}
_WORKDAYS, _WEEKEND = ["MO", "TU", "WE", "TH", "FR"], ["SA", "SU"]
_MINUTE, _HOUR = 60, 3_600


def schedule_in(one: Appointment) -> Schedule:
    """When it is due, as its row has it."""
    return Schedule(datetime.fromisoformat(one.local), one.zone, one.rule, one.at)


def of_choice(choice: Mapping[str, Any]) -> Schedule:
    """The schedule of one that may be meant."""
    return Schedule(datetime.fromisoformat(choice["local"]), choice["zone"], choice["rule"], choice["at"])


def clock(local: datetime) -> str:
    """``09:00``, with seconds where there are any."""
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def day(local: datetime) -> str:
    """``Tuesday 5 January 2027``."""
    return f"{_DAY_NAMES[local.weekday()]} {local.day} {_MONTHS[local.month - 1]} {local.year}"


def moment(instant: float, zone: str) -> str:
    """``Tuesday 5 January 2027, 09:00 (Europe/Lisbon)``."""
    local = wall(instant, zone)
    return f"{day(local)}, {clock(local)} ({zone})"


def told(schedule: Schedule) -> str:
    """What was understood: how often, then the next time with its weekday, date and zone."""
    when = moment(schedule.instant, schedule.zone)
    if schedule.is_repeated:
        return f"{often(schedule)}, next on {when}"
    if schedule.at is None and not exists(schedule.local, schedule.zone):
        return f"{when}; the clocks skip {clock(schedule.local)} that day"
    return when


def due(text: str, name: str, schedule: Schedule, now: float) -> str:
    """What people read when it is due. ``name``: who is meant, where several people talk."""
    shown = f"⏰ {name}: {text}" if name else f"⏰ {text}"
    was = was_due(schedule, now)
    return f"{shown} ({was})" if was else shown


def was_due(schedule: Schedule, now: float) -> str:
    """``due at 09:00``, with the day where that is another one; empty for what is not late."""
    if now - schedule.instant < _MINUTE:
        return ""
    then, here = wall(schedule.instant, schedule.zone), wall(now, schedule.zone)
    if then.date() == here.date():
        return f"due at {clock(then)}"
    return f"due on {_DAY_NAMES[then.weekday()]} at {clock(then)}"


def wake_note(one: Appointment, schedule: Schedule) -> str:
    """What the agent is told when it is woken. What somebody noted stands marked, as all that is somebody's."""
    whose = f" of {in_brackets(one.person_name)}" if one.person_name else ""
    when = moment(schedule.instant, schedule.zone)
    how = f", {often(schedule)}" if schedule.is_repeated else ""
    return (
        f"[Nobody wrote just now. Appointment {one.number}{whose} is due: {when}{how}. "
        f"Do what was noted for this moment, and tell people:]\n{as_quoted(one.text)}"
    )


def made(one: Appointment, held_until: float | None = None) -> str:
    """What was understood, said back. ``held_until``: the end of the quiet hours that it is due in, in seconds since
    1970."""
    what = "I will look at this" if one.kind == "wake" else "I will remind you"
    whose = f"{one.person_name}: " if one.person_name else ""
    urgent = " Also in quiet hours." if one.urgent else ""
    quiet_then = ""
    if held_until is not None:
        until = clock(wall(held_until, one.zone))
        quiet_then = f" That is within your quiet hours (/quiet): it comes at {until}. /remind urgent does not wait."
    return f"⏰ {whose}{what} {_when(told(schedule_in(one)))}: {one.text}\n(number {one.number}){urgent}{quiet_then}"


def _when(said: str) -> str:
    return said if said.startswith(("every", "on ")) else f"on {said}"


def asked(one: Appointment, why: str) -> str:
    """What may be meant, to choose from."""
    lines = [f"{why} ({one.text})" if one.text else why]
    lines += [f"{at}. {told(of_choice(choice))}" for at, choice in enumerate(one.choices, 1)]
    return "\n".join(lines)


def choice_labels(readings: Sequence[Schedule]) -> list[str]:
    """What stands on their buttons: only what tells them apart."""
    shown = [wall(one.instant, one.zone) for one in readings]
    if len({local.date() for local in shown}) == 1:
        return [f"{number}. {clock(local)}" for number, local in enumerate(shown, 1)]
    names = [f"{_DAY_NAMES[local.weekday()][:3]} {local.day} {_MONTHS[local.month - 1][:3]}" for local in shown]
    return [
        f"{number}. {name} {clock(local)}" for number, (name, local) in enumerate(zip(names, shown, strict=True), 1)
    ]


def past(schedule: Schedule) -> str:
    """It was already."""
    return f"That is past: {moment(schedule.instant, schedule.zone)}."


def cancelled(one: Appointment | None, number: int) -> str:
    """The answer to taking one back."""
    return f"Cancelled: {one.text}" if one else f"There is no reminder {number} to come. /reminders lists them."


def listed(coming: Sequence[Appointment], missed: Sequence[Appointment], *, more: bool) -> str:
    """The answer to /reminders; empty where there are none."""
    lines = [f"{one.number}. {line(one)}" for one in coming]
    lines += ["…"] if more else []
    if missed:
        lines += ["Missed, since I was away:", *(f"{moment(one.due_at or 0, one.zone)}: {one.text}" for one in missed)]
    return "\n".join(lines)


def line(one: Appointment) -> str:
    """One of those to come, in one line."""
    whose = f"{one.person_name}: " if one.person_name else ""
    wakes = " (I look at it then)" if one.kind == "wake" else ""
    return f"{whose}{one.text}{wakes}: {told(schedule_in(one))}"


def quiet(hours: tuple[int, int] | None) -> str:
    """The answer to /quiet."""
    if hours is None:
        return "No quiet hours: what is due comes at any time. /quiet 22-8 says when you want to be left alone."
    begins, ends = (f"{minutes // _MINUTE:02d}:{minutes % _MINUTE:02d}" for minutes in hours)
    return (
        f"Quiet from {begins} to {ends}: what is due then comes at {ends}, unless it was made with /remind urgent. "
        "/quiet off ends it."
    )


def came_note(came: Sequence[Appointment]) -> str:
    """What the model is told of what people were reminded of since it answered last."""
    lines = []
    for one in came:
        times = f", {one.said} times by now" if one.said > 1 else ""
        lines.append(f"{one.number}. {moment(one.said_at or 0, one.zone)}{times}:\n{as_quoted(one.text)}")
    return "\n".join(["[These reminders came since your last answer; people have read them:]", *lines])


def often(schedule: Schedule) -> str:
    """``every weekday at 09:00``; empty for what is due once."""
    if not schedule.rule:
        return ""
    if step := step_seconds(schedule.rule):
        return _every(step // _HOUR, "hour") if step % _HOUR == 0 else _every(step // _MINUTE, "minute")
    parts = dict(part.split("=", 1) for part in schedule.rule.split(";"))
    freq, count, at = parts["FREQ"], int(parts.get("INTERVAL", "1")), clock(schedule.local)
    return f"{_ON_THE_WALL[freq](parts, count)} at {at}"


def _every(count: int, unit: str) -> str:
    if count == 1:
        return f"every {unit}"
    return f"every {count} {unit}s"


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _weekly(parts: dict[str, str], count: int) -> str:
    days = parts["BYDAY"].split(",")
    if count == 1 and days == _WORKDAYS:
        return "every weekday (Monday to Friday)"
    if count == 1 and days == _WEEKEND:
        return "every Saturday and Sunday"
    names = _listed([_DAYS[one] for one in days])
    return f"every {names}" if count == 1 else f"{_every(count, 'week')} on {names}"


def _monthly(parts: dict[str, str], count: int) -> str:
    each = "each month" if count == 1 else _every(count, "month")
    of = "of each month" if count == 1 else f"of the month, {each}"
    if days := parts.get("BYDAY"):
        return f"on the {_PLACES[days[:-2]]} {_DAYS[days[-2:]]} {of}"
    last = parts["BYMONTHDAY"].split(",")[-1]
    if last == "-1":
        return f"on the last day {of}"
    short = ", or its last day" if "BYSETPOS" in parts else ""
    return f"on the {_ordinal(int(last))} {of}{short}"


def _ordinal(number: int) -> str:
    if 10 < number % 100 < 20:  # noqa: PLR2004  # eleventh to nineteenth
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"


def _yearly(parts: dict[str, str], count: int) -> str:
    month, which = _MONTHS[int(parts["BYMONTH"]) - 1], parts["BYMONTHDAY"]
    day_of = "29 February (or the 28th)" if which == "-1" else f"{which} {month}"
    return f"{_every(count, 'year')} on {day_of}"


_ON_THE_WALL = {
    "DAILY": lambda _, count: _every(count, "day"),
    "WEEKLY": _weekly,
    "MONTHLY": _monthly,
    "YEARLY": _yearly,
}
