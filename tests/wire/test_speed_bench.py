"""The bench of speed measures what it claims: its servers, the program and whoever writes are real processes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from tests.bench.speed import turns
from tests.bench.speed.figures import Figure, percentile, spread
from tests.bench.speed.load import FIRST_CHAT, one_by_one
from tests.bench.speed.rig import open_rig

pytestmark = pytest.mark.timeout(300)
"""Programs are started, on cores that others may be using."""
CHATS = range(FIRST_CHAT, FIRST_CHAT + 4)


def value_of(figures: Sequence[Figure], name: str) -> float:
    (figure,) = (figure for figure in figures if figure.name == name)
    return figure.value


@pytest.mark.long
@pytest.mark.parametrize("floor", [False, True], ids=["the program", "the bare bot"])
async def test_every_message_of_a_short_run_is_answered_and_all_figures_come_out(floor: bool) -> None:
    async with open_rig(floor=floor) as rig:
        await one_by_one(rig, CHATS)
        seen = await turns.window(rig, CHATS, rate=5.0, seconds=2.0, even=True)
        figures = seen.figures("turns", "short", programs=list(rig.programs))

    assert value_of(figures, "turns") == len(seen.outcomes) > 5
    names = {"added p50", "added p99", "first words p50", "CPU a turn, program", "CPU a turn, model"}
    assert names <= {figure.name for figure in figures}
    assert all(math.isfinite(figure.value) for figure in figures)
    assert all(0 < one.model < one.final for one in seen.outcomes)
    assert all(0 < one.first_words <= one.final for one in seen.outcomes)


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0), (0.001, 1.0)])
def test_a_percentile_is_the_smallest_value_that_this_share_does_not_exceed(share: float, expected: float) -> None:
    assert percentile([float(value) for value in range(100, 0, -1)], share) == expected


def test_of_nothing_there_is_no_percentile() -> None:
    assert math.isnan(percentile([], 0.5))


def test_durations_are_told_in_milliseconds() -> None:
    assert [str(figure) for figure in spread("turns", "sqlite", "added", [0.0125])] == [
        "| turns | sqlite | added p50 | 12.5 ms |",
        "| turns | sqlite | added p99 | 12.5 ms |",
    ]
