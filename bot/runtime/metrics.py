"""What Prometheus is told: the collectors of a process, with the names, labels and values of docs/metrics.md.

What happens is told to :mod:`bot.runtime.telemetry`, which counts it here; nobody else knows this module but
:mod:`bot.app.gauges`, which shows the counts, and looks up queues, levels and parts that are away when somebody asks.

No label names a chat, a conversation or a person. Each has few values: what the program itself calls things, and what
its operator has configured (connectors, models, strategies, MCP servers); anything else is counted as ``other``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from bot.errors import OF_REQUEST
from bot.history import Usage
from bot.runtime.prices import cost

disable_created_metrics()  # type: ignore[no-untyped-call]  # when each series began: as many numbers again, for nobody

OTHER = "other"
Purpose = Literal["turn", "compaction"]
Outcome = Literal["overflow", "refused", "unavailable"]
GarbagePlace = Literal["rings", "live", "lease", "queue"]
Delivered = Literal["sent", "edited", "delayed", "refused", "uncertain", "failed"]

SERVER_TOOLS = ("web_search", "web_fetch")
_TRIGGERS = ("auto", "manual", "recovery", "ahead", "rolling", "facts")
_MOST_MODELS = 100
"""That get labels of their own."""
_LATENCIES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 90.0, 180.0, 600.0)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
TOKENS = ("input", "cache_read", "cache_creation", "output")
BUDGETS = ("person", "chat", "day", "month")
_APPOINTMENTS = ("say", "wake")
TURN_PARTS = ("queued", "compaction", "model", "first_token", "tools")


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


@dataclass(frozen=True)
class TurnMetrics:
    """Of turns, and of what people and models do in them."""

    ended: Counter
    seconds: Histogram
    part_seconds: Histogram
    context_share: Histogram
    aborts: Counter
    undos: Counter
    commands: Counter
    tool_calls: Counter

    @classmethod
    def made_by(cls, make: _Maker) -> TurnMetrics:
        """In its registry."""
        return cls(
            ended=make.counter("turns", "Turns that ended.", "connector", "state"),
            seconds=make.histogram("turn_seconds", "Arrival of a message to its committed reply.", "connector"),
            part_seconds=make.histogram("turn_part_seconds", "What answered turns spent time on.", "part"),
            context_share=make.histogram(
                "context_share", "How full the context was when a turn ended, of its limit.", buckets=_SHARES
            ),
            aborts=make.counter("aborts", "What people stopped by /abort.", "what"),
            undos=make.counter("undos", "Layers that people took back by /undo.", "kind"),
            commands=make.counter("commands", "Commands of people.", "command"),
            tool_calls=make.counter("tool_calls", "Calls of tools by the model.", "tool", "outcome"),
        )

    def begin(self, known: Known) -> None:
        """See :meth:`Metrics.started`."""
        _begin(self.ended, known.connectors, ("done", "failed", "aborted"))
        _begin(self.seconds, known.connectors)
        _begin(self.part_seconds, TURN_PARTS)
        _begin(self.aborts, ("turn", "compaction", "both", "nothing"))
        _begin(self.undos, ("compaction", "new", OTHER))
        _begin(self.commands, (*known.commands, OTHER))


@dataclass(frozen=True)
class CompactionMetrics:
    """Of compactions."""

    ended: Counter
    seconds: Histogram
    pause_seconds: Histogram
    tokens: Counter

    @classmethod
    def made_by(cls, make: _Maker) -> CompactionMetrics:
        """In its registry."""
        return cls(
            ended=make.counter("compactions", "Compactions that ended.", "trigger", "outcome", "strategy"),
            seconds=make.histogram("compaction_seconds", "From a compaction's plan to its end.", "trigger"),
            pause_seconds=make.histogram("compaction_pause_seconds", "How long a turn waited for a compaction."),
            tokens=make.counter(
                "compaction_tokens", "Sizes of contexts before and after compactions that are done.", "moment"
            ),
        )

    def begin(self, known: Known) -> None:
        """See :meth:`Metrics.started`."""
        _begin(self.ended, _TRIGGERS, ("done", "empty", "failed", "aborted"), (*known.strategies, OTHER))
        _begin(self.seconds, _TRIGGERS)
        _begin(self.tokens, ("before", "after"))


@dataclass(frozen=True)
class ModelMetrics:
    """Of requests to the model."""

    tokens: Counter
    cost: Counter
    requests: Counter
    answers: Counter
    failures: Counter
    request_seconds: Histogram
    wait_seconds: Histogram
    retries: Counter
    server_tool_calls: Counter
    budget_refusals: Counter

    @classmethod
    def made_by(cls, make: _Maker) -> ModelMetrics:
        """In its registry."""
        return cls(
            tokens=make.counter("tokens", "Tokens that the provider reported.", "purpose", "kind", "model"),
            cost=make.counter("cost_dollars", "What they cost, where a price is known.", "purpose", "model"),
            requests=make.counter("model_requests", "Requests to the model.", "purpose", "outcome"),
            answers=make.counter("model_answers", "Answers by the model that gave them.", "purpose", "model"),
            failures=make.counter("model_failures", "Requests to the model that came to nothing.", "purpose", "cause"),
            request_seconds=make.histogram(
                "model_request_seconds", "An answered request, from sending it to its last token.", "purpose"
            ),
            wait_seconds=make.histogram(
                "model_wait_seconds", "How long a request waited in the line of this process.", "purpose"
            ),
            retries=make.counter("model_retries", "Tries that failed, and were worth another.", "status"),
            server_tool_calls=make.counter("server_tool_calls", "Tools that the provider ran.", "tool"),
            budget_refusals=make.counter(
                "budget_refusals", "What was not asked, since a budget is used up.", "purpose", "scope"
            ),
        )

    def begin(self, known: Known) -> None:
        """See :meth:`Metrics.started`."""
        purposes, priced = get_args(Purpose), [name for name in known.models if cost(name, Usage(input=1)) is not None]
        _begin(self.tokens, purposes, TOKENS, (*known.models, OTHER))
        _begin(self.cost, purposes, priced)
        _begin(self.requests, purposes, ("ok", *get_args(Outcome)))
        _begin(self.answers, purposes, (*known.models, OTHER))
        _begin(self.failures, purposes, OF_REQUEST)
        _begin(self.request_seconds, purposes)
        _begin(self.wait_seconds, purposes)
        _begin(self.retries, known.retried)
        _begin(self.server_tool_calls, SERVER_TOOLS)
        _begin(self.budget_refusals, purposes, BUDGETS)


@dataclass(frozen=True)
class GatewayMetrics:
    """Of what comes in from platforms, and goes out to them."""

    received: Counter
    refused: Counter
    deliveries: Counter
    delivery_seconds: Histogram
    platform_delay: Counter

    @classmethod
    def made_by(cls, make: _Maker) -> GatewayMetrics:
        """In its registry."""
        return cls(
            received=make.counter("messages_received", "Messages that were stored.", "connector"),
            refused=make.counter("messages_refused", "Messages that the door refused.", "connector", "reason"),
            deliveries=make.counter("deliveries", "Messages brought to platforms.", "connector", "outcome"),
            delivery_seconds=make.histogram(
                "delivery_seconds", "A committed reply until the platform has it.", "connector"
            ),
            platform_delay=make.counter(
                "platform_delay_seconds", "Seconds of patience that platforms asked for.", "connector"
            ),
        )

    def begin(self, known: Known) -> None:
        """See :meth:`Metrics.started`."""
        _begin(self.received, known.served)
        _begin(self.refused, known.served, ("access", "rate"))
        _begin(self.deliveries, known.served, get_args(Delivered))
        _begin(self.delivery_seconds, known.served)
        _begin(self.platform_delay, known.served)


@dataclass(frozen=True)
class AppointmentMetrics:
    """Of appointments."""

    came: Counter
    missed: Counter
    late_seconds: Histogram

    @classmethod
    def made_by(cls, make: _Maker) -> AppointmentMetrics:
        """A set of them."""
        return cls(
            came=make.counter("appointments_came", "Appointments that came.", "kind"),
            missed=make.counter("appointments_missed", "Appointments that were due for too long to come.", "kind"),
            late_seconds=make.histogram("appointment_late_seconds", "From when an appointment was due until it came."),
        )

    def begin(self) -> None:
        """See :meth:`Metrics.started`."""
        _begin(self.came, _APPOINTMENTS)
        _begin(self.missed, _APPOINTMENTS)


@dataclass(frozen=True)
class ProcessMetrics:
    """Of what every process may meet, whatever its role."""

    info: Gauge
    parked: Counter
    leases_lost: Counter
    disk_errors: Counter
    background_crashes: Counter
    garbage: Counter
    log_lines: Counter

    @classmethod
    def made_by(cls, make: _Maker) -> ProcessMetrics:
        """In its registry."""
        return cls(
            info=make.gauge("info", "This process; always 1.", "version", "roles"),
            parked=make.counter("messages_parked", "Messages that were put aside."),
            leases_lost=make.counter("leases_lost", "Leases that another process took from this one.", "kind"),
            disk_errors=make.counter("disk_errors", "Files that could not be written.", "what"),
            background_crashes=make.counter(
                "background_crashes", "What went on in the background and broke; it is begun again.", "what"
            ),
            garbage=make.counter("redis_garbage", "What was found in Redis and is nothing of ours.", "place"),
            log_lines=make.counter("log_lines", "Lines of the log from warning on.", "level"),
        )

    def begin(self, roles: Collection[str]) -> None:
        """See :meth:`Metrics.started`."""
        _begin(self.log_lines, ("warning", "error"))
        _begin(self.garbage, get_args(GarbagePlace))
        _begin(self.background_crashes, ("bus_hearing", "bus_sending", "leases", "live"))
        if "gateway" in roles:
            _begin(self.leases_lost, ("connector",))
            _begin(self.disk_errors, ("file",))
        if "agents" in roles:
            _begin(self.leases_lost, ("agent",))
            _begin(self.disk_errors, ("trace",))


class Metrics:
    """One set of collectors in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        make = _Maker(self.registry)
        self.process = ProcessMetrics.made_by(make)
        self.turns = TurnMetrics.made_by(make)
        self.compactions = CompactionMetrics.made_by(make)
        self.model = ModelMetrics.made_by(make)
        self.gateway = GatewayMetrics.made_by(make)
        self.appointments = AppointmentMetrics.made_by(make)
        self._models: frozenset[str] = frozenset()
        self._strategies: frozenset[str] = frozenset()

    def started(self, version: str, roles: Collection[str], known: Known) -> None:
        """The process begins. Only these models and strategies get labels of their own.

        What it may count begins at 0: what is first seen as 3 has not risen, for Prometheus, and nothing would ring.
        """
        self._models, self._strategies = frozenset(known.models), frozenset(known.strategies)
        self.process.info.clear()
        self.process.info.labels(version, ",".join(roles)).set(1)
        self.process.begin(roles)
        if "gateway" in roles:
            self.gateway.begin(known)
        if "agents" in roles:
            self.turns.begin(known)
            self.compactions.begin(known)
            self.appointments.begin()
        if {"agents", "worker"} & set(roles):
            self.model.begin(known)

    def tools_known(self, tools: Collection[str]) -> None:
        """As :meth:`bot.agent.tools.toolbox.Toolbox.kind_of` names them."""
        _begin(self.turns.tool_calls, (*tools, OTHER), ("ok", "error"))

    def model_known(self, name: str) -> None:
        """One more that gets labels of its own: those who run the program chose it."""
        if len(self._models) < _MOST_MODELS:
            self._models |= {name}

    def label_of_model(self, name: str) -> str:
        """It, or ``other``."""
        return name if name in self._models else OTHER

    def label_of_strategy(self, name: str) -> str:
        """It, or ``other``."""
        return name if name in self._strategies else OTHER


@dataclass(frozen=True)
class _Maker:
    """Makes collectors in a registry."""

    registry: CollectorRegistry

    def counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"palimpsest_{name}", meaning, labels, registry=self.registry)

    def gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"palimpsest_{name}", meaning, labels, registry=self.registry)

    def histogram(self, name: str, meaning: str, *labels: str, buckets: tuple[float, ...] = _LATENCIES) -> Histogram:
        return Histogram(f"palimpsest_{name}", meaning, labels, registry=self.registry, buckets=buckets)


def _begin(collector: Counter | Histogram, *values: Iterable[str]) -> None:
    """Each combination of these values of its labels."""
    for labels in product(*values):
        collector.labels(*labels)


METRICS = Metrics()
"""Those of this process."""
