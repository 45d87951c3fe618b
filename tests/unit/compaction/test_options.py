"""Options of a strategy from texts and values. FEATURES E5, P2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from bot.compaction import STRATEGIES, Plan, PlanContext, Strategy
from bot.compaction.options import with_options
from bot.estimate import Level, Meter
from bot.history import Entry


@dataclass(frozen=True)
class Options:
    count: int = 3
    share: float = 0.5
    keep: bool = True
    words: tuple[str, ...] = ()
    most: int | None = 7
    mode: Literal["fast", "slow"] = "fast"
    title: str = ""
    hidden: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError("share is from 0 to 1")


@dataclass(frozen=True)
class Any1:
    options: Any = Options()
    name: str = "some"

    def level(self, meter: Meter) -> Level:
        return Level.OK

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        return None


class Plain:
    """A strategy that is no dataclass."""

    name = "plain"
    options = Options()
    level = Any1.level
    plan = Any1.plan


def option(name: str, value: object) -> Any:
    return getattr(with_options(Any1(), {name: value}).options, name)


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("count", "12", 12),
        ("count", 12, 12),
        ("share", "0.25", 0.25),
        ("share", 1, 1.0),
        ("keep", "false", False),
        ("keep", "True", True),
        ("keep", "no", False),
        ("keep", False, False),
        ("words", '["a", "б"]', ("a", "б")),
        ("words", ["a"], ("a",)),
        ("most", "null", None),
        ("most", None, None),
        ("most", "8", 8),
        ("mode", "slow", "slow"),
        ("title", "12", "12"),
    ],
)
def test_a_value_becomes_what_the_field_is(name: str, value: object, read: object) -> None:
    found = option(name, value)
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(
    "name", ["min_segments_to_keep", "minSegmentsToKeep", "MIN_SEGMENTS_TO_KEEP", "min-segments-to-keep"]
)
def test_a_name_may_be_written_as_other_programs_write_it(name: str) -> None:
    changed: Any = with_options(STRATEGIES["monologue"], {name: "2"})
    assert changed.options.min_segments_to_keep == 2
    assert changed.options.keep_last_segment is True


def test_other_options_and_the_strategy_itself_stay_as_they_are() -> None:
    before = Any1(Options(count=9), name="mine")
    after: Any = with_options(before, {"share": "0.1"})
    assert (after.name, after.options) == ("mine", Options(count=9, share=0.1))
    assert before.options.share == 0.5


def test_without_values_it_is_the_same_strategy() -> None:
    strategy: Strategy = Plain()
    assert with_options(strategy, {}) is strategy


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("count", "many", r"The option count of the strategy some cannot be 'many': input should be .*integer.*\."),
        ("count", "1.5", r"count .* cannot be '1\.5'"),
        ("count", None, r"count .* cannot be None"),
        ("keep", "maybe", r"keep .* cannot be 'maybe': input should be a valid boolean"),
        ("keep", "null", r"keep .* cannot be 'null'"),
        ("share", "nan", r"share .* cannot be 'nan': it is a number\."),
        ("share", "inf", r"share .* cannot be 'inf'"),
        ("share", "1.5", r"The strategy some cannot have share=1\.5: share is from 0 to 1\."),
        ("share", -0.1, r"cannot have share=-0\.1"),
        ("words", "a, b", r"words .* cannot be 'a, b'"),
        ("mode", "medium", r"mode .* cannot be 'medium': input should be 'fast' or 'slow'\."),
        ("hidden", "2", r"some has no option 'hidden'; it has: count, share, keep, words, most, mode, title\."),
        ("", "2", r"has no option ''"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence_that_names_the_option_and_the_value(
    name: str, value: object, sentence: str
) -> None:
    with pytest.raises(ValueError, match=f"^.*{sentence}") as caught:
        option(name, value)
    assert "\n" not in str(caught.value)


def test_a_strategy_without_options_or_with_options_of_its_own_kind_says_so() -> None:
    with pytest.raises(ValueError, match=r"^The strategy plain has no options that could be set\.$"):
        with_options(Plain(), {"count": 1})
    with pytest.raises(ValueError, match=r"^The strategy some has no options that could be set\.$"):
        with_options(Any1({"count": 1}), {"count": 1})


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_negative_number_of_anything_is_refused_by_every_strategy(name: str) -> None:
    strategy = STRATEGIES[name]
    counts = [key for key, value in vars(strategy.options).items() if type(value) is int]
    for key in counts:
        with pytest.raises(ValueError, match=f"{key}=-1"):
            with_options(strategy, {key: "-1"})
