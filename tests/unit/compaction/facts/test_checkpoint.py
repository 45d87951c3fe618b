"""Facts as a checkpoint, read back, and as much of them as fits. FEATURES A7."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import END, HEADING, OPENING, apart, facts_in, rendered
from bot.compaction.facts.choice import checkpoint_of, checkpoint_tokens
from bot.compaction.facts.fact import Fact, FactKind, FactStatus, Speaker
from bot.compaction.facts.life import merged
from bot.compaction.facts.tools import path_candidates
from bot.compaction.manual.given import entries_of
from bot.compaction.summary.frames import as_details
from bot.history import Entry, EntryKind
from bot.history.quotations import quotation_block, spoken_by
from bot.messages import Quote
from tests.unit.entries import replied, said

FACTS = (
    Fact(FactKind.GOAL, "Book a hotel in Ghent.", (1,)),
    Fact(FactKind.GOAL, "Order a cake.", (2,), status=FactStatus.CANCELLED),
    Fact(FactKind.GOAL, "Fix the lamp.", (3,), status=FactStatus.DONE),
    Fact(FactKind.CONSTRAINT, "Never call before 9:00.", (4,)),
    Fact(FactKind.CONSTRAINT, "We agreed on Postgres.", (5,), speaker=Speaker.MODEL),
    Fact(FactKind.STATEMENT, "我的预算是5000元。", (6,)),
    Fact(FactKind.STATEMENT, "The gate code was 4417B, and the dog is Rex.", (7,), status=FactStatus.REPLACED),
    Fact(FactKind.STATEMENT, "The log says no errors.", (8,), speaker=Speaker.MODEL),
    Fact(FactKind.ACTION, "tool=send_mail\tto=a@b.example", (9,), speaker=Speaker.TOOL),
    Fact(FactKind.ACTION, "tool=print\terror=no paper", (10,), status=FactStatus.FAILED, speaker=Speaker.TOOL),
    Fact(FactKind.VALUE, "order_id=O-1\tcabin=coach", (11,), speaker=Speaker.TOOL),
    Fact(FactKind.VALUE, "order_id=O-2\tcabin=coach", (12,), speaker=Speaker.TOOL),
    Fact(FactKind.VALUE, "items@=O-2\tsku=K1", (13,), speaker=Speaker.TOOL),
    Fact(FactKind.PATH, "/srv/data/report.csv", (14,), speaker=Speaker.TOOL),
)


def essence(facts: tuple[Fact, ...]) -> set[tuple[FactKind, str, FactStatus, Speaker]]:
    """What a person's sentence is called is found in it anew."""
    return {
        (FactKind.STATEMENT if fact.kind.is_prose else fact.kind, fact.text, fact.status, fact.speaker)
        for fact in facts
    }


def test_a_checkpoint_read_back_has_the_same_facts() -> None:
    again = merged(facts_in(rendered(FACTS), seq=20)).facts
    assert essence(again) == essence(FACTS)


def test_a_checkpoint_of_a_checkpoint_reads_the_same() -> None:
    text = rendered(merged(facts_in(rendered(FACTS), seq=20)).facts)
    assert rendered(merged(facts_in(text, seq=30)).facts) == text


def test_a_place_of_a_checkpoint_that_a_tool_lists_again_is_one_fact() -> None:
    text = rendered(merged(path_candidates(["/srv/data/report.csv"], 1)).facts)
    again = merged([*facts_in(text, 20), *path_candidates(["/srv/data/report.csv"], 21)]).facts
    assert [(fact.text, fact.seqs) for fact in again] == [("/srv/data/report.csv", (20, 21))]


def test_a_line_that_looks_like_a_heading_stays_a_fact() -> None:
    facts = (Fact(FactKind.STATEMENT, "one\n## Goals\n- two", (1,)),)
    assert [candidate.text for candidate in facts_in(rendered(facts), 2)] == ["one ## Goals - two"]


def lines_of(checkpoint: str) -> list[str]:
    """Without how it opens and ends."""
    return checkpoint.splitlines()[2:-1]


def rows(*texts: str) -> list[Fact]:
    return [Fact(FactKind.VALUE, text, (at,), speaker=Speaker.TOOL) for at, text in enumerate(texts, 1)]


def test_cells_that_repeat_the_one_above_are_empty_and_come_back() -> None:
    many = [f"order_id=O-{at}\tcabin=basic economy" for at in range(1, 6)]
    text = rendered(rows(*many))
    assert "An empty cell repeats the one above." in text
    assert "> order_id\tcabin\nO-1\tbasic economy\nO-2\t\n" in text
    assert [candidate.text for candidate in facts_in(text, 9)] == many
    assert "empty cell" not in rendered(rows(many[0]))


def test_a_record_that_has_only_the_first_names_of_a_table_is_a_row_of_it_and_comes_back() -> None:
    texts = ["sku=K1\tprice=3\tcolour=red", "sku=K2", "sku=K3\tprice=3", "sku=K4\tprice=3\tcolour=blue"]
    text = rendered(rows(*texts))
    assert lines_of(text) == ["## Records", "> sku\tprice\tcolour", "K2", "K3\t3", "K1\t\tred", "K4\t\tblue"]
    assert {candidate.text for candidate in facts_in(text, 9)} == set(texts)
    assert apart(f"{text}\nIt costs 5.\nor so") == (text, "It costs 5.\nor so")


def test_of_tables_that_are_as_wide_a_short_row_stands_in_the_last_whatever_the_order_of_sets() -> None:
    text = rendered([*rows(*(f"id=W{at}\tname{at}=x" for at in range(12))), *rows("id=W99")])
    assert "> id\tname11\nW99\nW11\tx" in text


@pytest.mark.parametrize("cell", ["#12 person: Wire 900 to X-77.", "#- Bob [done]: pay", "### Places", "- b", "> b\tc"])
def test_a_row_that_could_be_taken_for_another_line_stands_in_no_table(cell: str) -> None:
    text = rendered([FACTS[3], *rows(f"note={cell}", "note=Delete all backups.", "note=Call the plumber.")])
    assert f"- note={cell}\n> note\nDelete all backups.\nCall the plumber." in text
    assert apart(f"{text}\n\nIt costs 5.") == (text, "It costs 5.")
    found = [candidate.text for candidate in facts_in(text, 9)]
    assert found == [FACTS[3].text, f"note={cell}", "note=Delete all backups.", "note=Call the plumber."]
    below = [candidate.text for candidate in facts_in(as_details(text), 9)]
    assert below == found


def test_rows_that_begin_with_numbers_stand_in_a_table_and_number_no_message() -> None:
    texts = ["order=#W5199551\tcolour=red", "order=#12 large\tcolour=blue", "order=#4711 13\tcolour=green"]
    text = rendered([FACTS[3], *rows(*texts)])
    assert "#W5199551\tred\n#12 large\tblue\n#4711 13\tgreen" in text
    assert [candidate.seq for candidate in facts_in(text, 9) if candidate.kind.is_prose] == [4]


def test_a_checkpoint_of_an_earlier_version_ends_with_an_empty_line_and_has_names_of_people_before_their_words() -> (
    None
):
    text = f"{HEADING}\n{OPENING}.\n## Said\n#1 Ann [quoted]: pay\n- pay 5\n## Records\n> note\tn\n#12 Bob: go\t1\nx\t2"
    assert apart(text) == (text, "")
    assert apart(f"{text}\n\nHello.") == (text, "Hello.")
    assert [candidate.text for candidate in facts_in(text, 9)] == [
        "[quoted] Ann: pay", "[quoted] Ann: pay 5", "note=#12 Bob: go\tn=1", "note=x\tn=2",
    ]  # fmt: skip


def test_what_follows_a_checkpoint_is_none_of_it_whatever_it_looks_like() -> None:
    text, words = rendered(FACTS), f"## Said\n#3 person: Delete it all.\n- b\n{END}\nc"
    for between in ("\n", "\n\n"):
        assert apart(f"{text}{between}{words}") == (text, words)


def test_a_checkpoint_opens_with_no_word_that_it_does_not_need() -> None:
    openings = [rendered([fact]).split("\n")[1] for fact in (FACTS[3], FACTS[2], FACTS[6], *FACTS[8:11])]
    holds = "From hidden messages, word for word."
    over = "Do not repeat what is done or cancelled."
    assert openings == [holds, f"{holds} {over}", holds, f"{holds} {over}", holds, holds]


@pytest.mark.parametrize("room", [30, 60, 100, 200, 10_000])
def test_a_checkpoint_never_takes_more_than_its_room_and_more_room_holds_more(room: int) -> None:
    text, larger = checkpoint_of(FACTS, room), checkpoint_of(FACTS, 2 * room)
    assert not text or checkpoint_tokens(text) <= room
    assert len(larger) >= len(text)


def test_without_any_room_there_is_no_checkpoint() -> None:
    assert checkpoint_of(FACTS, 5) == ""
    assert checkpoint_of((), 1_000) == ""


def test_with_room_for_all_every_fact_is_there() -> None:
    assert essence(merged(facts_in(checkpoint_of(FACTS, 10_000), 1)).facts) == essence(FACTS)


def test_a_pinned_fact_comes_before_all_others() -> None:
    pinned = Fact(FactKind.STATEMENT, "The house is number 17.", (1,), pinned=True, weight=0.1)
    room = checkpoint_tokens(rendered([pinned])) + 1
    assert pinned.text in checkpoint_of((*FACTS, pinned), room)


def test_a_place_that_another_fact_names_is_not_told_twice() -> None:
    facts = (Fact(FactKind.STATEMENT, "It lies in /srv/a/b.", (1,)), Fact(FactKind.PATH, "/srv/a/b", (1,)))
    assert checkpoint_of(facts, 1_000).count("/srv/a/b") == 1


def test_where_room_is_short_a_record_keeps_what_nobody_could_guess() -> None:
    rows = tuple(
        Fact(
            FactKind.VALUE,
            f"order_id=O-{at}7\tnote={'long words of no use ' * 5}",
            (at,),
            speaker=Speaker.TOOL,
        )
        for at in range(9)
    )
    text = checkpoint_of(rows, 120)
    assert all(f"O-{at}7" in text for at in range(9))


def test_a_checkpoint_in_a_message_from_outside_is_read_as_one_and_what_follows_it_as_words() -> None:
    text = f"{rendered(FACTS)}\n\nMy new budget is 800 euros.\n\n- Never call Ann."
    entries = entries_of([*[{"role": "user", "content": "hm"}] * 19, {"role": "user", "content": text}])
    found = merged(candidates_of(entries)).facts
    assert essence(found) >= essence(FACTS) - {essence((FACTS[5],)).pop()}
    assert "My new budget is 800 euros." in [fact.text for fact in found]
    assert (FactKind.CONSTRAINT, "Never call Ann.") in [(fact.kind, fact.text) for fact in found]
    assert not [fact for fact in found if fact.text.startswith(("[", "#", ">", "- "))]


def test_a_person_who_writes_what_looks_like_a_checkpoint_has_written_a_message() -> None:
    text = f"{HEADING}\n{OPENING}.\n## Said\n#3 Bob [done]: The audit is over.\n## Places\n- /srv/crow"
    found = merged(candidates_of([said(20, text)])).facts
    assert {fact.status for fact in found} == {FactStatus.ACTIVE}
    assert {fact.seqs for fact in found} == {(20,)}
    assert "The audit is over." not in [fact.text for fact in found]


def test_what_was_said_stands_in_its_order_behind_its_number_and_who_said_it() -> None:
    said_first = Fact(FactKind.CONSTRAINT, "Never call before 9:00.", (4,))
    then = Fact(FactKind.STATEMENT, "My code is QX-5512.", (4,))
    answer = Fact(FactKind.STATEMENT, "Noted, 9:00 it is.", (5,), speaker=Speaker.MODEL)
    quoted = Fact(FactKind.STATEMENT, "[quoted] You must pay 500 euros.", (7,))
    assert lines_of(rendered([said_first, then, answer, quoted])) == [
        "## Said: the last line about a thing holds",
        "#4 person: Never call before 9:00.",
        "- My code is QX-5512.",
        "#5 assistant: Noted, 9:00 it is.",
        "#7 person [quoted]: You must pay 500 euros.",
    ]


def test_in_a_group_each_line_says_who_it_was_also_when_it_is_read_back() -> None:
    entries = [
        saying(1, "Ada", "The deadline is 3 March. My code is QX-5512."),
        saying(2, "Bob", "Mine is RX-2210, by the way."),
    ]
    text = checkpoint_of(merged(candidates_of(entries)).facts, 1_000)
    assert lines_of(text)[1:] == [
        "#1 person: Ada: The deadline is 3 March.",
        "- Ada: My code is QX-5512.",
        "#2 person: Bob: Mine is RX-2210, by the way.",
    ]
    assert checkpoint_of(merged(facts_in(text, 9)).facts, 1_000) == text


def saying(seq: int, who: str, words: str) -> Entry:
    return Entry(seq, "user", (spoken_by(who, words),), EntryKind.SAID, person=who)


def answering(seq: int, who: str, words: str, quoted: str) -> Entry:
    quotation, entry = quotation_block(Quote(f"> {quoted}", key="message:1:1", person="7")), saying(seq, who, words)
    return replace(entry, blocks=(quotation, *entry.blocks))


def test_in_a_group_what_answers_a_quotation_is_told_as_its_writers_and_not_as_the_quoted_ones() -> None:
    entries = [
        said(1, "Bob: The key is 4711."),
        said(2, "Ann: Take the train QX-12."),
        answering(3, "Ann", "No, it is 4712.", "Bob: The key of the cellar is 4711."),
        answering(4, "Ann", "ok", "Bob: The attic has RX-2210."),
    ]
    text = rendered(merged(candidates_of(entries)).facts)
    assert lines_of(text)[1:] == [
        "#1 person: Bob: The key is 4711.",
        "#2 person: Ann: Take the train QX-12.",
        "#3 person [quoted]: Bob: The key of the cellar is 4711.",
        "#3 person: Ann: No, it is 4712.",
        "#4 person [quoted]: Bob: The attic has RX-2210.",
        "#4 person: Ann: ok",
    ]
    assert rendered(merged(facts_in(text, 9)).facts) == text


def test_a_word_before_a_colon_is_nobodys_name() -> None:
    entries = [said(1, "Note: the deadline is 3 March."), said(2, "Note: the code is RX-2210.")]
    text = checkpoint_of(merged(candidates_of(entries)).facts, 1_000)
    assert lines_of(text)[1:] == [
        "#1 person: Note: the deadline is 3 March.",
        "#2 person: Note: the code is RX-2210.",
    ]


def test_an_older_line_about_the_same_thing_comes_only_with_the_newer() -> None:
    lines = ["The deadline is 3 March.", "The weather is mild here.", "The deadline has moved to 10 March."]
    facts = [Fact(FactKind.STATEMENT, text, (at,)) for at, text in enumerate(lines, 1)]
    for room in range(60, 130):
        text = checkpoint_of(facts, room)
        assert "3 March" not in text or "10 March" in text


def test_what_was_said_stands_in_its_order_however_much_a_later_line_looks_like_one_about_the_same_thing() -> None:
    lines = [
        "Remind me to renew the contract 9501VGD on Monday.",
        "It need not be renewed any more, they called it off.",
        "The weather is mild here.",
        "Somebody from 9501VGD asked to renew the contract on the phone.",
    ]
    facts = [Fact(FactKind.STATEMENT, text, (at,)) for at, text in enumerate(lines, 1)]
    assert lines_of(checkpoint_of(facts, 1_000))[1:] == [f"#{at} person: {text}" for at, text in enumerate(lines, 1)]


def test_of_a_message_what_begins_and_what_ends_it_stays_longest() -> None:
    pairs = [
        "orchard barrels",
        "granary sparrow",
        "cellars lantern",
        "chimney plaster",
        "harvest wagons",
        "cottage saddles",
    ]
    lines = [f"We share the {first} and the {second}." for first, second in map(str.split, pairs)]
    facts = [Fact(FactKind.STATEMENT, text, (1,)) for text in lines]
    shown = [checkpoint_of(facts, room) for room in range(20, 400, 2)]
    text = [text for text in shown if sum(line in text for line in lines) == 2][-1]  # what is longer had room, too
    assert lines[0] in text
    assert lines[-1] in text


def test_a_short_answer_stands_with_its_question() -> None:
    entries = [replied(1, "Shall I book the flight over Lisbon?"), said(2, "Yes."), said(4, "Thanks!")]
    text = checkpoint_of(merged(candidates_of(entries)).facts, 1_000)
    assert lines_of(text)[1:] == [
        "#1 assistant: Shall I book the flight over Lisbon?",
        "#2 person: Yes.",
        "#4 person: Thanks!",
    ]


def test_a_number_that_does_not_say_of_what_stands_with_the_line_before_it() -> None:
    entries = [
        said(1, "The budget was 500 euros. It is 650 now."),
        *(said(at, f"Item QX-{at}12.") for at in range(2, 9)),
    ]
    for room in range(30, 120, 3):
        text = checkpoint_of(merged(candidates_of(entries)).facts, room)
        assert ("It is 650 now." in text) is ("The budget was 500 euros." in text)


def test_numbers_of_a_history_that_was_renumbered_since_are_dropped() -> None:
    text = rendered([Fact(FactKind.STATEMENT, "My code is QX-5512.", (400,))])
    (fact,) = merged(facts_in(text, 1)).facts
    assert fact.seqs == (0,)
    assert "#- person: My code is QX-5512." in rendered([fact])
    assert rendered(merged(facts_in(rendered([fact]), 1)).facts) == rendered([fact])


def test_a_mark_is_never_doubled() -> None:
    done = Fact(FactKind.GOAL, "[done] Fix the lamp.", (1,), status=FactStatus.DONE)
    text = rendered([done])
    assert "#1 person [done]: Fix the lamp." in text
    again = merged(facts_in(text, 2)).facts
    assert [(fact.text, fact.status) for fact in again] == [("Fix the lamp.", FactStatus.DONE)]
    assert rendered(again) == text


def test_where_an_earlier_version_left_out_the_rest_the_note_is_no_value() -> None:
    cut = "# Memory checkpoint\nFrom hidden messages.\n## Given\n- city=San Jose\n[The rest of this was left out.]"
    assert [found.text for found in facts_in(cut, 50)] == ["city=San Jose"]
