"""The trace: a section for each compaction, whatever stands in it, once in its day's file."""

from __future__ import annotations

import os
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.compacting import trace
from bot.agent.compacting.trace import CUT_OFF, fenced, render, write
from bot.history import Entry, EntryKind
from bot.messages import Message, text_block
from bot.store.runs import Result, Run, RunState, SummaryRequest
from tests.unit.one_run import PLAN, STARTED, a_run

TOOLS = [{"name": "look"}]


def section(run: Run, **options: Any) -> str:
    return render(run, **{"tools": TOOLS, "previous_summary": None, "layer": 3, **options})


def outside_of_fences(text: str) -> list[str]:
    """The lines that Markdown reads as such."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            fence = "" if line == fence else fence
        elif len(ticks) >= 3:
            fence = ticks
        else:
            kept.append(line)
    assert not fence, "a fence was left open"
    return kept


def test_a_section_says_all_that_an_operator_asks() -> None:
    text = section(a_run())
    for line in (
        "## 2023-11-14 22:13:20 UTC auto done",
        "- **run**: run1",
        "- **finished**: 2023-11-14 22:13:22 UTC",
        "- **duration**: 2.50 s",
        "- **trigger**: auto",
        "- **strategy**: reset",
        "- **focus**: none",
        "- **before**: 900 of 1,000 tokens (90%, ok, from usage: conversation 900)",
        "- **after**: 120 of 1,000 tokens (12%, ok, from usage: conversation 120)",
        "- **usage**: input 1,000, read from cache 900, written to cache 0, output 50 tokens",
        "- **cost**: $0.0040",
        "- **layer**: 3",
        "- **hidden**: 1-7, 9",
        "- **inserted**: marker before 8, summary before 8",
        "- **summarised**: 3 entries: 1-9",
        "### Summary",
        "### Request 1 (conversation)",
    ):
        assert line in text.splitlines(), line


def test_options_of_one_run_stand_beside_its_strategy() -> None:
    plan = replace(PLAN, given="keep=2 results=0")
    assert "- **strategy**: reset (keep=2 results=0)" in section(a_run(plan=plan.as_json())).splitlines()


def test_what_was_asked_and_answered_stands_there_in_full() -> None:
    text = section(a_run())
    assert '"name": "look"' in text
    assert '"content": "hi"' in text
    assert "\nBe kind.\n" in text


def test_what_a_layer_put_in_stands_there_as_the_model_reads_it() -> None:
    note = Entry(10, "user", (text_block("- The deploy key is KEY-4711."),), EntryKind.NOTE, place=8)
    plan = replace(PLAN, replaced={3: (text_block("[outline of a.py]"),)})
    text = section(a_run(plan=plan.as_json()), inserted=[note])
    assert "### Inserted: note before 8\n\n```\n- The deploy key is KEY-4711.\n```" in text
    assert "### In the place of 3\n\n```\n[outline of a.py]\n```" in text


def test_a_request_that_was_cut_off_stands_there_and_its_tokens_are_not_known() -> None:
    asked = SummaryRequest("transcript", "s", (Message(role="user", content="hi"),))
    text = section(a_run(state=RunState.ABORTED, meter_after=None, result=None, inference=(asked,)), layer=None)
    assert f'"content": "hi"\n }}\n]\n```\n\n{CUT_OFF}' in text
    assert "- **usage**: not known" in text


def test_the_tools_stand_only_where_they_were_sent() -> None:
    asked = SummaryRequest("transcript", "s", error="overloaded")
    text = section(a_run(result=Result("failed", reason="overloaded", inference=(asked,))))
    assert '"name": "look"' not in text
    assert "Error:\n\n```\noverloaded\n```" in text


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (RunState.ABORTED, "stopped by a person"),
        (RunState.EMPTY, "the summary came back empty"),
        (RunState.FAILED, "x"),
    ],
)
def test_a_run_that_changed_nothing_says_so(state: RunState, reason: str) -> None:
    text = section(a_run(state=state, reason=reason, meter_after=None, result=None), layer=None)
    assert f"- **outcome**: {state.value} ({reason})" in text
    assert "- **after**: unchanged" in text
    assert "- **covers**: nothing was changed" in text
    assert "- **hidden**: none" in text
    assert "- **inserted**: none" in text
    assert "- **usage**: none" in text
    assert "- **cost**: not known" in text
    assert "### " not in text


def test_a_run_that_never_finished_can_be_written_down_too() -> None:
    assert "- **duration**: 0.00 s" in section(a_run(finished_at=None, state=RunState.FAILED))


def test_the_difference_to_the_summary_before_is_shown() -> None:
    text = section(a_run(), previous_summary="the old summary")
    assert "-the old summary\n+the summary\n" in text
    assert "(the same)" in section(a_run(), previous_summary="the summary")


@given(st.text())
def test_a_fence_ends_where_it_should_whatever_it_holds(text: str) -> None:
    lines = fenced(text).split("\n")
    assert lines[0] == lines[-1]
    assert set(lines[0]) == {"`"}
    assert lines[0] not in text
    assert "\n".join(lines[1:-1]) == text


NASTY = st.sampled_from(("```", "````\n## fake heading", "## fake heading", "- **run**: fake", "\n\n---\n", "`" * 9))


@given(st.lists(st.one_of(NASTY, st.text())), st.one_of(NASTY, st.text()))
def test_nothing_that_was_said_can_break_the_document(parts: list[str], focus: str) -> None:
    said = "\n".join(parts)
    asked = SummaryRequest("conversation", said, (Message(role="user", content=said),), reply=said)
    run = a_run(focus=focus, reason=focus, result=Result("summary", said, inference=(asked,)))
    lines = outside_of_fences(section(run, previous_summary=said))
    headings = [line for line in lines if line.startswith("#")]
    assert headings[0] == "## 2023-11-14 22:13:20 UTC auto done"
    assert set(headings[1:]) <= {
        "### Summary",
        "### Difference to the previous summary",
        "### Request 1 (conversation)",
    }
    assert [line for line in lines if line.startswith("- **run**: ")] == ["- **run**: run1"]


def test_a_section_is_written_to_its_days_file_for_its_owner_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "agents" / "room-1", a_run(), section(a_run()))
    assert path == tmp_path / "agents" / "room-1" / "compaction_20231114.md"
    assert path.read_text() == section(a_run())
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_section_is_written_once(tmp_path: Path) -> None:
    for _ in range(3):
        path = write(tmp_path, a_run(), section(a_run()))
    other = a_run(id="run12")
    write(tmp_path, other, section(other))
    assert path.read_text() == section(a_run()) + section(other)


@pytest.mark.parametrize("piece", [1, 7, 40, 41, 4096])
def test_a_section_is_found_wherever_the_pieces_end_in_which_its_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(trace, "_PIECE_BYTES", piece)
    first, second = a_run(), a_run(id="another")
    for run in (first, second, first, second):
        path = write(tmp_path, run, section(run))
    assert path.read_text() == section(first) + section(second)


def test_a_long_days_file_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    path = write(tmp_path, a_run(), section(a_run()))
    with path.open("a") as file:
        file.writelines("🙂" * 250_000 for _ in range(20))
    tracemalloc.start()
    write(tmp_path, a_run(id="another"), "- **run**: another\n")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert path.read_bytes().endswith(b"- **run**: another\n")


def test_the_day_is_that_on_which_the_run_began_in_utc(tmp_path: Path) -> None:
    midnight = STARTED - STARTED % 86_400
    names = [write(tmp_path, a_run(id=f"r{at}", started_at=at), "x").name for at in (midnight - 1, midnight)]
    assert names == ["compaction_20231113.md", "compaction_20231114.md"]


def test_half_a_character_does_not_stop_a_section_from_being_written(tmp_path: Path) -> None:
    assert write(tmp_path, a_run(), "before \ud800 after").read_text() == "before ? after"


def test_a_disk_that_takes_nothing_is_an_error_for_the_caller(tmp_path: Path) -> None:
    (tmp_path / "agents").write_text("a file where a folder should be")
    with pytest.raises(OSError, match="agents"):
        write(tmp_path / "agents" / "room-1", a_run(), "x")


def test_a_pipe_or_a_link_in_the_place_of_the_file_is_refused_and_nobody_waits(tmp_path: Path) -> None:
    name = write(tmp_path / "a", a_run(), section(a_run())).name
    for made in ("pipe", "link"):
        folder = tmp_path / made
        folder.mkdir()
        if made == "pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to(tmp_path / "secret.txt")
        with pytest.raises(OSError, match=r"not a file|symbolic links"):
            write(folder, a_run(), section(a_run()))
    assert not (tmp_path / "secret.txt").exists()
