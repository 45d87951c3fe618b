"""Compaction by hand: fewer messages, the seven statistics, or a sentence why not. FEATURES P4, P5, P6."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.compaction import STRATEGIES, CompactionResult, Plan, PlanContext, Strategy, compact_history
from bot.compaction.manual.manual import entries_of
from bot.compaction.manual.refusals import CannotFit
from bot.compaction.plan import everything_but
from bot.estimate import Meter, estimate_tokens
from bot.history import Entry, EntryKind, History
from bot.messages import text_block
from tests.unit.any_history import assert_valid, histories
from tests.unit.by_hand import Asking, Oldest, Told, assistant, results, stays, talk, tokens, user
from tests.unit.entries import call, result

STATISTICS = (
    "originalCount",
    "compactedCount",
    "removed",
    "reductionPercent",
    "originalTokens",
    "compactedTokens",
    "tokensSaved",
)


def test_monologue_is_what_it_does_by_itself_and_a_conversation_of_turns_keeps_questions_and_answers() -> None:
    messages = talk(4)
    made = compact_history(messages)
    seen = text_block("[Result of an earlier tool call]\n> seen")
    asked = [{"role": "user", "content": [text_block(messages[at]["content"]), seen]} for at in (0, 6, 12)]
    assert made.messages == [asked[0], messages[5], asked[1], messages[11], asked[2], *messages[17:]]
    assert made.messages == compact_history(messages, strategy="monologue").messages
    assert made.stats["removed"] == 12


def test_the_statistics_have_the_seven_names_and_agree_with_what_came_out() -> None:
    messages = talk(4)
    made = compact_history(messages)
    assert tuple(made.stats) == STATISTICS
    assert (made.stats["originalCount"], made.stats["compactedCount"]) == (24, 12)
    assert made.stats["reductionPercent"] == 50.0
    assert made.stats["originalTokens"] == tokens(messages)
    assert made.stats["compactedTokens"] == tokens(made.messages)
    assert made.stats["tokensSaved"] == tokens(messages) - tokens(made.messages) > 0


def test_the_reduction_is_that_of_the_messages_to_one_decimal() -> None:
    messages = [user(str(at)) if at % 2 == 0 else assistant(str(at)) for at in range(63)]
    made = compact_history(messages, strategy=Oldest(), count=42)
    assert (made.stats["removed"], made.stats["reductionPercent"]) == (42, 66.7)


def test_nothing_at_all_comes_out_of_nothing() -> None:
    assert compact_history([]).messages == []
    assert set(compact_history([], limit=1).stats.values()) == {0}


def test_what_fits_is_not_changed_even_if_a_provider_would_refuse_it() -> None:
    messages = [assistant("hi"), user("a"), user(" ")]
    assert stays(compact_history(messages, limit=tokens(messages)), messages)
    assert stays(compact_history(messages), messages)


def test_a_strategy_without_anything_to_do_changes_nothing() -> None:
    assert stays(compact_history(talk(1)), talk(1))


def test_layers_are_put_over_layers_until_the_limit_is_reached_and_no_further() -> None:
    messages = [user("q " * 40) if at % 2 == 0 else assistant("a " * 40) for at in range(20)]
    limit = tokens(messages[9:])
    made = compact_history(messages, strategy=Oldest(), limit=limit)
    assert made.messages == messages[10:]
    assert made.stats["compactedTokens"] <= limit


def test_without_a_limit_the_strategy_is_applied_once() -> None:
    messages = talk(3)
    assert compact_history(messages, strategy=Oldest(), count=7).messages == messages[6:]


def test_system_prompt_and_tools_count_and_are_never_touched() -> None:
    messages = talk(4)
    head: dict[str, Any] = {"system": "Be careful. " * 20, "tools": [{"name": "look", "input_schema": {}}]}
    whole = estimate_tokens(messages, **head)
    assert stays_at(whole, compact_history(messages, limit=whole, **head))
    made = compact_history(messages, limit=whole - 1, **head)
    assert made.stats["originalTokens"] == whole > made.stats["compactedTokens"]
    assert "Be careful" not in json.dumps(made.messages)


def stays_at(total: int, made: CompactionResult) -> bool:
    return made.stats["compactedTokens"] == made.stats["originalTokens"] == total


def test_the_model_chooses_the_tokenizer() -> None:
    older = compact_history(talk(3), model="claude-3-5-sonnet").stats["originalTokens"]
    assert older == estimate_tokens(talk(3), model="claude-3-5-sonnet") < tokens(talk(3))


def test_options_are_those_of_the_strategy_in_either_spelling() -> None:
    messages = talk(4)
    both = compact_history(messages, min_segments_to_keep=2)
    assert both.messages == compact_history(messages, minSegmentsToKeep="2").messages
    assert both.stats["removed"] == 8
    none = compact_history(messages, keepLastSegment=False, minSegmentsToKeep=0)
    assert none.stats["removed"] == 16


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"strategy": "magic"}, r"There is no strategy 'magic'; there is: .*monologue"),
        ({"keeps": 1}, r"The strategy monologue has no option 'keeps'; it has: .*min_segments_to_keep"),
        ({"limit": 0}, r"The limit is a positive number of tokens, not 0\."),
        ({"limit": -5}, r"not -5"),
    ],
)
def test_arguments_that_cannot_be_are_value_errors(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        compact_history(talk(2), **arguments)


def test_what_no_layer_touched_comes_out_as_it_went_in() -> None:
    cached = {"type": "text", "text": "as blocks", "cache_control": {"type": "ephemeral"}}
    thought = {"type": "thinking", "thinking": "so", "signature": "s"}
    kept: list[dict[str, Any]] = [
        {"role": "user", "content": "as a string", "uuid": 7},
        assistant(cached, call("x")),
        {"role": "user", "content": [result("x", ""), {"type": "image", "source": {"type": "url", "url": "u"}}]},
        {**assistant(thought, call("y")), "id": "m"},
    ]
    made = compact_history([user("old " * 50), assistant("old " * 50), *kept], strategy=Oldest())
    assert made.messages == kept


def test_a_call_at_the_very_end_that_has_no_result_yet_stays_a_call() -> None:
    messages = [*talk(2), user("and now?"), assistant("I look.", call("open"))]
    assert compact_history(messages).messages[-2:] == messages[-2:]


def test_a_call_whose_result_is_gone_elsewhere_becomes_text() -> None:
    messages = [user("q"), assistant("words " * 50, call("a")), results("a"), assistant("end")]
    made = compact_history(messages, strategy=Oldest())
    assert_valid(made.messages)  # type: ignore[arg-type]
    assert made.messages == [
        {"role": "user", "content": [{"type": "text", "text": "[Result of an earlier tool call]\n> seen"}]},
        messages[3],
    ]


def test_neither_the_messages_nor_their_blocks_are_changed_in_place() -> None:
    messages = talk(5)
    before = deepcopy(messages)
    compact_history(messages, limit=tokens(messages) // 2)
    compact_history(messages, strategy="two_phase", summary="Five questions were asked, and all are answered.")
    assert messages == before


def test_one_message_object_may_stand_in_the_list_twice() -> None:
    same = user("again")
    messages = [user("old " * 60), assistant("old " * 60), same, assistant("yes"), same]
    assert compact_history(messages, strategy=Oldest()).messages == messages[2:]


def test_a_strategy_is_told_that_it_was_asked_by_hand_and_for_what() -> None:
    with pytest.raises(Told) as caught:
        compact_history(talk(2), strategy=Asking(), limit=100, system="Be brief.", rules=(r"\d+",))
    meter, context = caught.value.meter, caught.value.context
    assert (context.trigger, context.target, context.rules, context.vectors) == ("manual", 100, (r"\d+",), {})
    assert (meter.limit, meter.head) == (100, estimate_tokens([], system="Be brief."))
    assert meter.total == estimate_tokens(talk(2), system="Be brief.")


def test_without_a_limit_the_context_counts_as_exactly_full() -> None:
    with pytest.raises(Told) as caught:
        compact_history(talk(2), strategy=Asking())
    assert caught.value.meter.share == 1
    assert caught.value.context.target is None


def test_texts_are_embedded_only_when_a_strategy_looks_at_a_vector() -> None:
    asked: list[Sequence[str]] = []
    thought = {"type": "thinking", "thinking": "x"}

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.append(texts)
        return [[float(len(text))] for text in texts]

    with pytest.raises(Told) as caught:
        compact_history([user("four"), assistant(thought)], strategy=Asking(), embed=embed)
    assert asked == []
    assert dict(caught.value.context.vectors) == {1: [4.0]}
    assert asked == [["four"]]


def test_an_embedder_that_has_none_leaves_the_strategy_without_vectors() -> None:
    with pytest.raises(Told) as caught:
        compact_history(talk(1), strategy=Asking(), embed=lambda _: [])
    assert len(caught.value.context.vectors) == 0


def test_entries_are_what_people_said_each_result_and_replies() -> None:
    mixed = {"role": "user", "content": [result("a"), result("b"), {"type": "text", "text": "and hurry"}]}
    entries = entries_of([user("q"), assistant("so", call("a"), call("b")), mixed, {"role": "user", "content": []}])
    assert [(entry.seq, entry.role, entry.kind) for entry in entries] == [
        (1, "user", EntryKind.SAID),
        (2, "assistant", EntryKind.REPLY),
        (3, "user", EntryKind.RESULT),
        (4, "user", EntryKind.RESULT),
        (5, "user", EntryKind.SAID),
    ]
    assert all(entry.tokens > 0 for entry in entries)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories(most=16), st.sampled_from(sorted(STRATEGIES)), st.one_of(st.none(), st.integers(1, 400)))
def test_whatever_was_said_the_result_is_valid_no_larger_and_never_invents_where_a_message_came_from(
    history: History, name: str, limit: int | None
) -> None:
    messages = history.view()
    before = deepcopy(messages)
    strategy: Strategy = STRATEGIES[name]
    try:
        made = compact_history(messages, strategy=strategy, limit=limit, summary="A little was said, of 7 things.")
    except CannotFit as error:
        made = error.result
        assert limit is not None
        assert made.stats["compactedTokens"] > limit
    assert messages == before
    assert_valid(made.messages)  # type: ignore[arg-type]
    assert made.stats["compactedTokens"] == tokens(made.messages) <= tokens(messages)
    assert made.stats["compactedCount"] == len(made.messages)
    assert made.changed == (made.messages != messages)
    for shown in made.page:
        assert shown.changed or not shown.sources or shown.message == messages[shown.sources[0]]
    places = [index for shown in made.page for index in shown.sources]
    assert places == sorted(set(places))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_comes_out_is_never_nothing(strategy: str) -> None:
    small_talk = [user("hi"), assistant("Hello! How are you today?"), user("ok"), assistant("Good to hear.")]
    for messages in (small_talk, small_talk[:2], [user("thanks"), assistant("```\n" + "x = 1\n" * 200 + "```")]):
        for limit in (None, 5, 40, 200):
            try:
                made = compact_history(messages, strategy=strategy, limit=limit, summary="They said hello.").messages
            except CannotFit as error:
                made = error.result.messages
            assert made


ERRANDS = [
    message
    for at in range(24)
    for message in (
        user(
            f"The {('harbour', 'chapel', 'gymnasium')[at % 3]} key {at} hangs at hook {at * 37}, ask Nadja{at} for it."
        ),
        assistant(f"I have noted where key {at} hangs."),
    )
]


def test_a_memory_that_is_compacted_again_without_a_limit_is_not_wiped() -> None:
    page = ERRANDS
    for _ in range(4):
        page = compact_history(page, strategy="memory").messages
        assert sum("hook" in str(message) for message in page) > 0
    assert "# Memory checkpoint" in str(page)


class Careless(Oldest):
    """Comes to a little more than what it is told to come to, and then finds nothing more to do."""

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        if any(entry.kind is EntryKind.SUMMARY for entry in view) or view[0].seq > 1:
            return None
        kept = list(view)
        while kept and sum(entry.tokens for entry in kept) > 1.06 * (context.target or 0):
            kept.pop(0)
        upto = max(entry.seq for entry in view)
        return Plan(self.name, upto, kept[0].seq, everything_but(kept, upto))


def test_a_plan_that_misses_its_limit_by_a_little_is_made_anew_for_a_little_less() -> None:
    limit = 500
    made = compact_history(ERRANDS, strategy=Careless(), limit=limit)
    assert 0.8 * limit < tokens(made.messages) <= limit
