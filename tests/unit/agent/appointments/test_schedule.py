"""Appointments are due at the instants that an implementation of another kind finds."""

from __future__ import annotations

import os
import random
import sys
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import available_timezones

import pytest

from bot.agent.appointments.schedule import Schedule, exists, first, instant, wall
from tests.unit.agent.appointments import independent

ODD = (
    "Europe/Lisbon", "Europe/Berlin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe",
    "Asia/Kathmandu", "Pacific/Chatham", "Africa/Casablanca", "Africa/Cairo", "Asia/Gaza", "America/Santiago",
    "Asia/Tehran", "Pacific/Apia", "Pacific/Kiritimati", "America/Nuuk", "Antarctica/Troll", "Europe/Dublin",
    "Asia/Beirut", "America/Havana", "America/Asuncion", "Africa/Juba", "Asia/Pyongyang", "Antarctica/Casey", "UTC",
)  # fmt: skip
"""Half hours, quarters, winter time that is the odd one, Ramadan, two hours at once, days that there never were."""
RULES = (
    "FREQ=DAILY;INTERVAL=1", "FREQ=DAILY;INTERVAL=3", "FREQ=WEEKLY;INTERVAL=1;BYDAY=MO,TU,WE,TH,FR",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU", "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,SU", "FREQ=MONTHLY;INTERVAL=1;BYDAY=-1FR",
    "FREQ=MONTHLY;INTERVAL=1;BYDAY=-1SU", "FREQ=MONTHLY;INTERVAL=1;BYDAY=5SU", "FREQ=MONTHLY;INTERVAL=2;BYDAY=1MO",
    "FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=-1", "FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=28,29,30;BYSETPOS=-1",
    "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=15", "FREQ=YEARLY;INTERVAL=1;BYMONTH=2;BYMONTHDAY=-1",
    "FREQ=YEARLY;INTERVAL=1;BYMONTH=12;BYMONTHDAY=24", "FREQ=YEARLY;INTERVAL=4;BYMONTH=10;BYMONTHDAY=31",
)  # fmt: skip
LONG = os.environ.get("LONG") == "1"
SEED = int(os.environ.get("SEED", "23"))
COUNT, YEARS, SINCE = (10_000, 10, range(2008, 2022)) if LONG else (60, 1, range(2021, 2022))
ZONES = sorted(available_timezones() - {"Factory", "localtime", "posixrules"}) if LONG else ODD
_LONGEST_AWAY = 40 * 86_400.0
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def some_rule(chance: random.Random) -> str:
    """A rule of each kind that words can make; what comes more often than daily counts time that passes."""
    match chance.randrange(9):
        case 0:
            return f"FREQ=DAILY;INTERVAL={chance.choice((1, 2, 3, 7, 10, 30, 100))}"
        case 1 | 2:
            days = [code for code in _CODES if chance.random() < 0.3] or ["SU"]
            return f"FREQ=WEEKLY;INTERVAL={chance.choice((1, 1, 2, 3, 6))};BYDAY={','.join(days)}"
        case 3 | 4:
            place = chance.choice((1, 2, 3, 4, 5, -1))
            return f"FREQ=MONTHLY;INTERVAL={chance.choice((1, 2, 3))};BYDAY={place}{chance.choice(_CODES)}"
        case 5 | 6:
            on = chance.choice(("-1", str(chance.randint(1, 28)), "28,29;BYSETPOS=-1", "28,29,30;BYSETPOS=-1"))
            return f"FREQ=MONTHLY;INTERVAL={chance.choice((1, 1, 2, 5))};BYMONTHDAY={on}"
        case 7:
            month = chance.randint(1, 12)
            day = "-1" if month == 2 and chance.random() < 0.5 else str(chance.randint(1, 28))
            return f"FREQ=YEARLY;INTERVAL={chance.choice((1, 1, 2, 4))};BYMONTH={month};BYMONTHDAY={day}"
        case _:
            return f"FREQ={chance.choice(('HOURLY', 'MINUTELY'))};INTERVAL={chance.choice((1, 2, 5, 45, 1_000))}"


@dataclass
class Life:
    """One appointment as the program has it come and go on: it looks when it is due, and now and then weeks later."""

    one: Schedule
    chance: random.Random
    came: int = 0

    def through(self, end: float) -> None:
        """Until this instant; raises AssertionError where it comes at another one than the independent reading has."""
        horizon = end + 2 * _LONGEST_AWAY
        expected = _expected(self.one, horizon)
        while self.one.instant < end:
            now = self.one.instant + self._away()
            at = bisect_right(expected, now)
            due = self.one.latest(now)
            assert due.instant == expected[at - 1], self._told(now, expected[at - 1])
            self.came += 1
            after = due.following(now)
            assert after
            assert at == len(expected) or after.instant == expected[at], self._told(now, expected[at])
            assert at < len(expected) or after.instant >= horizon
            self.one = after
            if self.chance.random() < 0.002:
                expected = self._moves(now, horizon)

    def _away(self) -> float:
        """Seconds for which nobody looks."""
        return self.chance.uniform(0, 5 if self.chance.random() < 0.97 else _LONGEST_AWAY)

    def _moves(self, now: float, horizon: float) -> list[float]:
        """Whoever made it lives somewhere else now; returns what is expected there."""
        moved = self.one.moved_to(self.chance.choice(ZONES))
        expected = _expected(moved, horizon)
        self.one = moved if moved.instant > now else moved.following(now) or moved
        coming = expected[bisect_right(expected, now) :]
        assert not coming or self.one.instant == coming[0], self._told(now, coming[0])
        return expected

    def _told(self, now: float, expected: float) -> str:
        return f"{self.one} at {datetime.fromtimestamp(now, UTC)}, not {datetime.fromtimestamp(expected, UTC)}"


def _expected(one: Schedule, until: float) -> list[float]:
    if step := independent.steps(one.rule):
        return [one.instant + step * number for number in range(int((until - one.instant) // step) + 1)]
    found = list[float]()
    for local in independent.occurrences(one.rule, one.local):
        at = independent.instant(local, one.zone)
        if at >= until:
            break
        if not found or at > found[-1]:  # two walls may come to one instant, which is one appointment
            found.append(at)
    return found


def instants(schedule: Schedule | None, until: float) -> list[float]:
    found = list[float]()
    while schedule and schedule.instant < until:
        found.append(schedule.instant)
        schedule = schedule.following(schedule.instant)
    return found


@pytest.mark.timeout(14_400 if LONG else 240)
def test_appointments_of_all_kinds_through_years_of_odd_zones() -> None:
    """LONG=1: 10,000 of them through ten years, in all the zones that there are."""
    chance, total = random.Random(SEED), 0
    for number in range(COUNT):
        zone, rule = ZONES[number % len(ZONES)], some_rule(chance)
        begins = datetime(chance.choice(SINCE), 1, 1) + timedelta(days=chance.randrange(365))
        start = begins.replace(hour=chance.choice((0, 1, 2, 3, chance.randrange(24))), minute=chance.randrange(60))
        end = datetime(begins.year + YEARS, 1, 1, tzinfo=UTC).timestamp()
        if step := independent.steps(rule):
            at = independent.instant(start, zone)
            one: Schedule | None = Schedule(wall(at, zone), zone, rule, at)
            end = min(end, at + 200 * step)
        else:
            one = first(rule, zone, start=start, after=0.0)
        assert one
        life = Life(one, chance)
        life.through(end)
        total += life.came
    sys.stdout.write(f"{COUNT} appointments in {len(ZONES)} zones came {total:,} times\n")
    assert total > COUNT


def test_what_is_due_once_is_due_at_the_instant_of_its_wall() -> None:
    chance = random.Random(f"once {SEED}")
    for number in range(20 * COUNT):
        zone = ZONES[number % len(ZONES)]
        local = datetime(SINCE[0], 1, 1) + timedelta(minutes=chance.randrange(len(SINCE) * 365 * 1_440))
        assert Schedule(local, zone).instant == independent.instant(local, zone), (zone, local)


def test_a_time_that_the_clocks_skip_comes_by_the_offset_before_it() -> None:
    local = datetime(2027, 3, 28, 2, 30)
    assert wall(instant(local, "Europe/Berlin"), "Europe/Berlin") == datetime(2027, 3, 28, 3, 30)
    assert not exists(local, "Europe/Berlin")


def test_a_time_that_comes_twice_is_meant_the_first_time() -> None:
    at = instant(datetime(2027, 10, 31, 2, 30), "Europe/Berlin")
    assert datetime.fromtimestamp(at, UTC) == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)


def test_a_day_that_a_zone_left_out_makes_no_second_one() -> None:
    daily = Schedule(datetime(2011, 12, 28, 9), "Pacific/Apia", "FREQ=DAILY;INTERVAL=1")
    found = instants(daily, datetime(2012, 1, 3, tzinfo=UTC).timestamp())
    assert len(found) == len(set(found))
    assert [wall(at, "Pacific/Apia").day for at in found] == [28, 29, 31, 1, 2, 3]


def test_what_counts_hours_does_not_look_at_the_wall() -> None:
    begins = instant(datetime(2027, 3, 28, 0, 30), "Europe/Berlin")
    hourly = Schedule(wall(begins, "Europe/Berlin"), "Europe/Berlin", "FREQ=HOURLY;INTERVAL=2", begins)
    found = instants(hourly, begins + 20 * 3_600)
    assert found == [begins + 7_200 * step for step in range(10)]


def test_after_a_long_time_the_last_one_alone_is_left() -> None:
    begins = instant(datetime(2027, 1, 1, 9), "UTC")
    every = Schedule(wall(begins, "UTC"), "UTC", "FREQ=MINUTELY;INTERVAL=1", begins)
    now = begins + 400 * 86_400 + 30
    assert every.latest(now).instant == now - 30
    after = every.latest(now).following(now)
    assert after
    assert after.instant == now + 30
    daily = Schedule(datetime(2027, 1, 1, 9), "Europe/Lisbon", "FREQ=DAILY;INTERVAL=1")
    assert wall(daily.latest(now).instant, "Europe/Lisbon").time() == datetime(2027, 1, 1, 9).time()
    assert now - daily.latest(now).instant < 86_400


def test_who_moves_keeps_the_wall_of_what_is_repeated_and_the_instant_of_what_is_not() -> None:
    daily = Schedule(datetime(2027, 5, 3, 9), "Europe/Lisbon", "FREQ=DAILY;INTERVAL=1")
    once = Schedule(datetime(2027, 5, 3, 9), "Europe/Lisbon")
    assert daily.moved_to("Asia/Tokyo").local == daily.local
    assert once.moved_to("Asia/Tokyo").instant == once.instant
    assert once.moved_to("Asia/Tokyo").local == datetime(2027, 5, 3, 17)


@pytest.mark.parametrize("rule", RULES)
def test_it_can_go_on_from_any_of_its_own_times(rule: str) -> None:
    """The row keeps the next time alone, and nothing of where it began."""
    one = first(rule, "Europe/Lisbon", start=datetime(2027, 1, 1, 9), after=0.0)
    assert one
    expected = list(islice(independent.occurrences(rule, one.local), 12))
    found = [one.local]
    while len(found) < 12:
        one = Schedule(one.local, one.zone, one.rule).following(one.instant)
        assert one
        found.append(one.local)
    assert found == expected
