"""Traces: what :mod:`bot.runtime.telemetry` hears of, as spans by OpenTelemetry's GenAI conventions, sent by OTLP/HTTP.

Imported only where `OTEL_EXPORTER_OTLP_ENDPOINT` is set. Nothing is handed from one process to the next: the ids of a
trace and of its root are made of the turn's id (or of the compaction's, where that belongs to none), so each process
makes its spans children of the same root by itself. All are written when what they tell of is over.

::

    invoke_agent palimpsest ─┬─ chat MODEL          each try of a request
                             ├─ execute_tool NAME
                             ├─ compact STRATEGY ── chat MODEL   in the worker
                             └─ deliver CONNECTOR
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2s
from typing import Any

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.util.re import parse_env_headers

from bot import __version__
from bot.history import Usage
from bot.messages import Block, Message
from bot.runtime.redact import redact
from bot.runtime.telemetry import DeliverySpan, ModelSpan, ToolSpan, TracedCompaction, TracedSpan, TracedTurn

log = structlog.get_logger(__name__)

NAME = "palimpsest"
FLUSH_SECONDS = 1.5
"""At the end; who takes longer to receive what is left does not get it."""
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""What the conventions call those that we call otherwise."""
_LIBRARY = "opentelemetry"


class Traces:
    """The spans of this process, sent to ``endpoint`` (without its path). ``headers``: as in
    `OTEL_EXPORTER_OTLP_HEADERS`; ``content``: whether what is said is told too, without ``secrets``. Everything else
    that the SDK reads from the environment (`OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, …) holds."""

    def __init__(
        self,
        endpoint: str,
        installation: str,
        *,
        headers: str = "",
        service: str = NAME,
        content: bool = False,
        secrets: Collection[str] = (),
    ) -> None:
        self._installation = installation
        self._content = content
        self._secrets = secrets
        self._ids = _Ids()
        self._lock = threading.Lock()
        exporter = OTLPSpanExporter(
            f"{endpoint.rstrip('/')}/v1/traces", headers=parse_env_headers(headers, liberal=True) or None
        )
        resource = Resource.create({"service.name": service, "service.version": __version__})
        self._provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(_Quiet(exporter)))
        self._tracer = self._provider.get_tracer(NAME, __version__)

    async def close(self) -> None:
        """Send what is left, for :data:`FLUSH_SECONDS` at most."""
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(sent.set)

        threading.Thread(target=send, daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await sent.wait()

    def ended(self, what: TracedTurn | TracedCompaction | TracedSpan) -> None:
        """This is over, since just now."""
        match what:
            case TracedTurn():
                self._turn(what)
            case TracedCompaction():
                self._compaction(what)
            case _:
                self._span(what)

    def _turn(self, turn: TracedTurn) -> None:
        """One that had failed once has a root in its trace already."""
        ended = time.time_ns()
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": NAME,
            "gen_ai.conversation.id": turn.agent,
            "gen_ai.request.model": turn.model,
            "palimpsest.connector": turn.connector,
            "palimpsest.turn.id": turn.id,
            "palimpsest.turn.state": turn.state,
            **_usage(turn.usage),
        }
        own, parent = (None, turn.id) if turn.again else (turn.id, None)
        began, name = ended - _nanoseconds(turn.seconds), f"invoke_agent {NAME}"
        self._write(name, attributes, began, ended, error=turn.cause, trace=turn.id, own=own, parent=parent)

    def _compaction(self, run: TracedCompaction) -> None:
        ended = time.time_ns()
        attributes: dict[str, Any] = {
            "gen_ai.agent.name": NAME,
            "gen_ai.conversation.id": run.agent,
            "palimpsest.compaction.id": run.id,
            "palimpsest.compaction.trigger": run.trigger,
            "palimpsest.compaction.strategy": run.strategy,
            "palimpsest.compaction.outcome": run.outcome,
            "palimpsest.compaction.tokens_before": run.before,
        }
        if run.after is not None:
            attributes["palimpsest.compaction.tokens_after"] = run.after
        error = run.outcome if run.outcome in ("failed", "empty") else ""
        began, name = ended - _nanoseconds(run.seconds), f"compact {run.strategy}"
        self._write(name, attributes, began, ended, error=error, trace=run.turn or run.id, own=run.id, parent=run.turn)

    def _span(self, span: TracedSpan) -> None:
        bound = structlog.contextvars.get_contextvars()
        turn, run = bound.get("turn"), bound.get("run")
        kind = SpanKind.CLIENT
        attributes: dict[str, Any] = {"gen_ai.conversation.id": bound.get("agent") or ""}
        match span:
            case ModelSpan():
                name = f"chat {span.model}"
                attributes |= self._of_request(span)
            case ToolSpan():
                name, kind = f"execute_tool {span.tool}", SpanKind.INTERNAL
                attributes |= self._of_tool(span)
            case DeliverySpan():
                name, turn, run = f"deliver {span.connector}", span.turn, span.run
                attributes = {"gen_ai.conversation.id": span.agent, "palimpsest.connector": span.connector}
            case _:
                raise AssertionError("unreachable")
        ended = span.began_at + _nanoseconds(span.seconds)
        self._write(
            name, attributes, span.began_at, ended, error=span.error, trace=turn or run, parent=run or turn, kind=kind
        )

    def _of_request(self, span: ModelSpan) -> dict[str, Any]:
        found: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(span.provider, span.provider),
            "gen_ai.request.model": span.model,
        }
        if span.usage is not None:
            found |= {
                "gen_ai.response.model": span.answered_by or span.model,
                "gen_ai.response.finish_reasons": [span.stop_reason],
                **_usage(span.usage),
            }
        if self._content:
            found["gen_ai.input.messages"] = self._shown(
                [{"role": one["role"], "parts": _parts(one)} for one in span.messages]
            )
            if span.system:
                found["gen_ai.system_instructions"] = self._shown([{"type": "text", "content": span.system}])
            if span.usage is not None:
                said = {"role": "assistant", "parts": _parts({"role": "assistant", "content": list(span.blocks)})}
                found["gen_ai.output.messages"] = self._shown([{**said, "finish_reason": span.stop_reason}])
        return found

    def _of_tool(self, span: ToolSpan) -> dict[str, Any]:
        found = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": span.tool,
            "gen_ai.tool.call.id": span.call.get("id", ""),
            "gen_ai.tool.type": "function",
        }
        if self._content:
            found["gen_ai.tool.call.arguments"] = self._shown(span.call.get("input"))
            found["gen_ai.tool.call.result"] = self._shown([_part(span.result)] if span.result else None)
        return found

    def _shown(self, content: object) -> str:
        return redact(json.dumps(content, ensure_ascii=False, default=str), self._secrets)

    def _write(
        self,
        name: str,
        attributes: Mapping[str, Any],
        began: int,
        ended: int,
        *,
        error: str = "",
        trace: str | None = None,
        own: str | None = None,
        parent: str | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        """``trace``, ``own`` and ``parent``: ids of turns and compactions; None: any. Times in nanoseconds."""
        with self._lock:
            self._ids.next_trace = None if trace is None else self._number("trace", trace, 16)
            self._ids.next_span = None if own is None else self._number("span", own, 8)
            above = None
            if parent is not None:
                assert self._ids.next_trace is not None
                root = SpanContext(
                    self._ids.next_trace,
                    self._number("span", parent, 8),
                    is_remote=True,
                    trace_flags=TraceFlags(TraceFlags.SAMPLED),
                )
                above = NonRecordingSpan(root)
            span = self._tracer.start_span(
                name,
                context=set_span_in_context(above) if above else None,
                kind=kind,
                attributes={key: value for key, value in attributes.items() if value != ""},
                start_time=began,
            )
        if error:
            span.set_attribute("error.type", error)
            span.set_status(StatusCode.ERROR)
        span.end(end_time=max(began, ended))

    def _number(self, what: str, key: str, size: int) -> int:
        digest = blake2s(f"{self._installation} {what} {key}".encode(), digest_size=size).digest()
        return int.from_bytes(digest, "big") or 1


class _Ids(RandomIdGenerator):
    """Any, or the ones that are wanted next."""

    next_trace: int | None = None
    next_span: int | None = None

    def generate_trace_id(self) -> int:
        return self.next_trace or super().generate_trace_id()

    def generate_span_id(self) -> int:
        return self.next_span or super().generate_span_id()


class _Quiet(SpanExporter):
    """Says once that nothing can be sent, and again only after something was."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._is_said = False
        self._library = _LastSaid()
        library = logging.getLogger(_LIBRARY)
        library.handlers, library.propagate = [self._library], False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except (OSError, ValueError, RuntimeError) as error:
            self._library.text, result = repr(error), SpanExportResult.FAILURE
        if result is SpanExportResult.SUCCESS:
            self._is_said = False
        elif not self._is_said:
            self._is_said = True
            log.warning("traces_not_sent", reason=self._library.text)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class _LastSaid(logging.Handler):
    """Keeps the library's last word, which names the reason."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()


def _usage(usage: Usage) -> dict[str, int]:
    """The conventions count what was read from a cache, or written to it, among the input."""
    return {
        "gen_ai.usage.input_tokens": usage.context,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_creation,
    }


def _nanoseconds(seconds: float) -> int:
    return max(0, int(seconds * 1e9))


def _parts(message: Message) -> list[dict[str, Any]]:
    content = message["content"]
    return [_part(block) for block in content] if isinstance(content, list) else [_text(str(content))]


def _part(block: Block) -> dict[str, Any]:
    """A block as the conventions write it; of pictures and files only that there was one."""
    match block.get("type"):
        case "text":
            return _text(block["text"])
        case "thinking":
            return {"type": "reasoning", "content": block.get("thinking", "")}
        case "tool_use":
            return {"type": "tool_call", "id": block["id"], "name": block["name"], "arguments": block.get("input")}
        case "tool_result":
            content = block.get("content")
            said = [_part(one) for one in content] if isinstance(content, list) else content
            return {"type": "tool_call_response", "id": block.get("tool_use_id"), "response": said}
        case other:
            return {"type": str(other)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}
