"""A worker is dead when nothing has been heard of it for a while, whatever its clock says."""

from __future__ import annotations

from bot.agent.compacting.summary_job import Unchanged


def test_what_stays_the_same_grows_old_and_what_changes_is_new() -> None:
    now = 100.0
    watched = Unchanged(lambda: now)
    assert watched.seconds("first") == 0
    now = 103.0
    assert watched.seconds("first") == 3
    assert watched.seconds("second") == 0


def test_a_heartbeat_counts_by_its_change_and_not_by_what_the_clock_of_its_worker_says() -> None:
    now = 100.0
    watched = Unchanged(lambda: now)
    for beat in (5_000.0, 4_400.0, 4_401.0):
        now += 1
        assert watched.seconds(beat) == 0
