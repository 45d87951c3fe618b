"""When an appointment is due: a time on the wall, in a zone, by a rule. Pure.

::

    09:00 on weekdays, in Europe/Lisbon ─▶ the next such wall time ─▶ its instant (seconds since 1970)

The wall time is what holds, and the instant is derived from it (RFC 5545, section 3.3.5): a time that a change of
clocks leaves out is taken by the offset before the change, so 02:30 is said at 03:30; one that comes twice is meant
the first time. What is said in minutes and hours from now ("in 20 minutes", "every 2 hours") counts time that passes,
and no wall.

A rule is an RRULE without COUNT whose parts all say what they mean (BYDAY, BYMONTHDAY, …): so it can go on from any of
its own times, and never has to be walked from its beginning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from bot.runtime.zones import zone_info

LATEST = datetime(2200, 1, 1)  # noqa: DTZ001  # on a wall
"""Nothing is due later."""
_LOOK_BACK = timedelta(days=2)
"""No two zones are further apart on the wall, and no day that a zone left out is longer."""
_SECONDS = {"MINUTELY": 60, "HOURLY": 3_600}
_STEP_OF = "FREQ", "INTERVAL"


@dataclass(frozen=True)
class Schedule:
    """``local``: the wall time at which it is due next, without a zone; ``rule``: how it goes on, empty: not at all;
    ``at``: the instant itself, where that is what holds and not the wall."""

    local: datetime
    zone: str
    rule: str = ""
    at: float | None = None

    @property
    def instant(self) -> float:
        """When it is due, in seconds since 1970."""
        return instant(self.local, self.zone) if self.at is None else self.at

    @property
    def is_repeated(self) -> bool:
        """Whether it goes on."""
        return bool(self.rule)

    def following(self, after: float) -> Schedule | None:
        """The first time after both this one and ``after`` (seconds since 1970); None where there is none."""
        if not self.rule:
            return None
        if step := step_seconds(self.rule):
            return self._after_steps(step, after)
        return self._on_the_wall(max(after, self.instant))

    def latest(self, now: float) -> Schedule:
        """The last time of it that is not later than now; this one where that is later still."""
        if self.rule and (step := step_seconds(self.rule)):
            due = self.instant + step * max(0, math.floor((now - self.instant) / step))
            return replace(self, local=wall(due, self.zone), at=due)
        found = self
        while (after := found.following(found.instant)) is not None and after.instant <= now:
            found = after
        return found

    def moved_to(self, zone: str) -> Schedule:
        """The same for somebody who lives in another zone now: a repeated one keeps its time on the wall; what is
        due once keeps its instant."""
        if self.at is None and self.rule:
            return replace(self, zone=zone)
        return Schedule(wall(self.instant, zone), zone, self.rule, self.instant)

    def _after_steps(self, step: int, after: float) -> Schedule | None:
        due = self.instant
        due += step * max(1, math.floor((after - due) / step) + 1)
        if due >= LATEST.replace(tzinfo=UTC).timestamp():
            return None
        return replace(self, local=wall(due, self.zone), at=due)

    def _on_the_wall(self, after: float) -> Schedule | None:
        from dateutil.rrule import rrulestr

        rule = rrulestr(self.rule, dtstart=self.local)
        local: datetime | None = max(self.local, wall(after, self.zone) - _LOOK_BACK)
        while (local := rule.after(local)) is not None and local < LATEST:
            if local > self.local and instant(local, self.zone) > after:
                return replace(self, local=local)
        return None


def first(rule: str, zone: str, *, start: datetime, after: float) -> Schedule | None:
    """The first time of a rule of days and longer, at ``start`` (a wall time) or later, after this instant; None where
    there is none."""
    from dateutil.rrule import rrulestr

    local = rrulestr(rule, dtstart=start).after(start, inc=True)
    if local is None or local >= LATEST:
        return None
    found = Schedule(local, zone, rule)
    return found if found.instant > after else found.following(after)


def step_seconds(rule: str) -> int:
    """The seconds between two times of a rule that counts time that passes; 0 for one that goes by the wall."""
    parts = dict(part.split("=", 1) for part in rule.split(";"))
    return _SECONDS.get(parts["FREQ"], 0) * int(parts.get("INTERVAL", "1"))


def instant(local: datetime, zone: str) -> float:
    """The instant of a wall time: of two the first; of none, what it is by the offset before the change."""
    return local.replace(tzinfo=zone_info(zone), fold=0).timestamp()


def wall(instant_seconds: float, zone: str) -> datetime:
    """What the wall says at this instant, without a zone."""
    return datetime.fromtimestamp(instant_seconds, zone_info(zone)).replace(tzinfo=None, fold=0)


def exists(local: datetime, zone: str) -> bool:
    """Whether the clocks there ever show this time."""
    return wall(instant(local, zone), zone) == local
