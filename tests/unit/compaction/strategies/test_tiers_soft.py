"""The first tier of `tiered`: files that nobody speaks of become outlines. FEATURES T2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.compaction import PlanContext
from bot.compaction.strategies.tiered import Tiered
from bot.history import Entry, EntryKind
from bot.messages import text_block
from tests.unit.entries import history, replied, returned, said, shown
from tests.unit.tiered_pages import (
    CODE,
    chat,
    counted,
    covered,
    meter_of,
    only_soft,
    planned,
    reading,
    sent,
    visible_seqs,
)


def test_a_file_that_nobody_spoke_of_for_three_messages_becomes_an_outline() -> None:
    page = history(said(1, "look", tokens=9), sent(2, "files/manager.py"), replied(3, "I see", tokens=9), *chat(4, 4))
    plan = planned(page, 0.65)
    assert plan
    assert (plan.hidden, plan.summarise, plan.inserted, set(plan.replaced)) == ((), (), (), {2})
    after = covered(page, plan)
    text = after.visible[1].blocks[0]["text"]
    assert text.startswith(f"[File: files/manager.py, {len(CODE):,} characters, in outline.")
    assert 'read_file("files/manager.py")' in text
    assert "def function_1(value)" in text
    assert visible_seqs(after) == visible_seqs(page)


@pytest.mark.parametrize(
    "lately",
    [
        said(6, "and FILES/Manager.py?"),
        said(6, "what of manager.py"),
        said(6, "看看manager.py的内容"),
        replied(6, "I changed `manager.py`."),
        reading(6, "files/manager.py", offset=9)[0],
    ],
)
def test_a_file_that_was_named_lately_stays(lately: Entry) -> None:
    talk = [said(1, "look"), sent(2, "files/manager.py"), replied(3, "I see"), *chat(4, 2), lately, *chat(8, 2)]
    assert only_soft(history(*talk)) is None
    assert only_soft(history(*talk, said(10, "more"))), "and goes stale a message later"


@pytest.mark.parametrize("text", ["old-manager.pyc", "user_manager.py", "managers", "manager"])
def test_a_file_is_not_named_by_another_name_that_contains_its_own(text: str) -> None:
    talk = [said(1, "look"), sent(2, "files/manager.py"), replied(3, "I see"), *chat(4, 2), said(6, text)]
    assert planned(history(*talk), 0.65)


def test_a_file_among_the_last_three_messages_stays() -> None:
    page = history(*chat(1, 4), said(5, "look"), sent(6, "files/a.py"), replied(7, "I see"), said(8, "thanks"))
    assert only_soft(page) is None
    assert only_soft(page, file_stale_after=2)


def test_what_a_tool_read_becomes_an_outline_and_stays_the_result_of_its_call() -> None:
    page = history(said(1, "look"), *reading(2, "files/a.py", offset=800), replied(4, "done"), *chat(5, 4))
    after = covered(page, planned(page, 0.65))
    assert shown(after)[2] == ("user", ["tool_result call-2"])
    result = after.visible[2].blocks[0]
    assert result["tool_use_id"] == "call-2"
    assert 'read_file("files/a.py", offset=800)' in result["content"]


def test_results_of_other_tools_count_as_files_when_they_are_long_and_name_one_path() -> None:
    def outlined(text: str, tool: str, **given: Any) -> bool:
        call = {"type": "tool_use", "id": "c", "name": tool, "input": given}
        reply = Entry(2, "assistant", (call,), EntryKind.REPLY, tokens=9)
        page = history(said(1, "look"), reply, counted(returned(3, "c", text)), replied(4, "done"), *chat(5, 4))
        return only_soft(page) is not None

    assert outlined(CODE, "fs_read", file="src/a.py")
    assert outlined(CODE, "open", target="src/a.py", encoding="utf-8")
    assert not outlined(CODE[:1_500], "fs_read", file="src/a.py")
    assert not outlined(CODE, "diff", old="src/a.py", new="src/b.py")
    assert not outlined(CODE, "fetch", url="https://example.org/a.py")
    assert not outlined(CODE, "shell", command="cat src/a.py | head")
    assert not outlined(CODE, "search", query="manager")


def test_errors_pictures_and_small_files_are_left_alone() -> None:
    failed = {"type": "tool_result", "tool_use_id": "call-2", "content": CODE, "is_error": True}
    picture = {"type": "image", "source": {"type": "folder", "path": "files/a.png", "width": 900, "height": 900}}
    page = history(
        said(1, "look"),
        reading(2, "files/a.py")[0],
        Entry(3, "user", (failed,), EntryKind.RESULT, tokens=2_000),
        Entry(4, "user", (text_block("[File: files/a.png]"), picture), EntryKind.FILE, tokens=1_100),
        sent(5, "files/b.py", "x = 1\n" * 9),
        replied(6, "done"),
        *chat(7, 3),
    )
    assert only_soft(page) is None


def test_only_the_text_of_the_file_is_in_an_outline_and_not_what_was_said_of_its_length() -> None:
    more = "\n[More follows: read_file goes on from offset 4500.]"
    cut = "[File: files/a.txt, 90,000 characters]\n" + "line\n" * 900 + more
    file = counted(Entry(2, "user", (text_block(cut),), EntryKind.FILE))
    page = history(said(1, "look"), file, replied(3, "I see"), *chat(4, 4))
    assert "More follows" not in covered(page, planned(page, 0.65)).visible[1].blocks[0]["text"]


def test_an_outline_is_not_outlined_again() -> None:
    page = history(said(1, "look"), sent(2, "files/a.py"), *reading(3, "b.py"), replied(5, "I see"), *chat(6, 4))
    once = covered(page, planned(page, 0.65))
    again = Tiered().plan(once.visible, meter_of(once, 0.65), PlanContext())
    assert again is None or not again.replaced


def test_parallel_reads_are_outlined_one_by_one() -> None:
    calls = [
        {"type": "tool_use", "id": f"c{index}", "name": "read_file", "input": {"path": f"files/{index}.py"}}
        for index in range(3)
    ]
    results = tuple({"type": "tool_result", "tool_use_id": f"c{index}", "content": CODE} for index in (2, 0))
    page = history(
        said(1, "look"),
        Entry(2, "assistant", tuple(calls), EntryKind.REPLY, tokens=30),
        counted(Entry(3, "user", results, EntryKind.RESULT)),
        counted(returned(4, "c1", "short")),
        replied(5, "done"),
        *chat(6, 4),
    )
    after = covered(page, planned(page, 0.65)).visible[2]
    assert ["files/2.py" in after.blocks[0]["content"], "files/0.py" in after.blocks[1]["content"]] == [True, True]


def test_an_id_that_comes_back_does_not_change_whose_result_a_file_was() -> None:
    twice = [said(1, "look"), *reading(2, "files/a.py"), replied(4, "done"), said(5, "and"), *reading(6, "files/b.py")]
    same = {"call-2": "same", "call-6": "same"}

    def renamed(entry: Entry) -> Entry:
        keys = ("id", "tool_use_id")
        blocks = ({**block, **{key: same[block[key]] for key in keys if key in block}} for block in entry.blocks)
        return replace(entry, blocks=tuple(blocks))

    page = history(*map(renamed, twice), replied(8, "done"), *chat(9, 4))
    plan = only_soft(page)
    assert plan
    assert ["files/a.py" in plan.replaced[3][0]["content"], "files/b.py" in plan.replaced[7][0]["content"]] == [
        True,
        True,
    ]
