"""When quiet hours end, also over midnight and over a change of clocks."""

from __future__ import annotations

from datetime import datetime

import pytest

from bot.agent.appointments.commands import quiet_hours
from bot.agent.appointments.due import end_of_quiet
from bot.agent.appointments.schedule import instant, wall

ZONE = "Europe/Berlin"
NIGHT = (22 * 60, 8 * 60)


def ends(at: datetime, hours: tuple[int, int] = NIGHT) -> datetime | None:
    found = end_of_quiet(instant(at, ZONE), ZONE, hours)
    return wall(found, ZONE) if found else None


def test_the_night_ends_in_the_morning() -> None:
    assert ends(datetime(2027, 3, 10, 23)) == datetime(2027, 3, 11, 8)
    assert ends(datetime(2027, 3, 11, 7, 59)) == datetime(2027, 3, 11, 8)
    assert ends(datetime(2027, 3, 11, 8)) is None
    assert ends(datetime(2027, 3, 11, 21, 59)) is None
    assert ends(datetime(2027, 3, 27, 23)) == datetime(2027, 3, 28, 8), "an hour less"


def test_a_rest_at_noon_ends_on_the_same_day() -> None:
    assert ends(datetime(2027, 3, 10, 12, 30), (720, 840)) == datetime(2027, 3, 10, 14)
    assert ends(datetime(2027, 3, 10, 11), (720, 840)) is None


@pytest.mark.parametrize(
    ("written", "hours"),
    [
        ("22-8", (1_320, 480)),
        ("22:30-7:15", (1_350, 435)),
        ("22 to 6", (1_320, 360)),
        ("10pm-6:30 am", (1_320, 390)),
        ("from 22h to 8h", (1_320, 480)),
        ("12pm - 12am", (720, 0)),
        ("24-7", (0, 420)),
    ],
)
def test_quiet_hours_are_read(written: str, hours: tuple[int, int]) -> None:
    assert quiet_hours(written) == hours


@pytest.mark.parametrize("written", ["22", "22-22", "13pm-8", "0am-7", "25-8", "22:70-8", "always", "24-0"])
def test_what_are_no_hours_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(ValueError, match=r"/quiet 22-8"):
        quiet_hours(written)
