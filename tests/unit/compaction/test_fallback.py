"""When no summary can be had, the oldest goes and something small stays, so that no conversation is ever bricked."""

from __future__ import annotations

from dataclasses import replace

from bot.compaction import Plan
from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import rendered
from bot.compaction.facts.fact import Fact, FactKind
from bot.compaction.fallback import excerpt, hide_oldest, last_resorts
from bot.history import Entry, EntryKind, History
from bot.messages import text_block
from tests.unit.entries import history, replied, result, returned, said, shown

PAGE = history(
    said(1, "The code is XK-4711.", tokens=100),
    replied(2, "Noted.", tokens=100),
    said(3, "And now?", tokens=100),
    replied(4, "Well.", tokens=100),
    said(5, "Go on.", tokens=100),
)


def covered(page: History, plan: Plan | None) -> History:
    assert plan
    layer, inserted = plan.layer(max(page.stack, default=0) + 1, page.last_seq + 1, run=None)
    return page.covered(layer, inserted)


def test_the_oldest_turns_go_until_the_rest_fills_half() -> None:
    page = covered(PAGE, hide_oldest(PAGE.visible, 600))
    assert [entry.seq for entry in page.visible] == [6, 3, 4, 5]
    page = covered(PAGE, hide_oldest(PAGE.visible, 599))
    assert [entry.seq for entry in page.visible] == [6, 5]


def test_the_note_says_how_much_is_hidden_and_lists_exact_details_of_it() -> None:
    note = covered(PAGE, hide_oldest(PAGE.visible, 2_000)).visible[0]
    assert note.kind is EntryKind.NOTE
    text = note.blocks[0]["text"]
    assert text.startswith("Session context compacted. 2 older messages are hidden without a summary")
    assert "XK-4711" in text


def test_details_are_not_listed_where_there_is_no_room_for_them() -> None:
    note = covered(PAGE, hide_oldest(PAGE.visible, 10)).visible[0]
    assert "XK-4711" not in note.blocks[0]["text"]


def test_the_latest_request_stays_alone_when_what_followed_it_does_not_fit() -> None:
    page = history(said(1, "look", tokens=10), replied(2, "", "a"), returned(3, "a", tokens=900))
    after = covered(page, hide_oldest(page.visible, 100))
    assert [entry.seq for entry in after.visible] == [4, 1]


def test_what_tools_returned_for_the_latest_request_stays_when_it_fits() -> None:
    page = PAGE.appended(replied(6, "", "a", tokens=10), returned(7, "a", tokens=10))
    after = covered(page, hide_oldest(page.visible, 300))
    assert shown(after)[-2:] == [("assistant", ["tool_use a"]), ("user", ["tool_result a"])]


def test_without_any_request_everything_goes() -> None:
    page = history(replied(1, "hello", tokens=900), replied(2, "anyone?", tokens=900))
    assert [entry.seq for entry in covered(page, hide_oldest(page.visible, 100)).visible] == [3]


def test_there_is_no_plan_when_nothing_can_go() -> None:
    assert hide_oldest([said(1, "all I said", tokens=9_000)], 100) is None
    after = covered(PAGE, hide_oldest(PAGE.visible, 100))
    assert hide_oldest(after.visible, 100) is None


def test_an_excerpt_shows_the_beginning_of_a_message_and_how_long_it_was() -> None:
    page = history(said(1, "hi"), replied(2, "yes?"), said(3, "x" * 40_000))
    text = shown(covered(page, excerpt(page.entries[2], page.visible)))[-1][1][0]
    assert "40,000 characters" in text
    assert text.endswith("\n" + "x" * 398 + "…")


def test_of_a_file_each_line_of_an_excerpt_is_marked() -> None:
    file = Entry(2, "user", (text_block("[File: files/a.txt, 9 characters]\nAda: so\n" + "x" * 9_000),), EntryKind.FILE)
    page = history(said(1, "look"), file)
    text = shown(covered(page, excerpt(file, page.visible)))[0][1][1]
    assert text.split("\n")[1:3] == ["> [File: files/a.txt, 9 characters]", "> Ada: so"]
    assert all(line.startswith("> ") for line in text.split("\n")[1:])


def test_an_excerpt_of_a_tool_result_is_still_that_tools_result() -> None:
    page = history(said(1, "look"), replied(2, "", "a"), returned(3, "a", "y" * 40_000))
    content = covered(page, excerpt(page.entries[2], page.visible)).view()[-1]["content"]
    assert content == [result("a", "[This was too long to be read: 40,000 characters. It begins:]\n" + "y" * 398 + "…")]


def test_an_excerpt_of_a_result_in_blocks_shows_its_text() -> None:
    page = history(said(1, "look"), replied(2, "", "a"), returned(3, "a", [text_block("one"), text_block("two")]))
    after = covered(page, excerpt(page.entries[2], page.visible))
    assert after.visible[-1].blocks[0]["content"].endswith("It begins:]\none\n\ntwo")


def test_what_is_left_of_a_checkpoint_is_read_as_one_and_the_words_that_say_so_are_no_fact() -> None:
    said_before = [Fact(FactKind.STATEMENT, f"Locker {at} has the key QX-{at}512.", (at,)) for at in range(1, 30)]
    note = Entry(40, "user", (text_block(rendered(said_before)),), EntryKind.NOTE, tokens=9_000, layer=1, place=40)
    (plan,) = [plan for plan in last_resorts([note, said(41, "Go on.")], 9_000) if plan.replaced]
    shorter = replace(note, blocks=plan.replaced[40])
    assert "The rest of this was left out." in str(shorter.blocks)
    told = {found.text for found in candidates_of([shorter])}
    assert len(told) > 10
    assert {text for text in told if not text.endswith("…")} <= {fact.text for fact in said_before}


def test_an_excerpt_hides_no_summary_that_stands_before_it() -> None:
    page = covered(PAGE, hide_oldest(PAGE.visible, 100))
    summary_of_all = covered(History(PAGE.entries[:4]), hide_oldest(PAGE.entries[:4], 1))
    later = summary_of_all.appended(said(9, "z" * 9_000))
    for history_, entry in ((page, page.entries[4]), (later, later.entries[-1])):
        after = covered(history_, excerpt(entry, history_.visible))
        floor = max(layer.floor for layer in after.layers)
        assert all(shown_.seq >= floor for shown_ in after.visible)
