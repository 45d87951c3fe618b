"""Any run with requests, for property-style tests: they share beginnings, are tried again, and hold whatever can break
a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from bot.agent.compacting.trace import redacted, render
from bot.compaction.trace import Section
from bot.messages import Block, Message, text_block
from bot.store.runs import Result, Run, SummaryRequest
from tests.unit.one_run import STARTED, a_run

SECRET = "hunter2-is-the-secret"
TOOLS = [{"name": "look", "description": "Look at it. " * 20, "input_schema": {"type": "object"}}]
LONG = [
    "\n".join(f"{number} of many lines that are said again, {word} and {word}." for number in range(9))
    for word in ("here", "there", "天気")
]
ODD = (
    "", " ", "```", "````", "``````json", " ```", "# a heading", "## 2026-11-21 07:22:18 UTC manual done", "### Reply",
    "*as lines 1-9 (00000000)*", " *json as line 3 (deadbeef)*", "**user**", "Messages:", "Reply:", "- **run**: run0",
    "a\rb", "a\u2028b", "\ud800", '{"type": "text"}', "User: hello", f"the key is {SECRET}.", "~~~", "x" * 600, "\t",
)  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(ODD), st.sampled_from(LONG), st.text(max_size=9)), max_size=3).map("\n".join)
"""Any words."""
some = settings(max_examples=20)
"""Of these: each is a whole day."""


def _call(text: str) -> Block:
    return {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": text}}


def _result(text: str) -> Block:
    return {"type": "tool_result", "tool_use_id": "c1", "content": text}


def _marked(text: str) -> Block:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


kinds = st.sampled_from((text_block, text_block, _call, _result, _marked))
blocks = st.builds(lambda make, text: make(text), kinds, texts)
messages = st.builds(
    lambda role, content: Message(role=role, content=content),
    st.sampled_from(("user", "assistant")),
    st.one_of(texts, st.lists(blocks, max_size=2)),
)
answers = st.one_of(
    st.builds(lambda text: {"reply": text}, texts), st.builds(lambda text: {"error": f"no: {text}"}, texts), st.just({})
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[SummaryRequest, ...]:
    """Those of one run: each begins as the one before, as a correction or another try does."""
    page, system = draw(st.lists(messages, max_size=3)), draw(texts)
    found = []
    for mode in draw(st.lists(st.sampled_from(("conversation", "transcript", "chunk 1 of 2")), max_size=3)):
        found.append(SummaryRequest(mode, system, tuple(page), **draw(answers)))
        page = page + draw(st.lists(messages, max_size=2))
    return tuple(found)


@st.composite
def runs(draw: st.DrawFn) -> list[Run]:
    """Those of a day, of which each asks for what the one before did and more, or for something else."""
    found: list[Run] = []
    days = st.lists(st.tuples(requests(), st.booleans()), min_size=1, max_size=3)
    for number, (asked, goes_on) in enumerate(draw(days)):
        before = found[-1].asked if found and goes_on else ()
        whole: Any = (*before, *asked)
        result = Result("summary", draw(texts), "", None, whole)
        found.append(a_run(id=f"run{number}", started_at=STARTED + number, result=result, focus=draw(texts)))
    return found


def section_of(run: Run, secrets: Sequence[str] = (SECRET,)) -> Section:
    """As the agent puts it together."""
    return redacted(render(run, tools=TOOLS, previous_summary=LONG[0], layer=None), secrets)
