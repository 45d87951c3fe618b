"""With somewhere to send them to, a turn is one trace, whoever worked on it: gateway, agents and worker."""

from __future__ import annotations

import sys
from pathlib import Path

from structlog.testing import capture_logs

from bot.app.resources import NO_TRACES
from bot.model import Limits
from bot.model.scripted import Answer, Asked, ScriptedModel
from bot.runtime.settings import Settings
from bot.runtime.telemetry import telemetry
from tests.house import Room, open_house
from tests.otlp import Receiver, attributes, receiving

SUMMARY = "Ada counts the days; she has come to day 7, and the weather was mild on each of them."
SAID = "This was another day, and the weather in town was mild. "


def settings_of(data_dir: Path, receiver: Receiver, **changes: object) -> Settings:
    values = {"data_dir": data_dir, "access": "open", "agents": {"compact_ahead": False}, **changes}
    return Settings(_env_file=None, otel_exporter_otlp_endpoint=receiver.url, **values)  # type: ignore[arg-type]


async def test_a_turn_its_tool_its_compaction_by_the_worker_and_its_delivery_are_one_trace(data_dir: Path) -> None:
    calls = iter([Answer("I write.", calls=[("write_file", {"path": "note.txt", "content": SAID})])])

    def says(asked: Asked) -> Answer | str:
        return next(calls, "Noted.") if asked.who else SUMMARY

    script = ScriptedModel(says, limits=Limits(4_000, 500, known=True))
    room = Room()
    with receiving() as receiver:
        async with open_house(settings_of(data_dir, receiver), room, model=script):
            assert telemetry.is_traced
            while not any("Compacted:" in notice for notice in room.notices()):
                assert len(script.asked) < 60, "it never compacts"
                await room.asks(SAID * 8)
            await room.asks("And now?")
    turns = {span.trace_id: span for span in receiver.named("invoke_agent")}
    [tool] = receiver.named("execute_tool write_file")
    assert tool.parent_span_id == turns[tool.trace_id].span_id
    [compaction] = receiver.named("compact ")
    summaries = [span for span in receiver.named("chat") if span.parent_span_id == compaction.span_id]
    assert len(summaries) == 1, "that of the worker"
    assert summaries[0].trace_id == compaction.trace_id
    if compaction.parent_span_id:
        assert compaction.parent_span_id == turns[compaction.trace_id].span_id
    answers = [span for span in receiver.named("chat") if span not in summaries]
    assert len(answers) == len(script.asked) - 1
    assert all(span.parent_span_id == turns[span.trace_id].span_id for span in answers)
    brought = {span.trace_id for span in receiver.named("deliver room")}
    assert brought >= set(turns), "each answer was delivered in its turn's trace"
    [notice] = [span for span in receiver.named("deliver room") if span.parent_span_id == compaction.span_id][-1:]
    assert notice.trace_id == compaction.trace_id
    assert attributes(turns[tool.trace_id])["gen_ai.conversation.id"] == "room-1"
    for word in (SAID.strip(), SUMMARY, "Noted", "I write"):
        assert word not in str(receiver.spans)


async def test_a_program_without_what_writes_traces_says_what_to_install_and_answers(data_dir: Path) -> None:
    kept = {name: module for name, module in sys.modules.items() if name == "bot.runtime.tracing"}
    sys.modules["bot.runtime.tracing"] = None  # type: ignore[assignment]  # how Python says that there is none
    try:
        with receiving() as receiver, capture_logs() as lines:
            async with open_house(settings_of(data_dir, receiver), Room(), model=ScriptedModel("Here.")) as opened:
                assert await opened.room.asks("Hello?") == "Here."
        assert not receiver.asked
        assert [line["note"] for line in lines if line["event"] == "traces_off"] == [NO_TRACES]
    finally:
        del sys.modules["bot.runtime.tracing"]
        sys.modules.update(kept)
