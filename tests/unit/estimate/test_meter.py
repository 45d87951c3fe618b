"""One object says how full a context is, and its parts always add up to what it says."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.estimate.meter import Level, Meter, MeterRecord, Part, percent


def meter(total: int, limit: int) -> Meter:
    return Meter.of([Part("history", total)], limit=limit)


def test_parts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="add up"):
        Meter(10, 100, (Part("history", 9),))


def test_the_total_is_the_sum_of_the_parts() -> None:
    full = Meter.of([Part("history", 700), Part("tools", 50)], limit=1_000)
    assert (full.total, full.share, full.over, full.source) == (750, 0.75, False, "estimate")


@given(st.integers(0, 10**7), st.lists(st.integers(0, 10**6), max_size=8))
def test_parts_scaled_to_a_reported_total_add_up_to_it(total: int, sizes: list[int]) -> None:
    anchored = Meter.anchored(total, [Part(str(at), size) for at, size in enumerate(sizes)], limit=1_000)
    assert anchored.total == total == sum(part.tokens for part in anchored.parts)
    assert all(part.tokens >= 0 for part in anchored.parts)


def test_scaling_keeps_the_proportions() -> None:
    anchored = Meter.anchored(200, [Part("history", 75), Part("tools", 25)], limit=1_000)
    assert anchored.parts == (Part("history", 150), Part("tools", 50))
    assert anchored.source == "usage"


@pytest.mark.parametrize(
    ("total", "level"),
    [
        (0, Level.OK),
        (749, Level.OK),
        (750, Level.WARNING),
        (899, Level.WARNING),
        (900, Level.CRITICAL),
        (5_650, Level.CRITICAL),
    ],
)
def test_the_level_is_warning_from_75_and_critical_from_90_percent(total: int, level: Level) -> None:
    assert meter(total, 1_000).level(0.75, 0.90) is level


@pytest.mark.parametrize("warning", [-1, 0, 1, 1.5])
def test_a_warning_outside_of_0_to_1_turns_compaction_off(warning: float) -> None:
    assert meter(5_000, 1_000).level(warning, 0.9) is Level.OK


@given(st.integers(1, 10**7), st.sampled_from([0.29, 0.57, 0.75, 0.9]))
def test_a_share_is_shown_and_kept_at_a_level_from_where_that_level_begins_and_not_sooner(
    limit: int, begins: float
) -> None:
    first = math.ceil(Fraction(str(begins)) * limit)
    for total in (first - 1, first):
        reached = Fraction(total, limit) >= Fraction(str(begins))
        kept = MeterRecord.of(meter(total, limit), Level.OK).as_json()["share"]
        assert (int(percent(total / limit).removesuffix("%")) >= round(begins * 100)) is reached
        assert (kept >= begins) is reached
        assert percent(kept) == percent(total / limit)


def test_a_share_without_a_limit_is_shown_too() -> None:
    assert (percent(0.0), percent(float("inf"))) == ("0%", "∞%")


def test_a_context_that_just_fits_is_not_over() -> None:
    assert not meter(1_000, 1_000).over
    assert meter(1_001, 1_000).over


def test_no_limit_is_no_division_by_zero() -> None:
    assert meter(0, 0).share == 0
    assert meter(1, 0).level(0.75, 0.9) is Level.CRITICAL


def test_the_largest_part_is_to_blame() -> None:
    blamed = Meter.of([Part("tools", 9), Part("history", 3)], limit=10).largest
    assert blamed == Part("tools", 9)
    assert Meter.of([], limit=10).largest is None


def test_what_is_kept_of_a_meter_is_read_again_as_it_was() -> None:
    full = Meter.of([Part("tools", 3), Part("conversation", 87)], limit=100, source="usage")
    for kept in (MeterRecord.of(full, Level.WARNING), MeterRecord.of(full, Level.OK, messages=7)):
        assert MeterRecord.from_json(json.loads(json.dumps(kept.as_json()))) == kept


def test_a_meter_in_a_row_looks_as_earlier_versions_wrote_it() -> None:
    kept = MeterRecord.of(Meter.of([Part("tools", 3), Part("conversation", 87)], limit=100), Level.WARNING, messages=7)
    assert json.dumps(kept.as_json()) == (
        '{"total": 90, "limit": 100, "share": 0.9, "source": "estimate", "level": "warning", '
        '"parts": {"tools": 3, "conversation": 87}, "messages": 7}'
    )


def test_what_an_earlier_version_did_not_keep_of_a_meter_is_empty() -> None:
    assert MeterRecord.from_json({"total": 90, "limit": 100}) == MeterRecord(90, 100, 0.0, "estimate", "ok", ())
