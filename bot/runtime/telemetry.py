"""What happens in this process, said once, here: how often, and how long it took.

Whoever does something says that it happened (``telemetry.lease_lost("agent")``), or that it takes its time
(``with telemetry.span("model_request") as span:``), and knows nothing of who listens. That is Prometheus
(:mod:`bot.runtime.metrics`) and, where somebody wants traces, :mod:`bot.runtime.tracing`: which conversation and
which turn it was stands in structlog's context variables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from bot.errors import Cause
from bot.history import Usage
from bot.messages import Block, Message
from bot.runtime.metrics import (
    METRICS,
    OTHER,
    SERVER_TOOLS,
    TOKENS,
    TURN_PARTS,
    Delivered,
    GarbagePlace,
    Known,
    Metrics,
    Outcome,
    Purpose,
)
from bot.runtime.prices import cost
from bot.runtime.turn_seconds import TurnSeconds

if TYPE_CHECKING:
    from bot.runtime.tracing import Traces

__all__ = [
    "Delivered",
    "DeliverySpan",
    "GarbagePlace",
    "Known",
    "ModelSpan",
    "Outcome",
    "Purpose",
    "Span",
    "SpanName",
    "Telemetry",
    "ToolSpan",
    "TracedCompaction",
    "TracedSpan",
    "TracedTurn",
    "telemetry",
]

SpanName = Literal[
    "turn_compaction", "turn_model", "turn_tools", "first_token", "model_wait", "model_request", "tool", "delivery"
]
"""Parts of a turn (waiting for room, asking the model with all that this takes, tools, and until the first text), of a
request to the model (in the line, and being answered), one call of a tool, and bringing one message to people."""


class Span:
    """A stretch of time with a name: from when it is made until :meth:`end`, or the end of its block. ``clock`` gives
    seconds that only grow."""

    __slots__ = ("_began", "_clock", "_seconds", "name")

    def __init__(self, name: SpanName, clock: Callable[[], float]) -> None:
        self.name = name
        self._clock = clock
        self._began = clock()
        self._seconds: float | None = None

    @property
    def seconds(self) -> float:
        """How long it was, or is until now."""
        return self._clock() - self._began if self._seconds is None else self._seconds

    def end(self) -> None:
        """It is over; a second time changes nothing."""
        self._seconds = self.seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


class TracedSpan(Span):
    """One that is in the trace too, where there is one, with the name of the error that ended its block. ``error``:
    what it came to nothing by."""

    __slots__ = ("_traces", "began_at", "error")

    def __init__(self, name: SpanName, traces: Traces | None) -> None:
        super().__init__(name, time.monotonic)
        self._traces = traces
        self.began_at = time.time_ns()
        """Nanoseconds since 1970."""
        self.error = ""

    def failed_by(self, error: str) -> None:
        """What it came to nothing by; empty where it did not."""
        self.error = error

    def forget(self) -> None:
        """It is in no trace: nothing was tried."""
        self._traces = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self._traces is None:
            return
        if error is not None:
            cause, status = getattr(error, "cause", None), getattr(error, "status", None)
            named = cause.value if isinstance(cause, Cause) else type(error).__name__
            self.error = status if isinstance(status, str) else named
        self._traces.ended(self)


class ModelSpan(TracedSpan):
    """One try of a request to a model."""

    __slots__ = ("answered_by", "blocks", "messages", "model", "provider", "stop_reason", "system", "usage")

    def __init__(
        self, traces: Traces | None, provider: str, model: str, system: str, messages: Sequence[Message]
    ) -> None:
        super().__init__("model_request", traces)
        self.provider, self.model = provider, model
        self.system, self.messages = system, messages
        self.usage: Usage | None = None
        self.stop_reason = self.answered_by = ""
        self.blocks: Sequence[Block] = ()

    def answered(self, usage: Usage, stop_reason: str, blocks: Sequence[Block], model: str) -> None:
        """What came. ``model``: what the provider calls who answered; empty where it does not say."""
        self.usage, self.stop_reason, self.blocks, self.answered_by = usage, stop_reason, blocks, model


class ToolSpan(TracedSpan):
    """One call of a tool; what the model calls it is told only where there is such a tool."""

    __slots__ = ("call", "result", "tool")

    def __init__(self, traces: Traces | None, tool: str, call: Block) -> None:
        super().__init__("tool", traces)
        self.tool, self.call = tool, call
        self.result: Block | None = None

    def returned(self, result: Block) -> None:
        """The block that the model gets."""
        self.result = result
        self.failed_by("tool_error" if result.get("is_error") else "")


class DeliverySpan(TracedSpan):
    """One try to bring a message of a conversation to people. ``turn`` and ``run``: what it is the reply of, or tells
    of."""

    __slots__ = ("agent", "connector", "run", "turn")

    def __init__(self, traces: Traces | None, connector: str, agent: str, turn: str | None, run: str | None) -> None:
        super().__init__("delivery", traces)
        self.connector, self.agent, self.turn, self.run = connector, agent, turn, run


@dataclass(frozen=True)
class TracedTurn:
    """A turn whose end is committed, ``seconds`` after its first message came. ``again``: it had failed before;
    ``cause``: why there was no answer, empty where there was."""

    id: str
    agent: str
    connector: str
    state: str
    seconds: float
    model: str
    usage: Usage
    cause: str = ""
    again: bool = False


@dataclass(frozen=True)
class TracedCompaction:
    """A run whose end is committed. ``turn``: the one that it was begun for; tokens, ``after`` None where nothing was
    changed."""

    id: str
    turn: str | None
    agent: str
    trigger: str
    strategy: str
    outcome: str
    seconds: float
    before: int
    after: int | None


class Telemetry:
    """One method for each thing that happens, and :meth:`span` for what takes its time."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self._turns, self._compactions, self._model = metrics.turns, metrics.compactions, metrics.model
        self._gateway, self._process = metrics.gateway, metrics.process
        self._appointments = metrics.appointments
        self._traces: Traces | None = None

    @property
    def is_traced(self) -> bool:
        """Whether somebody wants traces."""
        return self._traces is not None

    def trace_to(self, traces: Traces | None) -> None:
        """From now on; None: nowhere any more."""
        self._traces = traces

    def model_span(self, provider: str, model: str, system: str, messages: Sequence[Message]) -> ModelSpan:
        """A try begins now."""
        return ModelSpan(self._traces, provider, model, system, messages)

    def tool_span(self, tool: str, call: Block) -> ToolSpan:
        """A tool is called now. ``tool``: as :meth:`bot.agent.tools.toolbox.Toolbox.kind_of` names it."""
        return ToolSpan(self._traces, call["name"] if tool != OTHER else OTHER, call)

    def delivery_span(self, connector: str, agent: str, *, turn: str | None, run: str | None) -> DeliverySpan:
        """A message is on its way now."""
        return DeliverySpan(self._traces, connector, agent, turn, run)

    def started(self, version: str, roles: Collection[str], known: Known) -> None:
        """The process begins."""
        self.metrics.started(version, roles, known)

    def model_known(self, name: str) -> None:
        """A conversation chose it, so that it is counted by its name."""
        self.metrics.model_known(name)

    def tools_known(self, tools: Collection[str]) -> None:
        """As :meth:`bot.agent.tools.toolbox.Toolbox.kind_of` names them."""
        self.metrics.tools_known(tools)

    def span(self, name: SpanName, clock: Callable[[], float] = time.monotonic) -> Span:
        """It begins now. What it is counted as is said when it is over, with its ``seconds``."""
        return Span(name, clock)

    def traced(self, ended: TracedTurn | TracedCompaction) -> None:
        """A turn or a compaction has just ended."""
        if self._traces:
            self._traces.ended(ended)

    def turn_ended(self, connector: str, state: str, share: float, timing: TurnSeconds) -> None:
        """A turn's end is committed. ``share`` of the limit."""
        self._turns.ended.labels(connector, state).inc()
        self._turns.context_share.observe(share)
        if state != "done":  # how long somebody looked at it before stopping it says nothing of us
            return
        self._turns.seconds.labels(connector).observe(timing.total)
        spent = asdict(timing)
        for part in TURN_PARTS:
            if spent[part] or part == "queued":
                self._turns.part_seconds.labels(part).observe(spent[part])

    def appointment_came(self, kind: str, late: float) -> None:
        """``late``: the seconds for which it was due."""
        self._appointments.came.labels(kind).inc()
        self._appointments.late_seconds.observe(max(0.0, late))

    def appointment_missed(self, kind: str) -> None:
        """It was due for so long that it does not come any more."""
        self._appointments.missed.labels(kind).inc()

    def aborted(self, *, turn: bool, compaction: bool) -> None:
        """Somebody said /abort, and this was stopped by it."""
        what = "both" if turn and compaction else "turn" if turn else "compaction" if compaction else "nothing"
        self._turns.aborts.labels(what).inc()

    def undone(self, kind: str) -> None:
        """A layer of this kind was taken off."""
        self._turns.undos.labels(kind if kind in ("compaction", "new") else OTHER).inc()

    def commanded(self, command: str, *, known: bool) -> None:
        """Somebody gave a command."""
        self._turns.commands.labels(command if known else OTHER).inc()

    def tool_called(self, tool: str, *, failed: bool) -> None:
        """``tool``: as :meth:`bot.agent.tools.toolbox.Toolbox.kind_of` names it."""
        self._turns.tool_calls.labels(tool, "error" if failed else "ok").inc()

    def compaction_ended(
        self, *, trigger: str, outcome: str, strategy: str, seconds: float, before: int, after: int | None
    ) -> None:
        """A run's end is committed. Tokens; ``after`` is None where nothing was changed."""
        label = self.metrics.label_of_strategy(strategy)
        self._compactions.ended.labels(trigger, outcome, label).inc()
        self._compactions.seconds.labels(trigger).observe(max(0.0, seconds))
        if after is not None:
            self._compactions.tokens.labels("before").inc(before)
            self._compactions.tokens.labels("after").inc(after)

    def compaction_waited_for(self, seconds: float) -> None:
        """A turn waited for room."""
        self._compactions.pause_seconds.observe(seconds)

    def model_waited_for(self, purpose: Purpose, seconds: float) -> None:
        """A request got its place."""
        self._model.wait_seconds.labels(purpose).observe(seconds)

    def model_answered(self, purpose: Purpose, model: str, usage: Usage, seconds: float) -> None:
        """The model answered a request."""
        label = self.metrics.label_of_model(model)
        self._model.requests.labels(purpose, "ok").inc()
        self._model.answers.labels(purpose, label).inc()
        self._model.request_seconds.labels(purpose).observe(seconds)
        for kind in TOKENS:
            if count := getattr(usage, kind):
                self._model.tokens.labels(purpose, kind, label).inc(count)
        if dollars := cost(model, usage):
            self._model.cost.labels(purpose, label).inc(dollars)
        for tool, uses in zip(SERVER_TOOLS, (usage.searches, usage.fetches), strict=True):
            if uses:
                self._model.server_tool_calls.labels(tool).inc(uses)

    def model_failed(self, purpose: Purpose, outcome: Outcome, cause: Cause) -> None:
        """A request came to nothing."""
        self._model.requests.labels(purpose, outcome).inc()
        self._model.failures.labels(purpose, cause).inc()

    def budget_refused(self, purpose: Purpose, scope: str) -> None:
        """Something was not asked, since this kind of budget is used up, or may be by what others ask."""
        self._model.budget_refusals.labels(purpose, scope).inc()

    def model_retried(self, status: str) -> None:
        """A try failed: an HTTP status, an error's type, or ``connection``, ``stream``, ``invalid``."""
        self._model.retries.labels(status).inc()

    def received(self, connector: str, messages: int) -> None:
        """So many were new."""
        self._gateway.received.labels(connector).inc(messages)

    def refused(self, connector: str, reason: Literal["access", "rate"]) -> None:
        """Somebody may not talk, or talks too much."""
        self._gateway.refused.labels(connector, reason).inc()

    def parked(self, messages: int) -> None:
        """So many were put aside."""
        self._process.parked.inc(messages)

    def delivered(self, connector: str, outcome: Delivered, *, since: float | None = None) -> None:
        """One try to bring a message to people. ``since``: the seconds since the reply was committed."""
        self._gateway.deliveries.labels(connector, outcome).inc()
        if since is not None:
            self._gateway.delivery_seconds.labels(connector).observe(max(0.0, since))

    def platform_delays(self, connector: str, seconds: float) -> None:
        """A platform asks for so much patience."""
        self.delivered(connector, "delayed")
        self._gateway.platform_delay.labels(connector).inc(max(0.0, seconds))

    def lease_lost(self, kind: Literal["agent", "connector"]) -> None:
        """Another process has it now."""
        self._process.leases_lost.labels(kind).inc()

    def not_written(self, what: Literal["trace", "file"]) -> None:
        """The disk did not take it."""
        self._process.disk_errors.labels(what).inc()

    def background_crashed(self, what: str) -> None:
        """It is begun again, if not at once."""
        self._process.background_crashes.labels(what).inc()

    def garbage(self, place: GarbagePlace, count: int) -> None:
        """So much was left out, or taken away."""
        self._process.garbage.labels(place).inc(count)

    def logged(self, level: str) -> None:
        """A line from warning on."""
        self._process.log_lines.labels(level).inc()


telemetry = Telemetry(METRICS)
"""That of this process."""
