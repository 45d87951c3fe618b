"""`/compact` as people write it: options for one run, and what to keep in words."""

from __future__ import annotations

import pytest

from bot.agent.commands.arguments import CompactArguments, compact_arguments
from bot.agent.commands.table import completions
from bot.compaction import STRATEGIES, Strategy
from bot.compaction.strategies.monologue import Monologue, MonologueOptions
from bot.compaction.strategies.reset import Reset
from bot.runtime.strategies import Strategies

KNOWN = Strategies(STRATEGIES, "reset")


def read(argument: str, usual: Strategy | None = None) -> CompactArguments:
    return compact_arguments(argument, KNOWN, usual or Reset())


@pytest.mark.parametrize("focus", ["", "the order number", "a = b", "5 is x", "die Preise, 价格 🙂", "a\nb"])
def test_words_alone_are_what_to_keep(focus: str) -> None:
    assert read(f"  {focus} ") == CompactArguments(focus.strip())


@pytest.mark.parametrize(
    "argument",
    [
        "strategy=monologue keep=2 the order number",
        "strategy=monologue minSegmentsToKeep=2 the order number",
        "Strategy=Monologue min-segments-to-keep=2\n the order number",
        "the order number strategy=monologue keep=2",
    ],
)
def test_pairs_before_or_after_the_words_are_options_of_this_run(argument: str) -> None:
    found = read(argument)
    assert found.focus == "the order number"
    assert found.strategy is not None
    assert found.strategy.name == "monologue"


def test_options_go_to_the_strategy_of_the_conversation_where_none_is_named() -> None:
    found = read("keep=2 results=0", Monologue(MonologueOptions(keep_last_segment=False)))
    wanted = MonologueOptions(keep_last_segment=False, min_segments_to_keep=2, results_to_keep=0)
    assert found == CompactArguments("", Monologue(wanted), "keep=2 results=0")


def test_words_may_end_in_a_pair_that_is_no_option() -> None:
    assert read("keep that x=5") == CompactArguments("keep that x=5")
    assert read("the rate of a=1 and b=2 c=3") == CompactArguments("the rate of a=1 and b=2 c=3")


@pytest.mark.parametrize("argument", ["-- x=5", "--\nx=5", "-- x=5 "])
def test_behind_two_hyphens_there_are_words_alone(argument: str) -> None:
    assert read(argument) == CompactArguments("x=5")
    assert read(f"keep-exchange-share=0 {argument}").focus == "x=5"
    assert read("--no") == CompactArguments("--no")


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        (
            "strategy=fold",
            "There is no strategy 'fold'. There is: memory, monologue, reset, segmented, tiered, two_phase.",
        ),
        ("strategy=", "There is no strategy ''"),
        (
            "budget=500 must stay",
            r"The strategy reset has no option 'budget'; it has: .* What to keep is said in words",
        ),
        ("strategy=monologue keep=-1", "min_segments_to_keep=-1 must not be negative"),
        ("strategy=monologue keep=many", "min_segments_to_keep of the strategy monologue cannot be 'many'"),
        ("strategy=monologue keep=1 minSegmentsToKeep=2", "min_segments_to_keep .* is given twice"),
        ("strategy=monologue keep=1 keep=2", "keep is given twice"),
        ("strategy=monologue strategy=reset", "strategy is given twice"),
    ],
)
def test_what_cannot_be_is_one_sentence_that_says_what_there_is(argument: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read(argument)


def test_a_strategy_and_then_its_options_are_offered_while_one_writes() -> None:
    assert "strategy=monologue" in completions("/compact ")
    assert "keep=" in completions("/compact strategy=monologue ke")
    assert "keep=" in completions("/compact strategy=monologue keep=2 re")
    assert "tiered" in completions("/strategy t")
    assert not completions("/compact the order s")
    assert not completions("/recall s")
