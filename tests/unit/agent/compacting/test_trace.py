"""The trace: what a section says of a compaction, whatever stands in it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.compacting.trace import redacted, render
from bot.compaction.trace import in_full
from bot.history import Entry, EntryKind
from bot.messages import Message, text_block
from bot.store.runs import Result, Run, RunState, SummaryRequest
from bot.store.traces.requests import CUT_OFF
from tests.unit.one_run import PLAN, a_run

TOOLS = [{"name": "look"}]


def section(run: Run, **options: Any) -> str:
    return in_full(render(run, **{"tools": TOOLS, "previous_summary": None, "layer": 3, **options}))


def outside_of_fences(text: str) -> list[str]:
    """The lines that Markdown reads as such."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        ticks = re.match(" ?`*", line)[0]  # type: ignore[index]  # Markdown moves what is in a fence with it
        if fence:
            fence = "" if line == fence else fence
        elif len(ticks.strip()) >= 3:
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
    assert "Messages:\n\n**user:**\n\n```\nhi\n```\n" in text
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
    assert f"**user:**\n\n```\nhi\n```\n\n{CUT_OFF}" in text
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


NASTY = st.sampled_from(("```", "````\n## fake heading", "## fake heading", "- **run**: fake", "\n\n---\n", "`" * 9))


@given(st.lists(st.one_of(NASTY, st.text())), st.one_of(NASTY, st.text()))
def test_nothing_that_was_said_can_break_the_document(parts: list[str], focus: str) -> None:
    said = "\n".join(parts)
    asked = SummaryRequest("conversation", said, (Message(role="user", content=said),), reply=said)
    run = a_run(focus=focus, reason=focus, result=Result("summary", said, inference=(asked,)))
    text = section(run, previous_summary=said)
    assert re.findall("^## .*", text, re.MULTILINE) == ["## 2023-11-14 22:13:20 UTC auto done"], "the only one"
    lines = outside_of_fences(text)
    headings = [line for line in lines if line.startswith("#")]
    assert headings[0] == "## 2023-11-14 22:13:20 UTC auto done"
    assert set(headings[1:]) <= {
        "### Summary",
        "### Difference to the previous summary",
        "### Request 1 (conversation)",
    }
    assert [line for line in lines if line.startswith("- **run**: ")] == ["- **run**: run1"]


def test_a_secret_is_taken_out_wherever_it_stands() -> None:
    own, key = 'rumpel"stilt', "-----BEGIN PRIVATE KEY-----\nMIIE\nvQIB\n-----END PRIVATE KEY-----"
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {"password": "hunter2-of-ada", "line": own}}
    said = Message(role="user", content=[text_block(f"Take {own}, or\n{key}"), call])
    asked = SummaryRequest("transcript", f"s {own}", (said,), error=f"no {own}")
    run = a_run(focus=own, result=Result("failed", own, inference=(asked,)))
    text = in_full(redacted(render(run, tools=(), previous_summary=None, layer=None), [own]))
    for secret in ("stilt", "MIIE", "vQIB", "hunter2"):
        assert secret not in text, secret
    assert "- **focus**: [redacted]" in text
