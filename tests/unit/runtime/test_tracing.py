"""Traces: their ids, what a span tells, and what becomes of them where nobody receives them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
import structlog
from structlog.testing import capture_logs

from bot.errors import Cause, ModelRefused
from bot.history import Usage
from bot.runtime.metrics import METRICS
from bot.runtime.telemetry import Telemetry, TracedTurn
from bot.runtime.tracing import FLUSH_SECONDS, Traces
from tests.otlp import attributes, receiving
from tests.ports import free_port

SAID = "the secret of the blue fox"
KEY = "sk-of-somebody"
USAGE = Usage(input=10, cache_read=30, cache_creation=2, output=7)
TURN = TracedTurn("abc", agent="room-1", connector="room", state="done", seconds=1.5, model="m", usage=USAGE)


def tells(traces: Traces) -> None:
    """A turn with a request, a tool, and one request that is refused."""
    telemetry = Telemetry(METRICS)
    telemetry.trace_to(traces)
    call = {"type": "tool_use", "id": "t1", "name": "write_file", "input": {"path": SAID}}
    with structlog.contextvars.bound_contextvars(agent="room-1", turn="abc"):
        messages = [{"role": "user", "content": f"{SAID} {KEY}"}]
        with telemetry.model_span("gemini", "gemini-3", SAID, messages) as span:  # type: ignore[arg-type]
            span.answered(USAGE, "tool_use", [{"type": "text", "text": SAID}, call], "gemini-3-001")
        with telemetry.tool_span("write_file", call) as used:
            used.returned({"type": "tool_result", "tool_use_id": "t1", "content": SAID, "is_error": True})
        with telemetry.tool_span("other", {**call, "name": SAID}):
            pass
        with pytest.raises(ModelRefused), telemetry.model_span("openai", "gpt-5", "", []):
            raise ModelRefused(SAID, cause=Cause.KEY)
    telemetry.traced(TURN)


async def test_each_span_says_what_the_conventions_ask_for_and_nothing_that_was_said() -> None:
    with receiving() as receiver:
        traces = Traces(receiver.url, "here", headers=f"x-key={KEY}")
        tells(traces)
        await traces.close()
    [(path, headers)] = receiver.asked
    assert (path, headers["x-key"]) == ("/v1/traces", KEY)
    [root] = receiver.named("invoke_agent palimpsest")
    [asked] = receiver.named("chat gemini-3")
    [refused] = receiver.named("chat gpt-5")
    [tool] = receiver.named("execute_tool write_file")
    assert receiver.named("execute_tool other")
    assert not root.parent_span_id
    assert {span.parent_span_id for span in (asked, refused, tool)} == {root.span_id}
    assert {span.trace_id for span in receiver.spans} == {root.trace_id}
    assert 1.4e9 < root.end_time_unix_nano - root.start_time_unix_nano < 1.6e9
    said = attributes(asked)
    assert said == {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "room-1",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-3",
        "gen_ai.response.model": "gemini-3-001",
        "gen_ai.response.finish_reasons": ["tool_use"],
        "gen_ai.usage.input_tokens": 42,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.cache_creation.input_tokens": 2,
    }
    assert attributes(refused)["error.type"] == "key"
    assert attributes(tool)["error.type"] == "tool_error"
    assert SAID not in str(receiver.spans)


async def test_what_is_said_is_told_where_somebody_asks_for_it_without_keys() -> None:
    with receiving() as receiver:
        traces = Traces(receiver.url, "here", content=True, secrets=[KEY])
        tells(traces)
        await traces.close()
    [asked] = receiver.named("chat gemini-3")
    [tool] = receiver.named("execute_tool write_file")
    for name in ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"):
        assert SAID in attributes(asked)[name]
    assert SAID in attributes(tool)["gen_ai.tool.call.result"]
    assert KEY not in str(receiver.spans)


async def test_two_processes_of_one_installation_agree_on_a_turns_trace_and_those_of_another_do_not() -> None:
    with receiving() as receiver:
        for installation in ("here", "here", "there"):
            traces = Traces(receiver.url, installation)
            tells(traces)
            await traces.close()
    first, second, other = receiver.named("invoke_agent")
    assert (first.trace_id, first.span_id) == (second.trace_id, second.span_id)
    assert first.trace_id != other.trace_id


async def test_a_turn_that_failed_and_is_tried_again_is_a_child_of_its_first_try() -> None:
    with receiving() as receiver:
        traces = Traces(receiver.url, "here")
        for again in (False, True):
            traces.ended(replace(TURN, again=again))
        await traces.close()
    first, second = receiver.spans
    assert (second.trace_id, second.parent_span_id) == (first.trace_id, first.span_id)


async def test_a_receiver_that_is_away_is_said_once_and_waited_for_no_longer_than_promised() -> None:
    others = set(threading.enumerate())
    traces = Traces(f"http://127.0.0.1:{free_port()}", "here")
    began = time.monotonic()
    with capture_logs() as lines:
        tells(traces)
        await traces.close()
    assert time.monotonic() - began < FLUSH_SECONDS + 1.5
    assert len([line for line in lines if line["event"] == "traces_not_sent"]) <= 1
    for thread in set(threading.enumerate()) - others:  # it goes on trying, by chance, which no other test should meet
        await asyncio.to_thread(thread.join, 60)


async def test_a_receiver_that_refuses_is_said_once() -> None:
    with receiving() as receiver, capture_logs() as lines:
        receiver.status = 400
        traces = Traces(receiver.url, "here")
        tells(traces)
        traces._provider.force_flush()
        tells(traces)
        await traces.close()
    assert len(receiver.asked) == 2
    [line] = [line for line in lines if line["event"] == "traces_not_sent"]
    assert line["reason"]


def test_nothing_of_it_is_loaded_where_nobody_asks_for_it() -> None:
    program = (
        "import sys, bot.app.main, bot.app.resources, bot.agent.host, bot.gateway.gateway, workers.main\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))"
        " or name == 'bot.runtime.tracing'])"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.strip() == "[]"
