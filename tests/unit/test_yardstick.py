"""The bench of what compactions keep measures what it claims."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from random import Random

import pytest

from bot.compaction import STRATEGIES
from bot.compaction.manual.manual import compact_history
from bot.estimate import estimate_tokens
from bot.messages import Message, text_block, text_of
from tests.bench.yardstick import inventions, made_up, plain_chat, prose, recorded
from tests.bench.yardstick.contenders import (
    CLEARED,
    Contender,
    bare_ids,
    baselines,
    clear_old_tools,
    newest,
    nothing_kept,
    strategies,
    summary_and_recent,
)
from tests.bench.yardstick.extract import extract
from tests.bench.yardstick.figures import Figure, Measure, total
from tests.bench.yardstick.generated import generated
from tests.bench.yardstick.measures import SHORT_SHARES, VALUE_SHARES, Data, Extent
from tests.bench.yardstick.needs import ValueKind, kept, kind_of, needs_of
from tests.bench.yardstick.page import page
from tests.bench.yardstick.planted import Plant, PlantKind, Score, Verdict, has_mark, judged, significant
from tests.bench.yardstick.prose import PROSE
from tests.bench.yardstick.reading import occurs, places, request_text
from tests.bench.yardstick.recorded import Shape
from tests.bench.yardstick.requests import is_valid
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
def test_the_sets_of_wordings_have_no_sentence_label_or_thing_in_common(language: Language) -> None:
    for one, other in combinations([Wordings.of(language, name) for name in SETS], 2):
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
    found = list(recorded.cuts(recorded.read(recordings(tmp_path)), Random(1)))
    assert {cut.shape for cut in found} == set(Shape)
    for cut in found:
        assert cut.shape is Shape.SINGLE or estimate_tokens(cut.before) > 10_000
        assert is_valid(cut.before)
        assert cut.before[-1] == answered("Done.")
        assert cut.needs


def test_where_a_person_speaks_once_the_cut_is_between_a_result_and_a_call() -> None:
    talk = [
        asked("Mend it."),
        *[item for at in "abcd" for item in (called("look", at, at="x.py"), returned("x.py", at))],
    ]
    (cut,) = recorded.cuts([[*talk, answered("Done.")]], Random(1))
    assert cut.before[-1]["role"] == "user"
    assert is_valid(cut.before)


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
    found = list(made_up.figures(contender, [a_case()]))
    assert total(figure for figure in found if figure.measure is Measure.VALID) == Score(3, 3)


def test_what_does_not_fit_keeps_nothing_and_shows_nothing() -> None:
    found = list(made_up.figures(Contender("everything", lambda messages, _: messages), [a_case()]))
    assert total(figure for figure in found if figure.measure is Measure.FACTS).hits == 0
    assert total(figure for figure in found if figure.measure is Measure.STALE).share is None


def test_the_worst_summary_is_one_and_names_nothing() -> None:
    made = generated(2, "en", "B")
    summary = nothing_kept(made.messages, 100)
    assert compact_history(made.messages, strategy="reset", summary=summary).changed
    assert not any(occurs(plant.value, summary) for plant in made.plants)


def test_a_summary_and_recent_messages_hold_both_ends() -> None:
    talk = [message for at in range(60) for message in (asked(f"Point {at} of mine. {'x' * 90}"), answered("Fine."))]
    request = summary_and_recent(talk, 1_000, extract)
    assert "Point 0 of mine." in request_text(request)
    assert request[-1] == talk[-1]
    assert estimate_tokens(request) <= 1_000


def test_bare_ids_are_all_that_is_there() -> None:
    (page,) = bare_ids(TRIP, 100)
    assert text_of(page["content"]).split() == ["121", "mia_3", "Li", "Mia", "SEA", "JFK", "Book"]


def test_a_stand_in_summary_begins_with_the_first_and_ends_with_the_latest_and_is_short() -> None:
    talk = [asked(f"Point {number} is this. It goes on.") for number in range(200)]
    summary = extract(talk, 100)
    assert summary.startswith("User: Point 0 is this.\n")
    assert summary.endswith("\nUser: Point 199 is this.")
    assert estimate_tokens([asked(summary)]) <= 110
    assert extract([returned("seen")], 100)


# Prose, plain chat, inventions


PARAGRAPHS = [
    prose.Paragraph(f"Paragraph {at} tells of the harbour {at} and its {at * 7} ships.", [f"How many ships has {at}?"])
    for at in range(40)
]


@pytest.mark.parametrize("language", PROSE)
def test_everything_of_a_set_is_said_once_and_in_its_order(language: str) -> None:
    for wordings in PROSE[language]:
        made = prose.talk(language, wordings, PARAGRAPHS, 1)
        text = request_text(made.messages)
        assert all(text.count(sentence) == 1 for sentence in made.constraints)
        assert all(0 <= text.index(old) < text.index(new) for old, new in made.updates)
        assert is_valid(made.messages)
        everything, nothing = prose.judged(made, text), prose.judged(made, "")
        assert (everything.constraints.share, everything.updates.share, everything.stale.share) == (1, 1, 0)
        assert (nothing.constraints.share, nothing.updates.share, nothing.stale.share) == (0, 0, 0)


def test_no_sentence_is_in_both_sets() -> None:
    for sets in PROSE.values():
        said = [text for words in sets.values() for text in [*words["constraints"], *chain(*words["updates"])]]
        assert len(said) == len(set(said))


def test_a_sentence_stands_where_its_larger_part_does_and_an_old_one_is_stale_without_the_new_one_after_it() -> None:
    made = prose.Prose(
        [], ["Never phone her before nine in the morning."], [("We meet in Ulm.", "We meet in Bonn now.")]
    )
    assert prose.judged(made, "- Never phone her before nine in the …").constraints == Score(1, 1)
    assert prose.judged(made, "- Never phone her …").constraints == Score(0, 1)
    assert prose.judged(made, "We meet in Ulm.").stale == Score(1, 1)
    assert prose.judged(made, "We meet in Bonn now.\nWe meet in Ulm.").stale == Score(1, 1)
    assert prose.judged(made, "We meet in Ulm.\nWe meet in Bonn now.").stale == Score(0, 1)


def test_an_answer_is_kept_where_one_line_has_most_of_its_words() -> None:
    chat = plain_chat.Chat(
        [asked("We adopted Biscuit from the shelter in Thornbury."), answered("How lovely.")],
        [
            plain_chat.Question("Where did they adopt the dog?", "A shelter in Thornbury", [0]),
            plain_chat.Question("What is not said?", "The moon of Jupiter", [0]),
        ],
    )
    wanted = plain_chat.answerable(chat)
    assert len(wanted) == 1
    assert plain_chat.kept(wanted, chat.messages) == Score(1, 1)
    assert plain_chat.kept(wanted, [asked("The shelter.\nThornbury.")]) == Score(0, 1)


@pytest.mark.parametrize(
    ("line", "is_said"),
    [
        ("- We fly to Oslo on Friday.", True),
        ("#1 person: We fly to Oslo on Friday.", True),
        ("#1 person [done]: We fly to Oslo …", True),
        ("- [earlier] We fly to Oslo on Friday.", True),
        ("- We fly to [now Bergen] on Friday.", False),
        ("- We fly on Friday.", False),
        ("#1 Napoleon: We fly to Oslo on Friday.", False),
        ("- name=Mia Li\tprice=121", True),
        ("Mia Li\t122", False),
        (f"Mia Li\t{'ab' * 30}…", True),
        ("Mia Li\tFri…", False),
        ("[name price: Mia 121 / Li, 121]", True),
        ("[name price: Mia 121 / Li, 122]", False),
    ],
)
def test_a_line_is_invented_where_its_words_stand_nowhere_in_this_order(line: str, is_said: bool) -> None:
    before = [
        asked("We fly to **Oslo** on\nFriday. Bergen is for later."),
        called("look", name="Mia Li"),
        returned(f"121 name price {'ab' * 90}"),
    ]
    request = [asked(f"# Memory checkpoint\nFrom hidden messages.\n## Said\n{line}")]
    found = inventions.invented(before, request)
    assert (found.of, len(found.lines)) == (1, 0 if is_said else 1)


def test_a_folder_is_measured_and_the_page_has_every_strategy_and_no_empty_place(tmp_path: Path) -> None:
    for half in ("seen", "unseen"):
        (tmp_path / half / "tools").mkdir(parents=True)
        recordings(tmp_path / half / "tools").rename(tmp_path / half / "tools" / "orders.jsonl")
    halves = Data.of(tmp_path, Extent(cuts=1, values=0), 1)
    found = [figure for data in halves for figure in data.figures(ours("memory"), ["values"])]
    assert {figure.held_out for figure in found} == {False, True}
    assert total(figure for figure in found if figure.measure is Measure.VALUES).hits
    assert total(figure for figure in found if figure.measure is Measure.VALID).share == 1
    for name in STRATEGIES:
        found += [replace(figure, contender=name) for figure in found if figure.contender == "memory"]
        found += [Figure(measure, "generated en B", True, 0.25, name, Score(1, 2)) for measure in Measure]
    text = page(found, command="make bench-yardstick", seconds=1.0)
    assert "{{" not in text
    assert "orders 25%" in text
    assert "held out 33%" in text
    assert all(text.count(f"\n| {name} |") >= 3 for name in STRATEGIES)


def test_short_histories_are_measured_apart_and_a_domain_that_needs_little_has_more_cuts(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    recordings(tmp_path / "tools")
    everything = Contender("everything", lambda messages, _: messages)

    def counted(extent: Extent) -> dict[tuple[Measure, float], int]:
        found = [figure for data in Data.of(tmp_path, extent, 1) for figure in data.figures(everything, ["values"])]
        counts = Counter[tuple[Measure, float]]()
        for figure in found:
            counts[figure.measure, figure.share] += figure.score.of
        return counts

    few, more = counted(Extent(cuts=1, values=0)), counted(Extent(cuts=1, values=7))
    assert [few[Measure.SHORT, share] for share in SHORT_SHARES] == [2, 2, 2]
    assert [few[Measure.VALUES, share] for share in VALUE_SHARES] == [4, 4]
    assert [more[Measure.VALUES, share] for share in VALUE_SHARES] == [8, 8]
    assert [more[Measure.ONCE, share] for share in VALUE_SHARES] == [4, 4]


def test_a_folder_without_conversations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has none of"):
        Data.of(tmp_path, Extent.quick(), 1)


def ours(name: str) -> Contender:
    return next(contender for contender in strategies(None) if contender.name == name)


def a_case() -> made_up.Case:
    made = generated(2, "zh", "B", turns=32)
    return made_up.Case("zh", "B", messages=made.messages, plants=made.plants)


def test_stitching_is_repeatable() -> None:
    talks = [a_talk(number) for number in range(8)]
    assert list(recorded.cuts(talks, Random(4))) == list(recorded.cuts(talks, Random(4)))
