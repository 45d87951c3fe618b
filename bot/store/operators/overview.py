"""What operators ask of all conversations at once: what happened today, what waits, what runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal_column, select

from bot.errors import OF_PROVIDER
from bot.history import Usage
from bot.messages import AgentId
from bot.store.operators.traces import Ran, Wanted, listed
from bot.store.runs import ERRANDS, OPEN, RunState
from bot.store.schema import agents, compactions, inbox, outbox, skipped_updates, turns
from bot.store.tx import Tx

_AT_ONCE = 200
"""Turns under way, as far as one looks for the last that ended."""
WAITED_FOR = ("auto", "recovery")
"""Triggers of the compactions that stand before an answer."""


_OPEN: list[ColumnElement[str]] = [literal_column(f"'{state.value}'") for state in OPEN]
"""As literals: SQLite takes the index of open runs only where it sees that the condition is the same."""


@dataclass(frozen=True)
class Queue:
    """So many wait, the oldest since then (seconds since 1970)."""

    count: int
    since: float | None


@dataclass(frozen=True)
class Waits:
    """What has to be done. ``taken``: messages that are being answered; ``outbox``: what people do not see yet."""

    waiting: Queue
    fetching: Queue
    taken: Queue
    outbox: Queue
    parked: int


@dataclass(frozen=True)
class OpenRun:
    """A compaction under way. ``heartbeat_at``: when its worker last said that it lives; None: no worker has it."""

    id: str
    agent_id: AgentId
    trigger: str
    state: RunState
    jobs: int
    started_at: float
    enqueued_at: float
    heartbeat_at: float | None


@dataclass(frozen=True)
class Day:
    """What happened since some moment. ``turns`` by state; ``runs`` by trigger and state; ``pauses``: seconds that
    people waited for each compaction that stood before an answer, the shortest first; ``spent``: the usage of
    compactions by model; ``answered``: that of turns; ``last_failed``: whose turn failed last, if one did;
    ``failures``: failed turns by the word of their cause, empty where it was not kept; ``answers_fail``: the
    provider failed the last one, as it would every other; ``models``: answers by who gave them, and ``answered_by``
    the usage of turns likewise, under an empty name where that was not kept."""

    turns: Mapping[str, int]
    runs: Mapping[tuple[str, RunState], int]
    pauses: Sequence[float]
    spent: Mapping[str, Usage]
    answered: Usage
    last_failed: AgentId | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    answers_fail: bool = False
    models: Mapping[str, int] = field(default_factory=dict)
    answered_by: Mapping[str, Usage] = field(default_factory=dict)


@dataclass(frozen=True)
class Helpless:
    """A conversation that is critical, and whose last compaction changed nothing."""

    agent_id: AgentId
    run: str
    reason: str


async def waits(tx: Tx) -> Waits:
    """How much waits now."""
    running = select(turns.c.id).where(turns.c.state == "running")
    taken = and_(inbox.c.turn_id.in_(running), inbox.c.state == "taken")
    pending = and_(outbox.c.state == "ready", outbox.c.delivered < outbox.c.version)
    parked = await tx.execute(select(func.count()).select_from(inbox).where(inbox.c.state == "parked"))
    skipped = await tx.execute(select(func.count()).select_from(skipped_updates))
    return Waits(
        waiting=await _queue(tx, inbox.c.received_at, inbox.c.state == "waiting"),
        fetching=await _queue(tx, inbox.c.received_at, inbox.c.state == "fetching"),
        taken=await _queue(tx, inbox.c.received_at, taken),
        outbox=await _queue(tx, outbox.c.created_at, pending),
        parked=int(parked.scalar_one()) + int(skipped.scalar_one()),
    )


async def open_runs(tx: Tx) -> list[OpenRun]:
    """The compactions under way, the oldest first."""
    table = compactions.c
    columns = (table.id, table.agent_id, table.trigger, table.state, table.jobs, table.started_at, table.enqueued_at)
    query = select(*columns, table.heartbeat_at).where(compactions.c.state.in_(_OPEN)).order_by(table.started_at)
    return [
        OpenRun(
            id=row.id,
            agent_id=AgentId(row.agent_id),
            trigger=row.trigger,
            state=RunState(row.state),
            jobs=row.jobs,
            started_at=row.started_at,
            enqueued_at=row.enqueued_at,
            heartbeat_at=row.heartbeat_at,
        )
        for row in await tx.execute(query)
    ]


async def day(tx: Tx, since: float) -> Day:
    """What happened since then."""
    # One look at the turns for all that is counted of them: there are many, and each look reads them all.
    kinds = (turns.c.state, turns.c.cause, turns.c.model)
    told = with_usage(select(*kinds, func.count()), turns.c.usage)
    told = told.where(turns.c.started_at >= since).group_by(*kinds)
    ended = (await tx.execute(told)).all()
    failures = _sums((row[1], row[3]) for row in ended if row[0] == "failed")
    table = compactions.c
    ran = await tx.execute(
        select(table.trigger, table.state, func.count())
        .where(table.started_at >= since, table.trigger.not_in(ERRANDS))
        .group_by(table.trigger, table.state)
    )
    waited = await tx.execute(
        select(table.finished_at - table.started_at)
        .where(table.started_at >= since, table.trigger.in_(WAITED_FOR), table.finished_at.is_not(None))
        .order_by(table.finished_at - table.started_at)
    )
    spent = await tx.execute(
        with_usage(select(table.model), table.usage)
        .where(table.started_at >= since, table.usage["input"].as_integer().is_not(None))
        .group_by(table.model)
    )
    return Day(
        turns=_sums((row[0], row[3]) for row in ended),
        runs={(row[0], RunState(row[1])): row[2] for row in ran},
        pauses=[row[0] for row in waited],
        spent={row[0]: Usage(*row[1:]) for row in spent},
        answered=sum((Usage(*row[4:]) for row in ended), Usage()),
        last_failed=await _last_failed(tx, since) if failures else None,
        failures=failures,
        answers_fail=bool(failures) and await _newest_cause(tx, since) in OF_PROVIDER,
        models=_sums((row[2], row[3]) for row in ended if row[0] == "done"),
        answered_by=usages((row[2], Usage(*row[4:])) for row in ended),
    )


def _sums(counted: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for name, number in counted:
        found[name] = found.get(name, 0) + number
    return found


def usages(counted: Iterable[tuple[str, Usage]]) -> Mapping[str, Usage]:
    """Those of each name together."""
    found: dict[str, Usage] = {}
    for name, usage in counted:
        found[name] = found.get(name, Usage()) + usage
    return found


async def _last_failed(tx: Tx, since: float) -> AgentId | None:
    query = select(turns.c.agent_id).where(turns.c.started_at >= since, turns.c.state == "failed")
    found = (await tx.execute(query.order_by(turns.c.started_at.desc()).limit(1))).scalar_one_or_none()
    return AgentId(found) if found else None


async def _newest_cause(tx: Tx, since: float) -> str | None:
    """Of the turn that ended last, among those that began last."""
    over = turns.c.state.in_(("done", "failed"))
    began = select(turns.c.cause, turns.c.ended_at).where(turns.c.started_at >= since, over)
    latest = began.order_by(turns.c.started_at.desc()).limit(_AT_ONCE).subquery()
    newest = await tx.execute(select(latest.c.cause).order_by(latest.c.ended_at.desc()).limit(1))
    return newest.scalar_one_or_none()


async def levels(tx: Tx) -> Mapping[str, int]:
    """How many conversations are at each level; those that were not measured yet have none."""
    level = agents.c.meter["level"].as_string()
    rows = await tx.execute(select(level, func.count()).where(level.is_not(None)).group_by(level))
    return {row[0]: row[1] for row in rows}


async def helpless(tx: Tx, *, most: int = 20) -> list[Helpless]:
    """Conversations that are critical and that a compaction did not help."""
    level = agents.c.meter["level"].as_string()
    latest = (
        select(func.max(compactions.c.started_at))
        .where(compactions.c.agent_id == agents.c.id)
        .correlate(agents)
        .scalar_subquery()
    )
    query = (
        select(agents.c.id, compactions.c.id, compactions.c.reason)
        .join(compactions, and_(compactions.c.agent_id == agents.c.id, compactions.c.started_at == latest))
        .where(level == "critical", compactions.c.state.in_((RunState.EMPTY, RunState.FAILED)))
        .limit(most)
    )
    return [Helpless(AgentId(row[0]), row[1], row[2]) for row in await tx.execute(query)]


async def latest_runs(tx: Tx, *, most: int) -> list[Ran]:
    """The newest compactions."""
    return await listed(tx, Wanted(), most=most)


async def state(tx: Tx, now: Waits, under_way: Sequence[OpenRun]) -> str:
    """Changes whenever the overview would be another one, but for the time that passes."""
    touched = await tx.execute(select(func.max(agents.c.touched_at), func.count()))
    runs = await tx.execute(select(func.max(compactions.c.started_at)))
    working = [f"{run.id}{run.state}{run.heartbeat_at is None}" for run in under_way]
    queues = [now.waiting.count, now.fetching.count, now.taken.count, now.outbox.count, now.parked]
    return "|".join(map(str, [*touched.one(), *runs.one(), *queues, *working]))


async def _queue(tx: Tx, since: ColumnElement[Any], condition: ColumnElement[bool]) -> Queue:
    row = (await tx.execute(select(func.count(), func.min(since)).where(condition))).one()
    return Queue(row[0], row[1])


_COUNTED = tuple(field.name for field in fields(Usage))


def with_usage(query: Select[Any], usage: Any) -> Select[Any]:
    """And the sums of a usage, in the order of the fields of :class:`bot.history.Usage`."""
    return query.add_columns(*(func.coalesce(func.sum(usage[name].as_integer()), 0) for name in _COUNTED))
