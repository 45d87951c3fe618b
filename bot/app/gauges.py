"""What is looked up when somebody asks for the metrics: queues, levels, leases, and which parts are away.

What is in the book is the same whoever reads it, so of several processes that show it one takes the greatest
(``max by``), and never the sum. Workers do not show it. A book that is away is said so, and holds nobody up.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeAlias

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from bot.app.resources import Resources
from bot.bus.leases import AGENT, CONNECTOR
from bot.errors import OF_PROVIDER, BusUnavailable, StoreUnavailable
from bot.runtime.amounts import NANO
from bot.runtime.checks import Check, state_of
from bot.runtime.metrics import METRICS
from bot.store.money.figures import Figures, figures
from bot.store.money.limits import limits_of
from bot.store.operators import queues
from bot.store.operators.queues import Depths

FRESH_SECONDS = 5.0
"""What was looked up is good for so long."""
_LOOK_SECONDS = 2.0
"""A part that takes longer to answer is away; Prometheus waits for 10 s by default."""
_LEVELS = ("ok", "warning", "critical")
_STATES = ("planned", "running")

Row: TypeAlias = tuple[tuple[str, ...], float]
Rows: TypeAlias = Iterable[Row]


class GatewayState(Protocol):
    """A gateway, as far as it is shown here."""

    is_active: bool

    @property
    def name(self) -> str:
        """The connector's."""


class Gauges:
    """Those of one process. ``book``: whether it shows what is in the book; ``checks``: what `/readyz` asks."""

    def __init__(
        self,
        resources: Resources,
        *,
        book: bool,
        gateways: Sequence[GatewayState] = (),
        checks: Mapping[str, Check] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resources = resources
        self._book = book
        self._gateways = gateways
        self._checks = {} if checks is None else checks
        self._ready: Mapping[str, bool] = {}
        self._clock = clock
        self._process = ProcessCollector(registry=CollectorRegistry())
        self._looking = asyncio.Lock()
        self._looked_at: float | None = None
        self._depths: Depths | None = None
        self._usual = limits_of(resources.settings.budget, resources.database).usual
        self._money: Figures | None = None
        self._jobs: int | None = None
        self._worker_seen: bool | None = None
        self._disk: tuple[int, int] | None = None
        self._disk_look: asyncio.Task[tuple[int, int]] | None = None
        self._up = {"database": False, "redis": False}

    async def exposition(self, accept: str) -> tuple[bytes, str]:
        """All metrics in the form that an Accept header asks for, and its content type."""
        async with self._looking:
            if self._looked_at is None or self._clock() - self._looked_at > FRESH_SECONDS:
                await asyncio.gather(
                    self._look_into_book(), self._look_at_redis(), self._look_at_parts(), self._look_at_disk()
                )
                self._looked_at = self._clock()
        encode, content_type = choose_encoder(accept)
        return encode(self), content_type

    def collect(self) -> Iterator[Metric]:
        """What was counted, what was looked up, and what the system knows of this process."""
        yield from METRICS.registry.collect()
        yield from self._of_process()
        if self._book:
            yield from self._of_book()
        yield from self._process.collect()

    async def _look_into_book(self) -> None:
        self._depths, self._money, self._up["database"] = None, None, False
        database = self._resources.database
        with suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                if self._book:
                    async with database.read(long=True) as tx:
                        self._depths = await queues.depths(tx, now=database.clock())
                else:
                    await database.ping()
            self._up["database"] = True
        if self._book and self._up["database"]:
            await self._look_at_money()

    async def _look_at_money(self) -> None:
        """That it takes long to add up says nothing of whether the book is there."""
        database = self._resources.database
        with suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS), database.read(long=True) as tx:
                self._money = await figures(tx, self._usual, now=database.clock())

    async def _look_at_redis(self) -> None:
        self._jobs, self._worker_seen, self._up["redis"] = None, None, False
        with suppress(BusUnavailable, TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                self._jobs = await self._resources.jobs.length()
                self._worker_seen = await self._resources.jobs.has_worker()
            self._up["redis"] = True

    async def _look_at_parts(self) -> None:
        checks = {name: check for name, check in self._checks.items() if name not in self._up}
        found = await asyncio.gather(*(state_of(check, _LOOK_SECONDS) for check in checks.values()))
        self._ready = {name: works for name, (works, _) in zip(checks, found, strict=True)}

    async def _look_at_disk(self) -> None:
        """A volume that hangs hangs whoever asks it: one thread at most."""
        self._disk = None
        if self._disk_look is None or self._disk_look.done():
            self._disk_look = asyncio.create_task(asyncio.to_thread(_disk, self._resources.settings.data_dir))
        done, _ = await asyncio.wait({self._disk_look}, timeout=_LOOK_SECONDS)
        if done and self._disk_look.exception() is None:
            self._disk = self._disk_look.result()

    def _of_process(self) -> Iterator[Metric]:
        resources = self._resources
        loads = [(link.name, model.load) for model, link in resources.models.items()]
        yield _gauge("database_up", "Whether the database answers this process.", [((), self._up["database"])])
        refuses = [((), bool(resources.database.refusal))]
        yield _gauge("database_refuses", "Whether the database said no within the last minute.", refuses)
        yield _gauge("redis_up", "Whether Redis answers this process.", [((), self._up["redis"])])
        ready = [((part,), works) for part, works in self._ready.items()]
        yield _gauge("ready", "Whether a part of this process does what it is there for.", ready, "part")
        yield _counter("database_errors", "Transactions that the database did not take.", resources.database.failures)
        yield _counter("redis_errors", "Questions to Redis that were not answered.", resources.bus.failures)
        met = {one.cause for model in resources.models for one in model.troubles}
        troubles = [((cause.value,), cause in met) for cause in OF_PROVIDER]
        yield _gauge(
            "model_trouble", "Whether requests to the model met this, and none was answered since.", troubles, "cause"
        )
        down = {link for chain in resources.chains.all for link in chain.down}
        known = {(link.name,): link in down for link in reversed(resources.chains.links)}
        yield _gauge("model_down", "Whether it is asked only now and then, to see.", known.items(), "model")
        in_flight, waiting = sum(load.in_flight for _, load in loads), sum(load.waiting for _, load in loads)
        calls = [(("in_flight",), in_flight), (("waiting",), waiting)]
        yield _gauge("model_calls", "Calls of models under way in this process, and in line.", calls, "state")
        pauses = {(name,): max(load.pause for other, load in loads if other == name) for name, _ in loads}
        yield _gauge("model_hold_seconds", "For how long its provider wants no calls.", pauses.items(), "model")
        kinds = Counter(name.partition(":")[0] for name in resources.bus.leases.held)
        held = [((kind,), kinds[kind]) for kind in (AGENT.name, CONNECTOR.name)]
        yield _gauge("leases_held", "What this process has and keeps alive.", held, "kind")
        disk = [] if self._disk is None else [(("all",), self._disk[0]), (("free",), self._disk[1])]
        yield _gauge("data_bytes", "The disk of DATA_DIR.", disk, "state")
        works = [((gateway.name,), gateway.is_active) for gateway in self._gateways]
        yield _gauge("connector_active", "Whether this gateway works for it, or stands by.", works, "connector")

    def _of_book(self) -> Iterator[Metric]:
        rows = self._rows_of(self._depths) if self._depths else {}
        yield _gauge("inbox_messages", "Messages that are not answered.", rows.get("inbox", ()), "connector", "state")
        yield _gauge(
            "inbox_oldest_seconds",
            "How long the first message waits.",
            rows.get("oldest", ()),
            "connector",
        )
        yield _gauge("outbox_messages", "Messages on their way to people.", rows.get("outbox", ()), "connector")
        yield _gauge("turns_running", "Turns under way.", rows.get("turns", ()))
        yield _gauge("compactions_open", "Compactions under way.", rows.get("open", ()), "state")
        yield _gauge(
            "compaction_oldest_seconds", "How long the first of them was asked for.", rows.get("asked", ()), "state"
        )
        yield _gauge("agents", "Conversations by how full they are.", rows.get("agents", ()), "level", "active")
        jobs = () if self._jobs is None else [((), self._jobs)]
        yield _gauge("jobs", "Summaries that wait for a worker, or are being written.", jobs)
        due = rows.get("due", ())
        yield _gauge("appointment_overdue_seconds", "How long the first appointment is due that nobody has taken.", due)
        seen = () if self._worker_seen is None else [((), self._worker_seen)]
        yield _gauge("worker_seen", "Whether any worker said lately that it is there.", seen)
        yield from _of_money(self._money)

    def _rows_of(self, depths: Depths) -> Mapping[str, Rows]:
        now = self._resources.database.clock()
        idle: dict[str, float] = {gateway.name: 0 for gateway in self._gateways}
        nothing = {(name, state): 0 for name in idle for state in queues.INBOX_STATES}
        waited = {name: max(0.0, now - since) for name, since in depths.oldest.items()}
        asked = {state: max(0.0, now - since) for state, (_, since) in depths.runs.items()}
        return {
            "inbox": [*(nothing | dict(depths.inbox)).items()],
            "oldest": _by_name(idle | waited),
            "outbox": _by_name(idle | dict(depths.outbox)),
            "turns": [((), depths.turns)],
            "open": [((state,), depths.runs[state][0] if state in depths.runs else 0) for state in _STATES],
            "due": [((), max(0.0, now - depths.overdue_since) if depths.overdue_since is not None else 0.0)],
            "asked": [((state,), asked.get(state, 0.0)) for state in _STATES],
            "agents": [
                ((level, str(active).lower()), depths.agents.get((level, active), 0))
                for level in _LEVELS
                for active in (True, False)
            ],
        }


def _of_money(money: Figures | None) -> Iterator[Metric]:
    dollars, tokens, reserved, shares = list[Row](), list[Row](), list[Row](), list[Row]()
    if money:
        each = ("day", money.day), ("month", money.month)
        dollars = [((period,), total.cost / NANO) for period, total in each]
        tokens = [((period,), total.tokens) for period, total in each]
        reserved = [((), money.reserved / NANO)]
        shares = [((scope.value,), share) for scope, share in money.shares.items()]
    yield _gauge("spent_dollars", "What was spent in this day and month, where a price is known.", dollars, "period")
    yield _gauge("spent_tokens", "What was spent in this day and month, in tokens.", tokens, "period")
    yield _gauge("reserved_dollars", "What is asked just now may cost so much.", reserved)
    yield _gauge("budget_share", "Of the budget that is nearest to its end, what is spent.", shares, "scope")


def _disk(folder: Path) -> tuple[int, int]:
    """Bytes: of all of it, and what this user may still write."""
    found = os.statvfs(folder)
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def _by_name(numbers: Mapping[str, float]) -> Rows:
    return [((name,), number) for name, number in numbers.items()]


def _gauge(name: str, meaning: str, rows: Rows, *labels: str) -> Metric:
    family = GaugeMetricFamily(f"palimpsest_{name}", meaning, labels=labels)
    for values, number in rows:
        family.add_metric(values, number)
    return family


def _counter(name: str, meaning: str, number: float) -> Metric:
    return CounterMetricFamily(f"palimpsest_{name}", meaning, value=number)
