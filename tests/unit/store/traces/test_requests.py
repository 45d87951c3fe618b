"""Requests in a section: as they were, word for word and block for block."""

from __future__ import annotations

from hypothesis import given

from bot.compaction.trace import Body
from bot.messages import text_block
from bot.store.runs import Run, SummaryRequest
from bot.store.traces.requests import asked_in, told
from tests.unit import any_section
from tests.unit.any_section import TOOLS, section_of


@any_section.some
@given(any_section.runs())
def test_they_are_found_again_as_they_were_sent(day: list[Run]) -> None:
    for run in day:
        assert asked_in(section_of(run, secrets=())) == run.asked


def test_what_is_no_json_any_more_is_shown_as_it_is() -> None:
    (request,) = asked_in(("### Request 1 (conversation)", "Messages:", "**user**", Body('{"a": [redacted]', "json")))
    assert request.messages == ({"role": "user", "content": [text_block('{"a": [redacted]')]},)


@any_section.some
@given(any_section.requests())
def test_tools_stand_there_where_they_were_sent(asked: tuple[SummaryRequest, ...]) -> None:
    parts = told(asked, TOOLS)
    assert parts.count("Tools:") == sum(request.mode == "conversation" for request in asked)
    assert "Tools:" not in told(asked, ())
