"""What the program counts: Prometheus collectors, and a function for each thing that happens.

There is one set a process, :data:`METRICS`; docs/metrics.md describes each of them. What is looked up when somebody
asks (queues, levels, parts that are away) is in :mod:`bot.app.gauges`.

No label names a chat, a conversation or a person. Each has few values: what the program itself calls things, and what
its operator has configured (connectors, models, strategies, MCP servers); anything else is counted as ``other``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from bot.errors import OF_REQUEST, Cause
from bot.history import Usage
from bot.runtime.prices import cost

disable_created_metrics()  # type: ignore[no-untyped-call]  # when each series began: as many numbers again, for nobody

OTHER = "other"
Purpose = Literal["turn", "compaction"]
Outcome = Literal["overflow", "refused", "unavailable"]
GarbagePlace = Literal["rings", "live", "lease", "queue"]
Delivered = Literal["sent", "edited", "delayed", "refused", "uncertain", "failed"]

SERVER_TOOLS = ("web_search", "web_fetch")
_TRIGGERS = ("auto", "manual", "recovery", "ahead", "rolling")
_LATENCIES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 90.0, 180.0, 600.0)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
_TOKENS = ("input", "cache_read", "cache_creation", "output")
_TURN_PARTS = ("queued", "compaction", "model", "first_token", "tools")


@dataclass(frozen=True)
class Known:
    """What this process knows by name before it happens. ``served``: connectors that it is the gateway of;
    ``connectors``: all whose conversations it may hold; ``retried``: what a try of the model can fail with."""

    models: Collection[str] = ()
    strategies: Collection[str] = ()
    served: Collection[str] = ()
    connectors: Collection[str] = ()
    commands: Collection[str] = ()
    retried: Collection[str] = ()


class Metrics:
    """One set of collectors in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._models: frozenset[str] = frozenset()
        self._strategies: frozenset[str] = frozenset()
        self._info = self._gauge("info", "This process; always 1.", "version", "roles")
        self._make_turns()
        self._make_compactions()
        self._make_model()
        self._make_edges()

    def _make_turns(self) -> None:
        self._turns = self._counter("turns", "Turns that ended.", "connector", "state")
        self._turn_seconds = self._histogram(
            "turn_seconds", "Arrival of a message to its committed reply.", "connector"
        )
        self._turn_part_seconds = self._histogram("turn_part_seconds", "What answered turns spent time on.", "part")
        self._context_share = self._histogram(
            "context_share", "How full the context was when a turn ended, of its limit.", buckets=_SHARES
        )
        self._aborts = self._counter("aborts", "What people stopped by /abort.", "what")
        self._undos = self._counter("undos", "Layers that people took back by /undo.", "kind")
        self._commands = self._counter("commands", "Commands of people.", "command")
        self._tool_calls = self._counter("tool_calls", "Calls of tools by the model.", "tool", "outcome")

    def _make_compactions(self) -> None:
        self._compactions = self._counter("compactions", "Compactions that ended.", "trigger", "outcome", "strategy")
        self._compaction_seconds = self._histogram(
            "compaction_seconds", "From a compaction's plan to its end.", "trigger"
        )
        self._compaction_pause_seconds = self._histogram(
            "compaction_pause_seconds", "How long a turn waited for a compaction."
        )
        self._compaction_tokens = self._counter(
            "compaction_tokens", "Sizes of contexts before and after compactions that are done.", "moment"
        )

    def _make_model(self) -> None:
        self._tokens = self._counter("tokens", "Tokens that the provider reported.", "purpose", "kind", "model")
        self._cost = self._counter("cost_dollars", "What they cost, where a price is known.", "purpose", "model")
        self._model_requests = self._counter("model_requests", "Requests to the model.", "purpose", "outcome")
        self._model_failures = self._counter(
            "model_failures", "Requests to the model that came to nothing.", "purpose", "cause"
        )
        self._model_request_seconds = self._histogram(
            "model_request_seconds", "An answered request, from sending it to its last token.", "purpose"
        )
        self._model_wait_seconds = self._histogram(
            "model_wait_seconds", "How long a request waited in the line of this process.", "purpose"
        )
        self._model_retries = self._counter("model_retries", "Tries that failed, and were worth another.", "status")
        self._server_tool_calls = self._counter("server_tool_calls", "Tools that the provider ran.", "tool")

    def _make_edges(self) -> None:
        self._received = self._counter("messages_received", "Messages that were stored.", "connector")
        self._refused = self._counter("messages_refused", "Messages that the door refused.", "connector", "reason")
        self._parked = self._counter("messages_parked", "Messages that were put aside.")
        self._deliveries = self._counter("deliveries", "Messages brought to platforms.", "connector", "outcome")
        self._delivery_seconds = self._histogram(
            "delivery_seconds", "A committed reply until the platform has it.", "connector"
        )
        self._platform_delay = self._counter(
            "platform_delay_seconds", "Seconds of patience that platforms asked for.", "connector"
        )
        self._leases_lost = self._counter("leases_lost", "Leases that another process took from this one.", "kind")
        self._disk_errors = self._counter("disk_errors", "Files that could not be written.", "what")
        self._background_crashes = self._counter(
            "background_crashes", "What went on in the background and broke; it is begun again.", "what"
        )
        self._garbage = self._counter("redis_garbage", "What was found in Redis and is nothing of ours.", "place")
        self._log_lines = self._counter("log_lines", "Lines of the log from warning on.", "level")

    def started(self, version: str, roles: Collection[str], known: Known) -> None:
        """The process begins. Only these models and strategies get labels of their own.

        What it may count begins at 0: what is first seen as 3 has not risen, for Prometheus, and nothing would ring.
        """
        self._models, self._strategies = frozenset(known.models), frozenset(known.strategies)
        self._info.clear()
        self._info.labels(version, ",".join(roles)).set(1)
        _begin(self._log_lines, ("warning", "error"))
        _begin(self._garbage, get_args(GarbagePlace))
        _begin(self._background_crashes, ("bus_hearing", "bus_sending", "leases", "live"))
        if "gateway" in roles:
            self._begin_gateway(known)
        if "agents" in roles:
            self._begin_agents(known)
        if {"agents", "worker"} & set(roles):
            self._begin_model(known)

    def tools_known(self, tools: Collection[str]) -> None:
        """As :meth:`bot.agent.tools.toolbox.Toolbox.kind_of` names them."""
        _begin(self._tool_calls, (*tools, OTHER), ("ok", "error"))

    def _begin_gateway(self, known: Known) -> None:
        _begin(self._received, known.served)
        _begin(self._refused, known.served, ("access", "rate"))
        _begin(self._deliveries, known.served, get_args(Delivered))
        _begin(self._delivery_seconds, known.served)
        _begin(self._platform_delay, known.served)
        _begin(self._leases_lost, ("connector",))
        _begin(self._disk_errors, ("file",))

    def _begin_agents(self, known: Known) -> None:
        _begin(self._turns, known.connectors, ("done", "failed", "aborted"))
        _begin(self._turn_seconds, known.connectors)
        _begin(self._turn_part_seconds, _TURN_PARTS)
        _begin(self._aborts, ("turn", "compaction", "both", "nothing"))
        _begin(self._undos, ("compaction", "new", OTHER))
        _begin(self._commands, (*known.commands, OTHER))
        strategies = (*known.strategies, OTHER)
        _begin(self._compactions, _TRIGGERS, ("done", "empty", "failed", "aborted"), strategies)
        _begin(self._compaction_seconds, _TRIGGERS)
        _begin(self._compaction_tokens, ("before", "after"))
        _begin(self._leases_lost, ("agent",))
        _begin(self._disk_errors, ("trace",))

    def _begin_model(self, known: Known) -> None:
        purposes, priced = get_args(Purpose), [name for name in known.models if cost(name, Usage(input=1)) is not None]
        _begin(self._tokens, purposes, _TOKENS, (*known.models, OTHER))
        _begin(self._cost, purposes, priced)
        _begin(self._model_requests, purposes, ("ok", *get_args(Outcome)))
        _begin(self._model_failures, purposes, OF_REQUEST)
        _begin(self._model_request_seconds, purposes)
        _begin(self._model_wait_seconds, purposes)
        _begin(self._model_retries, known.retried)
        _begin(self._server_tool_calls, SERVER_TOOLS)

    def turn_ended(self, connector: str, state: str, share: float, timing: Mapping[str, float]) -> None:
        """A turn's end is committed. ``share`` of the limit; ``timing`` as :meth:`bot.agent.turns.timing.Timing.ended`
        says it."""
        self._turns.labels(connector, state).inc()
        self._context_share.observe(share)
        if state != "done":  # how long somebody looked at it before stopping it says nothing of us
            return
        self._turn_seconds.labels(connector).observe(timing["total"])
        for part in _TURN_PARTS:
            if timing[part] or part == "queued":
                self._turn_part_seconds.labels(part).observe(timing[part])

    def aborted(self, *, turn: bool, compaction: bool) -> None:
        """Somebody said /abort, and this was stopped by it."""
        what = "both" if turn and compaction else "turn" if turn else "compaction" if compaction else "nothing"
        self._aborts.labels(what).inc()

    def undone(self, kind: str) -> None:
        """A layer of this kind was taken off."""
        self._undos.labels(kind if kind in ("compaction", "new") else OTHER).inc()

    def commanded(self, command: str, *, known: bool) -> None:
        """Somebody gave a command."""
        self._commands.labels(command if known else OTHER).inc()

    def tool_called(self, tool: str, *, failed: bool) -> None:
        """``tool``: as :meth:`bot.agent.tools.toolbox.Toolbox.kind_of` names it."""
        self._tool_calls.labels(tool, "error" if failed else "ok").inc()

    def compaction_ended(
        self, *, trigger: str, outcome: str, strategy: str, seconds: float, before: int, after: int | None
    ) -> None:
        """A run's end is committed. Tokens; ``after`` is None where nothing was changed."""
        strategy = strategy if strategy in self._strategies else OTHER
        self._compactions.labels(trigger, outcome, strategy).inc()
        self._compaction_seconds.labels(trigger).observe(max(0.0, seconds))
        if after is not None:
            self._compaction_tokens.labels("before").inc(before)
            self._compaction_tokens.labels("after").inc(after)

    def compaction_waited_for(self, seconds: float) -> None:
        """A turn waited for room."""
        self._compaction_pause_seconds.observe(seconds)

    def model_waited_for(self, purpose: Purpose, seconds: float) -> None:
        """A request got its place."""
        self._model_wait_seconds.labels(purpose).observe(seconds)

    def model_answered(self, purpose: Purpose, model: str, usage: Usage, seconds: float) -> None:
        """The model answered a request."""
        label = model if model in self._models else OTHER
        self._model_requests.labels(purpose, "ok").inc()
        self._model_request_seconds.labels(purpose).observe(seconds)
        for kind in _TOKENS:
            if count := getattr(usage, kind):
                self._tokens.labels(purpose, kind, label).inc(count)
        if dollars := cost(model, usage):
            self._cost.labels(purpose, label).inc(dollars)
        for tool, uses in zip(SERVER_TOOLS, (usage.searches, usage.fetches), strict=True):
            if uses:
                self._server_tool_calls.labels(tool).inc(uses)

    def model_failed(self, purpose: Purpose, outcome: Outcome, cause: Cause) -> None:
        """A request came to nothing."""
        self._model_requests.labels(purpose, outcome).inc()
        self._model_failures.labels(purpose, cause).inc()

    def model_retried(self, status: str) -> None:
        """A try failed: an HTTP status, an error's type, or ``connection``, ``stream``, ``invalid``."""
        self._model_retries.labels(status).inc()

    def received(self, connector: str, messages: int) -> None:
        """So many were new."""
        self._received.labels(connector).inc(messages)

    def refused(self, connector: str, reason: Literal["access", "rate"]) -> None:
        """Somebody may not talk, or talks too much."""
        self._refused.labels(connector, reason).inc()

    def parked(self, messages: int) -> None:
        """So many were put aside."""
        self._parked.inc(messages)

    def delivered(self, connector: str, outcome: Delivered, *, since: float | None = None) -> None:
        """One try to bring a message to people. ``since``: the seconds since the reply was committed."""
        self._deliveries.labels(connector, outcome).inc()
        if since is not None:
            self._delivery_seconds.labels(connector).observe(max(0.0, since))

    def platform_delays(self, connector: str, seconds: float) -> None:
        """A platform asks for so much patience."""
        self.delivered(connector, "delayed")
        self._platform_delay.labels(connector).inc(max(0.0, seconds))

    def lease_lost(self, kind: Literal["agent", "connector"]) -> None:
        """Another process has it now."""
        self._leases_lost.labels(kind).inc()

    def not_written(self, what: Literal["trace", "file"]) -> None:
        """The disk did not take it."""
        self._disk_errors.labels(what).inc()

    def background_crashed(self, what: str) -> None:
        """It is begun again, if not at once."""
        self._background_crashes.labels(what).inc()

    def garbage(self, place: GarbagePlace, count: int) -> None:
        """So much was left out, or taken away."""
        self._garbage.labels(place).inc(count)

    def logged(self, level: str) -> None:
        """A line from warning on."""
        self._log_lines.labels(level).inc()

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"palimpsest_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"palimpsest_{name}", meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, *labels: str, buckets: tuple[float, ...] = _LATENCIES) -> Histogram:
        return Histogram(f"palimpsest_{name}", meaning, labels, registry=self.registry, buckets=buckets)


def _begin(collector: Counter | Histogram, *values: Iterable[str]) -> None:
    """Each combination of these values of its labels."""
    for labels in product(*values):
        collector.labels(*labels)


METRICS = Metrics()
"""Those of this process."""
