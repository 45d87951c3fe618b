"""The first page: how full conversations are, what the last day was like, and what is wrong right now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.bus import topics
from bot.errors import BusUnavailable, Cause
from bot.estimate.learned_windows import Learned, place_of
from bot.page.context import PageContext
from bot.page.figures import DAY, Week, counts, figures, spent
from bot.page.format import duration, plural
from bot.page.query import Slice, chosen, text
from bot.page.updates import Updates
from bot.store import Tx, outages, people, windows
from bot.store.operators import conversations, overview
from bot.store.operators.overview import Day, Helpless, OpenRun, Queue, Waits
from bot.store.outages import MODEL_IS_DOWN
from bot.store.runs import RunState

_MOST_LISTED = 25
_ORDERS: Sequence[conversations.Order] = ("fill", "recent")
_LATE_SECONDS = 30.0
"""After which what waits is a problem and not a queue."""
_LONG_SECONDS = 120.0
"""After which a message that is being answered is a sign of a model that is away, or of tools that take long."""
_SILENT_SECONDS = 10.0
"""After which a worker that says nothing is taken for dead by everybody else too."""
_LONGEST_QUERY = 200
_REST_SECONDS = 3.0
"""Something happens somewhere all the time; whoever watches all of it need not see it at once."""


Worker: TypeAlias = Literal["there", "missing", "not known"]
"""Whether anybody is there who writes summaries; Redis would know, and may be away itself."""


Level: TypeAlias = Literal["warning", "critical"]


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be, in a sentence, and where one sees more of it."""

    level: Level
    sentence: str
    href: str = ""


class Overview:
    """`/`, and the same as JSON for scripts."""

    def __init__(self, context: PageContext, updates: Updates) -> None:
        self._context = context
        self._updates = updates
        self._week = Week()
        self.routes = [
            Route("/", self._page, methods=["GET"]),
            Route("/overview.json", self._json, methods=["GET"]),
            Route("/live/overview", self._stream, methods=["GET"]),
        ]

    async def _page(self, request: Request) -> Response:
        order = chosen(request, "sort", _ORDERS)
        like = text(request, "q", _LONGEST_QUERY)
        async with self._context.database.read(long=True) as tx:
            rows = Slice.of(request, await conversations.count(tx, like), _MOST_LISTED)
            found = await conversations.listed(tx, like=like, order=order, most=rows.most, offset=rows.offset)
            latest = await overview.latest_runs(tx, most=8)
            values = await self._now(tx, worker := await self._worker())
            state = await self._state(tx, values["waits"], values["open_runs"], worker)
        return self._context.answer(
            request,
            "overview.html",
            here="overview",
            title="Overview",
            found=found,
            rows=rows,
            order=order,
            like=like,
            latest=latest,
            state=state,
            **values,
        )

    async def _worker(self) -> Worker:
        try:
            return "there" if await self._context.jobs.has_worker() else "missing"
        except BusUnavailable:
            return "not known"

    async def _now(self, tx: Tx, worker: Worker) -> dict[str, Any]:
        now = self._context.database.clock()
        day = await overview.day(tx, now - DAY)
        week = await self._week.until(tx, now)
        waits, open_runs = await overview.waits(tx), await overview.open_runs(tx)
        levels, helpless = await overview.levels(tx), await overview.helpless(tx)
        down = await outages.named(tx, MODEL_IS_DOWN)
        return {
            "day": day,
            "figures": figures(day, week, self._context.model_name),
            "waits": waits,
            "open_runs": open_runs,
            "levels": levels,
            "worker": worker,
            "problems": [
                *_refused(self._context.database.refusal),
                *problems(waits, open_runs, helpless, day, now, worker=worker, down=down),
                *_overruled(self._context, await self._learned(tx, now)),
                *_at_the_door(await people.waiting(tx, now=now)),
            ],
        }

    async def _learned(self, tx: Tx, now: float) -> Learned | None:
        place = place_of(self._context.settings.talker.base_url)
        return await windows.of(tx, place, self._context.model_name, now=now)

    async def _json(self, _request: Request) -> Response:
        async with self._context.database.read(long=True) as tx:
            values = await self._now(tx, await self._worker())
        day: Day = values["day"]
        lately = {**asdict(counts(day)), "turns": dict(day.turns), "dollars": spent(day, self._context.model_name)}
        return JSONResponse(
            {
                "problems": [asdict(problem) for problem in values["problems"]],
                "levels": dict(values["levels"]),
                "last_24_hours": lately,
                "waits": asdict(values["waits"]),
                "open_runs": [asdict(run) for run in values["open_runs"]],
                "worker": values["worker"],
            }
        )

    async def _state(self, tx: Tx, waits: Waits, open_runs: Sequence[OpenRun], worker: Worker) -> str:
        happened = await overview.state(tx, waits, open_runs)
        refused, down = self._context.database.refusal, ",".join(await outages.named(tx, MODEL_IS_DOWN))
        now = self._context.database.clock()
        asking = await people.waiting(tx, now=now)
        return f"{happened}|{worker}|{refused}|{down}|{asking}|{late_sign(waits, open_runs, now)}"

    async def _stream(self, request: Request) -> Response:
        async def state() -> str:
            async with self._context.database.read(long=True) as tx:
                waits, open_runs = await overview.waits(tx), await overview.open_runs(tx)
                return await self._state(tx, waits, open_runs, await self._worker())

        all_of_them = (topics.INBOXES, topics.OUTBOXES, topics.SETTLED, topics.RUNS)
        return self._updates.changes(request, all_of_them, state, rest=_REST_SECONDS)


def problems(
    waits: Waits,
    open_runs: Sequence[OpenRun],
    helpless: Sequence[Helpless],
    day: Day,
    now: float,
    *,
    worker: Worker,
    down: Mapping[str, float] = MappingProxyType({}),
) -> list[Problem]:
    """What is wrong at this moment, the worst first. ``down``: models in whose place others answer, and since when."""
    found = [*_away(worker), *_down(down, now), *_overdue(waits, open_runs, now), *_not_helped(helpless)]
    if waits.parked:
        are = "is" if waits.parked == 1 else "are"
        found.append(Problem("warning", f"{plural(waits.parked, 'message')} {are} put aside.", "/parked"))
    failed = sum(count for (_, state), count in day.runs.items() if state is RunState.FAILED)
    if failed:
        href = "/compactions?outcome=failed&within=24h"
        found.append(Problem("warning", f"{plural(failed, 'compaction')} failed in the last 24 hours.", href))
    if day.turns.get("failed"):
        href = f"/conversations/{quote(day.last_failed)}#turns" if day.last_failed else ""
        level: Level = "critical" if day.answers_fail else "warning"
        why = f": {reasons}" if (reasons := _reasons(day.failures)) else ""
        since = ", and none was answered since" if day.answers_fail else ""
        found.append(
            Problem(level, f"{plural(day.turns['failed'], 'answer')} failed in the last 24 hours{since}{why}.", href)
        )
    return sorted(found, key=lambda problem: problem.level != "critical")


def _reasons(failures: Mapping[str, int]) -> str:
    """The causes with their numbers, the most frequent first."""
    known = {cause.value: cause.words for cause in Cause}
    named = [(known.get(word, "another reason"), count) for word, count in failures.items()]
    return ", ".join(f"{count} × {words}" for words, count in sorted(named, key=lambda one: (-one[1], one[0])))


def _overruled(context: PageContext, learned: Learned | None) -> list[Problem]:
    """A limit was set that the model's server does not take: what it said counts."""
    limit = context.settings.agents.emergency_context_limit
    if learned is not None and learned.is_cut:
        return [Problem("warning", learned.said)]
    if learned is None or limit is None or limit <= learned.window:
        return []
    name, window = context.model_name, f"{learned.window:,}"
    takes = f"{name} takes no more than {window} tokens, as its server said when it refused more"
    return [Problem("warning", f"{takes}: AGENTS__EMERGENCY_CONTEXT_LIMIT={limit} is above that.")]


def _at_the_door(waiting: int) -> list[Problem]:
    if not waiting:
        return []
    who = f"{plural(waiting, 'person', 'people')} {'waits' if waiting == 1 else 'wait'}"
    return [Problem("warning", f"{who} to be let in.", "/people")]


def _down(models: Mapping[str, float], now: float) -> list[Problem]:
    return [
        Problem("warning", f"{name} is down, for {duration(now - since)} by now: another model answers in its place.")
        for name, since in models.items()
    ]


def _refused(reason: str) -> list[Problem]:
    return [Problem("critical", f"The database does not take what it is given: {reason}.")] if reason else []


def _away(worker: Worker) -> list[Problem]:
    if worker == "not known":
        return [Problem("critical", "Redis does not answer: what is new is noticed late, and no summary is written.")]
    if worker == "missing":
        sentence = "No worker is there, so no summary would be written: is a process with the role worker running?"
        return [Problem("warning", sentence, "/#workers")]
    return []


def late_sign(waits: Waits, open_runs: Sequence[OpenRun], now: float) -> str:
    """Changes when something becomes late, though nothing happens, and then each minute, since sentences name times."""
    late = [problem.level for problem in _overdue(waits, open_runs, now)]
    return f"{int(now // 60)}{','.join(late)}" if late else ""


def _overdue(waits: Waits, open_runs: Sequence[OpenRun], now: float) -> list[Problem]:
    return [
        *_late(waits.waiting, "message", "for an agent: is a process with the role agents running?", now),
        *_late(waits.fetching, "message", "for a file: is a process with the role gateway running?", now),
        *_answered_for_long(waits.taken, now),
        *_late(waits.outbox, "reply", "to be delivered: is a process with the role gateway running?", now),
        *_workers(open_runs, now),
    ]


def _late(queue: Queue, what: str, sentence: str, now: float) -> list[Problem]:
    if not queue.count or queue.since is None or now - queue.since < _LATE_SECONDS:
        return []
    verb = "waits" if queue.count == 1 else "wait"
    many = "replies" if what == "reply" else ""
    since = duration(now - queue.since)
    return [Problem("critical", f"{plural(queue.count, what, many)} {verb}, the first since {since}, {sentence}")]


def _answered_for_long(queue: Queue, now: float) -> list[Problem]:
    if queue.since is None or now - queue.since < _LONG_SECONDS:
        return []
    first = f"{plural(queue.count, 'message')} {'is' if queue.count == 1 else 'are'} being answered, the first came"
    sentence = f"{first} {duration(now - queue.since)} ago: is the model away? /readyz of the role agents knows."
    return [Problem("warning", sentence)]


def _workers(open_runs: Sequence[OpenRun], now: float) -> list[Problem]:
    left = [run for run in open_runs if run.heartbeat_at is None and now - run.enqueued_at > _SILENT_SECONDS]
    silent = [run for run in open_runs if run.heartbeat_at and now - run.heartbeat_at > _SILENT_SECONDS]
    found = []
    if left:
        first = min(run.enqueued_at for run in left)
        sentence = (
            f"{plural(len(left), 'compaction')} {'waits' if len(left) == 1 else 'wait'} for a worker, the first since "
            f"{duration(now - first)}: is a process with the role worker running?"
        )
        found.append(Problem("critical" if now - first > _LATE_SECONDS else "warning", sentence, "/#workers"))
    if silent:
        sentence = f"{plural(len(silent), 'compaction')} had a worker that does not answer any more."
        found.append(Problem("warning", sentence, "/#workers"))
    return found


def _not_helped(helpless: Sequence[Helpless]) -> list[Problem]:
    if not helpless:
        return []
    if len(helpless) == 1:
        one = helpless[0]
        why = f": {one.reason.rstrip('.')}" if one.reason else ""
        sentence = f"{one.agent_id} is critical, and its last compaction changed nothing{why}."
        return [Problem("critical", sentence, f"/compactions/{one.run}")]
    sentence = f"{len(helpless)} conversations are critical, and their last compaction changed nothing."
    return [Problem("critical", sentence, "/?sort=fill")]
