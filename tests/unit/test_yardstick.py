"""The bench of what compactions keep measures what it claims."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from bot.compaction import STRATEGIES
from bot.estimate import estimate_tokens
from bot.messages import Message, text_block
from tests.bench.yardstick import recorded
from tests.bench.yardstick.contenders import CLEARED, Contender, baselines, clear_old_tools, newest, strategies
from tests.bench.yardstick.extract import extract
from tests.bench.yardstick.generated import generated
from tests.bench.yardstick.needs import Need, ValueKind, kept, kind_of, needs_of
from tests.bench.yardstick.page import page
from tests.bench.yardstick.planted import Plant, PlantKind, Score, Verdict, has_mark, judged, significant
from tests.bench.yardstick.reading import occurs, places, request_text
from tests.bench.yardstick.recorded import Shape
from tests.bench.yardstick.trials import Case, Half, generated_cases, is_valid, recorded_cases, share_kept, trials
from tests.bench.yardstick.wordings import LANGUAGES, SETS, Language, SetName, Wordings

each_language = pytest.mark.parametrize("language", LANGUAGES)
each_set = pytest.mark.parametrize("wordings", SETS)
each_strategy = pytest.mark.parametrize("contender", strategies(None), ids=lambda contender: contender.name)
each_baseline = pytest.mark.parametrize("contender", baselines(), ids=lambda contender: contender.name)

CODE = Plant(PlantKind.FACT, "B-22", "Correction, the gate code is B-22 now.", replaced="A-11")
DINNER = Plant(PlantKind.TASK, "Chez Lume", "Forget the table at Chez Lume, please.")
RULE = Plant(PlantKind.RULE, "$9,000", "Never spend more than $9,000 on the trip.")


def asked(text: str) -> Message:
    return Message(role="user", content=[text_block(text)])


def called(tool: str, call_id: str = "a", /, **given: object) -> Message:
    return Message(role="assistant", content=[{"type": "tool_use", "id": call_id, "name": tool, "input": given}])


def returned(text: str, call_id: str = "a") -> Message:
    return Message(role="user", content=[{"type": "tool_result", "tool_use_id": call_id, "content": text}])


def answered(text: str) -> Message:
    return Message(role="assistant", content=[text_block(text)])


def verdict(*lines: str, plants: tuple[Plant, ...] = (CODE, DINNER, RULE)) -> Verdict:
    return judged(plants, [asked("\n".join(lines))])


TRIP = [asked("Book JFK to SEA for Mia Li."), called("find", name="Mia Li"), returned('{"id": "mia_3", "price": 121}')]
LATER = [called("book", "b", user={"id": "mia_3", "name": "Mia Li"}, price=121.0, seat="7C", cheap=True, note=None)]


# What later calls need


def test_needed_is_what_occurs_before_and_is_given_to_a_later_call() -> None:
    assert [need.value for need in needs_of(TRIP, LATER)] == ["mia_3", "Mia Li", "121"]


def test_keeping_everything_keeps_all_that_is_needed_and_keeping_nothing_keeps_none() -> None:
    needs = needs_of(TRIP, LATER)
    assert kept(needs, TRIP) == needs
    assert kept(needs, []) == []


def test_a_value_that_is_said_again_before_the_call_is_told_apart() -> None:
    needs = needs_of(TRIP, [asked("For Mia Li, please."), *LATER])
    assert {need.value: need.comes_again for need in needs} == {"mia_3": False, "Mia Li": True, "121": False}


@pytest.mark.parametrize(
    ("value", "text", "there"),
    [
        ("12", "room 12, please", True),
        ("12", "room 121", False),
        ("12", "12.5 and 1,12", False),
        ("12", "It is 12.", True),
        ("NO6JO3", "reservation NO6JO3!", True),
        ("NO6JO", "reservation NO6JO3", False),
        ("押金", "押金是 1200 元", True),
        ("mia", "Mia", False),
    ],
)
def test_a_value_occurs_literally_and_not_within_another(value: str, text: str, there: bool) -> None:
    assert occurs(value, text) is there


def test_inputs_of_calls_and_results_are_read_but_not_their_ids() -> None:
    text = request_text([called("find", "call-9", city="Bergen"), returned("sunny", "call-9")])
    assert "Bergen" in text
    assert "sunny" in text
    assert "call-9" not in text


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("reservation_id", "NO6JO3", ValueKind.ID),
        ("user_id", "mia_li_3668", ValueKind.ID),
        ("first_name", "mia", ValueKind.NAME),
        ("city", "New York", ValueKind.NAME),
        ("date", "2024-05-20", ValueKind.DATE),
        ("amount", "121", ValueKind.NUMBER),
        ("amount", "$1,210.50", ValueKind.NUMBER),
        ("cabin", "basic_economy", ValueKind.WORD),
    ],
)
def test_values_are_told_apart_by_form_and_field(field: str, value: str, kind: ValueKind) -> None:
    assert kind_of(field, value) is kind


# What was planted


@pytest.mark.parametrize(
    "lines",
    [
        ("The gate code is A-11.",),
        ("The gate code is A-11.", "- gate code: B-22"),
        ("The gate code is B-22 now.", "The gate code is A-11."),
        ("## Exact details", "- A-11", "- B-22"),
    ],
)
def test_a_replaced_value_without_a_sign_that_it_is_one_counts_as_shown_as_current(lines: tuple[str, ...]) -> None:
    assert verdict(*lines).stale == Score(1, 1)


@pytest.mark.parametrize(
    "lines",
    [
        ("The gate code was A-11.",),
        ("gate code: A-11 -> B-22",),
        ("The gate code is B-22 (not A-11).",),
        ("The gate code is A-11.", "What else?", "Correction, the gate code is B-22 now."),
        ("No longer true:", "- gate code: A-11"),
        ("The gate code is B-22.",),
        ("门禁密码原来是 A-11。",),
    ],
)
def test_a_replaced_value_that_is_marked_or_followed_by_its_update_is_not_counted(lines: tuple[str, ...]) -> None:
    assert verdict(*lines).stale == Score(0, 1)


def test_a_cancelled_task_counts_as_open_unless_it_is_marked_or_its_cancellation_follows() -> None:
    ask = "Please reserve a table at Chez Lume."
    assert verdict(ask).revived == Score(1, 1)
    assert verdict("The table at Chez Lume was asked for.").revived == Score(1, 1)
    assert verdict("Cancelled: table at Chez Lume.").revived == Score(0, 1)
    assert verdict(ask, "Forget the table at Chez Lume, please.").revived == Score(0, 1)


def test_a_rule_is_kept_by_its_value_with_most_of_its_words_around_it() -> None:
    assert verdict("Never spend more than $9,000 on it.").rules == Score(1, 1)
    assert verdict("$9,000").rules == Score(0, 1)
    assert verdict("Never spend more than that on the trip.").rules == Score(0, 1)


@each_language
@each_set
def test_a_whole_generated_conversation_scores_perfectly_and_an_empty_request_keeps_nothing(
    language: Language, wordings: SetName
) -> None:
    made = generated(3, language, wordings)
    whole, nothing = judged(made.plants, made.messages), judged(made.plants, [])
    assert [score.share for score in (whole.facts, whole.rules, whole.stale, whole.revived)] == [1, 1, 0, 0]
    assert [score.share for score in (nothing.facts, nothing.rules)] == [0, 0]
    assert min(score.of for score in (whole.facts, whole.rules, whole.stale, whole.revived)) >= 2


@each_language
@each_set
def test_a_conversation_without_its_updates_and_cancellations_shows_all_that_they_undo(
    language: Language, wordings: SetName
) -> None:
    made = generated(3, language, wordings)
    undoing = [plant for plant in made.plants if plant.replaced or plant.kind is PlantKind.TASK]
    text = "\n".join(
        line for line in request_text(made.messages).splitlines() if not any(p.sentence in line for p in undoing)
    )
    for plant in undoing:
        text = text.replace(plant.value, "") if plant.replaced else text
    left = judged(made.plants, [asked(text)])
    assert (left.stale.share, left.revived.share) == (1, 1)


@each_language
@each_set
def test_generated_conversations_are_valid_repeatable_and_keep_no_rule_by_chance(
    language: Language, wordings: SetName
) -> None:
    made = generated(5, language, wordings)
    assert made == generated(5, language, wordings)
    assert made.messages != generated(6, language, wordings).messages
    assert is_valid(made.messages)
    text = request_text(made.messages)
    stated = [plant for plant in made.plants if plant.kind in (PlantKind.RULE, PlantKind.DECISION)]
    assert [len(list(places(plant.value, text))) for plant in stated] == [1] * len(stated)


@each_language
def test_the_two_sets_of_wordings_have_no_sentence_label_or_thing_in_common(language: Language) -> None:
    one, other = (Wordings.of(language, name) for name in SETS)
    assert not set(one.sentences()) & set(other.sentences())
    assert not {label for label, _ in one.labels} & {label for label, _ in other.labels}
    assert not set(one.things) & set(other.things)


@each_language
@each_set
def test_no_sentence_that_holds_at_first_has_a_word_that_would_mark_it(language: Language, wordings: SetName) -> None:
    words = Wordings.of(language, wordings)
    firsts = [*words.says, *words.reports, *words.asks, *words.rules, *words.decisions, *words.tasks]
    assert [text for text in firsts if has_mark(text, PlantKind.FACT)] == []


def test_significant_words_are_stems_and_pairs_of_ideographs() -> None:
    assert significant("The landlords never phone") == {"landl", "never", "phone"}
    assert significant("不要动") == {"不要", "要动"}


# Recorded conversations


def a_talk(number: int) -> list[Message]:
    turns: list[Message] = []
    for turn in range(6):
        turns += [
            asked(f"Order {number}{turn}77, please."),
            called("order", "same-id", number=f"{number}0077"),
            returned(f"stored {'x' * 800}", "same-id"),
            answered("Done."),
        ]
    return turns


def recordings(folder: Path) -> Path:
    file = folder / "some.jsonl"
    lines = (json.dumps({"task_id": number, "messages": a_talk(number)}) for number in range(12))
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_recorded_conversations_are_cut_at_turns_and_stitched_into_valid_requests(tmp_path: Path) -> None:
    cases = recorded_cases(recorded.read(recordings(tmp_path)), 1, quick=False)
    assert {case.group for case in cases} == set(Shape)
    assert {case.half for case in cases} == set(Half)
    for case in cases:
        assert is_valid(case.messages)
        assert case.messages[-1] == answered("Done.")
        assert case.needs


def test_the_two_halves_share_no_conversation(tmp_path: Path) -> None:
    for case in recorded_cases(recorded.read(recordings(tmp_path)), 1, quick=False):
        numbers = {int(need.value[:-4]) for need in case.needs}
        assert {number % 2 for number in numbers} == {0 if case.half is Half.TUNED else 1}


def test_a_line_that_is_no_conversation_is_named(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text('{"messages": []}\n{"talk": []}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="Line 1 of"):
        recorded.read(file)


# What is compared


@each_baseline
def test_a_baseline_keeps_to_the_limit_and_keeps_the_newest(contender: Contender) -> None:
    made = generated(2, "en", "A")
    limit = estimate_tokens(made.messages) // 4
    request = list(contender.compact(made.messages, limit))
    assert is_valid(request)
    assert estimate_tokens(request) <= limit
    assert contender.name == "bare ids" or request[-1] == made.messages[-1]


def test_clearing_old_tools_leaves_the_last_three_results() -> None:
    talk = [item for at in "abcde" for item in (called("look", at), returned(f"saw {at} {'x' * 200}", at))]
    request = clear_old_tools([asked("Look."), *talk], 10_000)
    assert [b["content"][:5] for m in request for b in m["content"] if not isinstance(b, str) and "content" in b] == [
        CLEARED[:5],
        CLEARED[:5],
        "saw c",
        "saw d",
        "saw e",
    ]


def test_where_not_even_the_last_message_fits_nothing_is_left() -> None:
    assert newest([asked("word " * 500)], 10) == []


@each_strategy
def test_a_strategy_is_measured_with_valid_requests(contender: Contender) -> None:
    made = generated(2, "en", "B")
    for trial in trials([contender], [Case("generated", Half.HELD_OUT, made.messages, plants=made.plants)]):
        assert trial.valid
        assert trial.fits == (trial.size <= trial.share + 1e-3)


def test_what_does_not_fit_keeps_nothing_and_shows_nothing() -> None:
    made = generated(2, "en", "B")
    need = Need(made.plants[0].value, ValueKind.ID, comes_again=False)
    case = Case("generated", Half.HELD_OUT, made.messages, [need], made.plants)
    found = list(trials([Contender("everything", lambda messages, _: messages)], [case]))
    assert share_kept(found) == Score(0, 3)
    assert found[0].verdict.facts.hits == 0
    assert found[0].verdict.stale.share is None


def test_a_stand_in_summary_begins_with_the_first_and_ends_with_the_latest_and_is_short() -> None:
    talk = [asked(f"Point {number} is this. It goes on.") for number in range(200)]
    summary = extract(talk, 100)
    assert summary.startswith("User: Point 0 is this.\n")
    assert summary.endswith("\nUser: Point 199 is this.")
    assert estimate_tokens([asked(summary)]) <= 110
    assert extract([returned("seen")], 100)


def test_the_page_has_every_strategy_in_every_table_and_no_empty_place() -> None:
    cases = generated_cases(1, quick=True)[::3]
    text = page(list(trials([*strategies(None), *baselines()], cases)), command="make bench-yardstick", seconds=1.0)
    assert "{{" not in text
    for name in STRATEGIES:
        assert text.count(f"| {name} |") == 5
    assert dict.fromkeys(str(case.half) for case in cases)


def test_stitching_is_repeatable() -> None:
    talks = [a_talk(number) for number in range(12)]
    assert recorded.cuts(talks, Random(4)) == recorded.cuts(talks, Random(4))
