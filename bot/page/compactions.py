"""Compactions: the list of them, and one in full."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.bus import topics
from bot.compaction.plan import Plan, Trigger
from bot.compaction.statistics import messages_text, statistics_of
from bot.compaction.summary.checks import missing
from bot.history import LASTING
from bot.messages import AgentId
from bot.page.context import PageContext
from bot.page.diff import counts, difference, side_by_side
from bot.page.entries import LONGEST
from bot.page.figures import DAY
from bot.page.levels import LevelsOf
from bot.page.query import Slice, named, number, text
from bot.page.refusal import not_found
from bot.page.updates import Updates
from bot.runtime.prices import cost
from bot.store import Tx, histories, runs
from bot.store.operators import conversations, pages, traces
from bot.store.operators.traces import Ran, Wanted
from bot.store.runs import Run, RunState, SummaryRequest

_MOST_LISTED = 50
_MOST_ENTRIES = 500
_LONGEST_NAME = 120
_TRIGGERS: Sequence[Trigger] = get_args(Trigger)
_WITHIN: Mapping[str, float] = {"24h": DAY, "7d": 7 * DAY}
_WHY: Mapping[str, str] = {
    "auto": "The context was over a level of its strategy, so it was compacted before the next request.",
    "ahead": "After an answer the context was close to the level, so it was compacted while nobody waited.",
    "manual": "A person asked for it.",
    "recovery": "The provider refused the context as too large, so it was compacted and sent again.",
    "rolling": "What had become old was folded into the running summary, for the next compaction. Nothing was changed.",
    "facts": "What was said was read for facts by the model. Memory may have changed, and nothing else.",
}


@dataclass(frozen=True)
class Filters:
    """What the list is narrowed to, as its address says it; empty: all."""

    day: str
    outcome: str
    trigger: Trigger | Literal[""]
    strategy: str
    agent: str
    within: str

    @classmethod
    def of(cls, request: Request) -> Filters:
        """What cannot be is left out."""
        asked = {name: text(request, name, _LONGEST_NAME) for name in cls.__annotations__}
        return cls(
            day=asked["day"] if _day(asked["day"]) else "",
            outcome=asked["outcome"] if asked["outcome"] in list(RunState) else "",
            trigger=next((known for known in _TRIGGERS if known == asked["trigger"]), ""),
            strategy=asked["strategy"],
            agent=asked["agent"],
            within=asked["within"] if asked["within"] in _WITHIN else "",
        )

    def wanted(self, now: float) -> Wanted:
        """For the book."""
        begin = _day(self.day)
        since = [begin.timestamp()] if begin else []
        since += [now - _WITHIN[self.within]] if self.within else []
        return Wanted(
            agents=(AgentId(self.agent),) if self.agent else None,
            since=max(since, default=None),
            until=(begin + timedelta(days=1)).timestamp() if begin else None,
            states=(RunState(self.outcome),) if self.outcome else None,
            triggers=(self.trigger,) if self.trigger else None,
            strategies=(self.strategy,) if self.strategy else None,
        )


@dataclass(frozen=True)
class Asked:
    """One request of a summary and what came back, as they were recorded."""

    mode: str
    system: str
    messages: str
    reply: str
    error: str
    is_cut_off: bool
    """Neither a reply nor an error came."""
    cut: int


class Compactions:
    """`/compactions` and `/compactions/{run}`."""

    def __init__(self, context: PageContext, updates: Updates) -> None:
        self._context = context
        self._updates = updates
        self._levels_of = LevelsOf(context.settings)
        self.routes = [
            Route("/compactions", self._list, methods=["GET"]),
            Route("/compactions.json", self._json, methods=["GET"]),
            Route("/compactions/{run}", self._one, methods=["GET"]),
            Route("/live/compactions/{run}", self._stream, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        filters = Filters.of(request)
        wanted = filters.wanted(self._context.database.clock())
        async with self._context.database.read(long=True) as tx:
            rows = Slice.of(request, await traces.count(tx, wanted), _MOST_LISTED)
            found = await traces.listed(tx, wanted, most=rows.most, offset=rows.offset)
            strategies = await traces.strategies(tx)
        return self._context.answer(
            request,
            "compactions.html",
            here="compactions",
            title="Compactions",
            found=found,
            costs=(costs := {run.id: price for run in found if (price := _price(run)) is not None}),
            unpriced=sorted({run.model or "the local model" for run in found if run.usage and run.id not in costs}),
            filters=filters,
            rows=rows,
            outcomes=[state.value for state in RunState],
            triggers=_TRIGGERS,
            strategies=strategies,
        )

    async def _json(self, request: Request) -> Response:
        wanted = Filters.of(request).wanted(self._context.database.clock())
        async with self._context.database.read(long=True) as tx:
            found = await traces.listed(tx, wanted, most=number(request, "most", _MOST_LISTED))
        return JSONResponse([_as_json(run) for run in found])

    async def _one(self, request: Request) -> Response:
        async with self._context.database.read(long=True) as tx:
            run = await _existing(tx, named(request, "run"))
            values, asked = await _about(tx, run), await traces.asked_for(tx, run)
        strategy = values["plan"].strategy
        return self._context.answer(
            request,
            "compaction.html",
            here="compactions",
            title=f"Compaction of {run.agent_id}",
            run=run,
            why=_WHY.get(run.trigger, ""),
            levels=self._levels_of(strategy),
            usage=(usage := run.result.usage if run.result else None),
            cost=cost(run.model, usage) if usage else None,
            asked=[self._asked(request) for request in asked],
            key=uuid4().hex,
            state=_state(run),
            messages=messages_text(stats) if (stats := statistics_of(run.meter_before, run.meter_after)) else "",
            **values,
        )

    def _asked(self, request: SummaryRequest) -> Asked:
        messages = json.dumps(request.messages, ensure_ascii=False, indent=1)
        return Asked(
            mode=request.mode,
            system=request.system[:LONGEST],
            messages=messages[:LONGEST],
            reply=request.reply or "",
            error=request.error or "",
            is_cut_off=request.is_cut_off,
            cut=max(0, len(messages) - LONGEST),
        )

    async def _stream(self, request: Request) -> Response:
        name = named(request, "run")

        async def state() -> str:
            async with self._context.database.read(long=True) as tx:
                run = await _existing(tx, name)
                cover = await pages.cover_of(tx, run.agent_id, run.id)
            return f"{_state(run)}|{cover.removed_at if cover else None}"

        return self._updates.changes(request, (topics.run(name), topics.SETTLED), state)


async def _about(tx: Tx, run: Run) -> dict[str, Any]:
    """What the page says of a run besides its row."""
    plan, cover = Plan.from_json(run.plan), await pages.cover_of(tx, run.agent_id, run.id)
    before = await pages.page_before(tx, run.agent_id, run.stack, plan.upto, most=_MOST_ENTRIES)
    inserted = await histories.inserted_by(tx, run.agent_id, cover.layer.number) if cover else []
    previous = await runs.latest(tx, run.agent_id, done=True, before=run.started_at)
    earlier = previous.result.summary if previous and previous.result else ""
    summary = run.result.summary if run.result else ""
    lacking = set(missing(summary, plan.must_keep)) if summary else set(plan.must_keep)
    groups = side_by_side(before, plan, inserted)
    layers = await histories.load_layers(tx, run.agent_id)
    one = await conversations.get(tx, run.agent_id)
    return {
        "one": one,
        "plan": plan,
        "cover": cover,
        "groups": groups,
        "is_cut": len(before) >= _MOST_ENTRIES,
        "counts": counts(groups),
        "summary": summary,
        "previous": previous if earlier else None,
        "difference": difference(earlier, summary) if earlier and summary else [],
        "checks": [(item, item not in lacking) for item in plan.must_keep],
        "is_undoing": "undo" in await pages.commands_waiting(tx, run.agent_id),
        "is_top": _is_top(layers, cover.layer.number if cover else None),
    }


def _is_top(layers: Sequence[Any], mine: int | None) -> bool:
    """Whether an undo would take this one off."""
    top = next((layer.number for layer in reversed(layers) if layer.kind not in LASTING), None)
    return mine is not None and top == mine


async def _existing(tx: Tx, name: str) -> Run:
    run = await runs.get(tx, name)
    if run is None:
        raise not_found("There is no compaction of this name.")
    return run


def _state(run: Run) -> str:
    return f"{run.state.value}|{run.jobs}|{run.heartbeat_at is None}"


def _day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def _price(run: Ran) -> float | None:
    """Dollars; None where nothing was charged, or nobody knows how much."""
    return cost(run.model, run.usage) if run.usage else None


def _as_json(run: Ran) -> dict[str, Any]:
    return {
        "id": run.id,
        "agent": run.agent_id,
        "trigger": run.trigger,
        "strategy": run.strategy,
        "outcome": run.state.value,
        "undone": run.undone,
        "reason": run.reason,
        "before": run.before.total,
        "after": run.after.total if run.after else None,
        "statistics": run.stats,
        "started": datetime.fromtimestamp(run.started_at, UTC).isoformat(),
        "seconds": None if run.finished_at is None else run.finished_at - run.started_at,
        "dollars": _price(run),
    }
