"""Compaction runs: a row each, from the plan to the trace. The worker writes its result, the agent all else.

One conditional update decides between abort and commit: both ask for a run that is still open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import RowMapping, and_, func, null, or_, select, update

from bot.estimate.meter import MeterRecord
from bot.history import Usage
from bot.messages import AgentId, Message
from bot.store.schema import agents, compactions, inbox, layers
from bot.store.tx import Tx

if TYPE_CHECKING:
    from bot.compaction.plan import Trigger


class RunState(StrEnum):
    """The life of a compaction."""

    PLANNED = "planned"
    """In the queue."""
    RUNNING = "running"
    """A worker has it; its heartbeat says that it lives."""
    DONE = "done"
    """Its layer is on the history."""
    EMPTY = "empty"
    """There was no usable summary; nothing was changed."""
    FAILED = "failed"
    """It could not be made; nothing was changed."""
    ABORTED = "aborted"
    """A person stopped it; nothing was changed."""


OPEN = (RunState.PLANNED, RunState.RUNNING)
ERRANDS = ("rolling", "facts")
"""Triggers of what is done in the background between compactions, and gives way to them: nobody is told of it."""
Occasion = Literal["", "quiet"]
"""What a run begins at, where its trigger does not say so; ``quiet``: its prompt cache is about to expire."""
_MOST_FOLDS = 8
ENDED = tuple(state for state in RunState if state not in OPEN)


@dataclass(frozen=True)
class SummaryRequest:
    """A request for a summary, or for a part of one, and what came of it: a ``reply``, an ``error``, or neither where
    it was cut off. ``mode``: what the model was shown."""

    mode: str
    system: str = ""
    messages: tuple[Message, ...] = ()
    reply: str | None = None
    error: str | None = None

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> SummaryRequest:
        """As it was kept."""
        found = {name: kept[name] for name in _OF_REQUEST if name in kept}
        return cls(**{"mode": "", **found, "messages": tuple(kept.get("messages", ()))})

    def as_json(self) -> dict[str, Any]:
        """As it is kept: what there is not has no name."""
        kept = {"mode": self.mode, "system": self.system, "messages": list(self.messages)}
        came = {"reply": self.reply, "error": self.error}
        return kept | {name: text for name, text in came.items() if text is not None}

    @property
    def is_cut_off(self) -> bool:
        """Whether the run, or the worker that asked, ended before anything came."""
        return self.reply is None and self.error is None


@dataclass(frozen=True)
class Result:
    """What a worker found: a summary, or why there is none. ``inference`` is what was asked and answered, in order;
    ``usage`` is that of all of it, None where no model was asked; ``model``: who wrote it, where one did."""

    outcome: Literal["summary", "empty", "failed"]
    summary: str = ""
    reason: str = ""
    usage: Usage | None = None
    inference: tuple[SummaryRequest, ...] = ()
    model: str = ""


_OF_REQUEST = [field.name for field in fields(SummaryRequest)]
_OF_USAGE = [field.name for field in fields(Usage)]


@dataclass(frozen=True)
class Run:
    """One compaction."""

    id: str
    agent_id: AgentId
    trigger: Trigger
    strategy: str
    focus: str
    state: RunState
    turn_id: str | None
    status_slot: int
    stack: tuple[int, ...]
    plan: Mapping[str, Any]
    head: str
    model: str
    limit: int
    job_id: str | None
    jobs: int
    heartbeat_at: float | None
    result: Result | None
    meter_before: MeterRecord
    meter_after: MeterRecord | None
    reason: str
    started_at: float
    enqueued_at: float
    finished_at: float | None
    trace: str | None
    inference: tuple[SummaryRequest, ...] = ()
    """What workers asked for it, written down before it was sent, as long as its section is not."""
    record: list[Any] | None = None
    """Its section (:mod:`bot.store.traces.records`); ``trace`` is that of a run that an earlier version ended."""
    occasion: Occasion = ""

    @property
    def asked(self) -> tuple[SummaryRequest, ...]:
        """Each request for its summary; none where its section tells of them."""
        return self.inference or (self.result.inference if self.result else ())


@dataclass(frozen=True)
class NewRun:
    """What is known when a run begins."""

    id: str
    agent_id: AgentId
    trigger: Trigger
    strategy: str
    focus: str
    turn_id: str | None
    status_slot: int
    stack: tuple[int, ...]
    plan: Mapping[str, Any]
    head: str
    model: str
    limit: int
    meter_before: MeterRecord
    result: Result | None = None
    """Of a run whose summary was written before it began."""
    occasion: Occasion = ""


async def begin(tx: Tx, run: NewRun, *, now: float) -> None:
    """Write it down, planned."""
    await tx.execute(
        compactions.insert().values(
            id=run.id,
            agent_id=run.agent_id,
            trigger=run.trigger,
            strategy=run.strategy,
            focus=run.focus,
            state=RunState.PLANNED,
            turn_id=run.turn_id,
            status_slot=run.status_slot,
            stack=list(run.stack),
            plan=dict(run.plan),
            head=run.head,
            model=run.model,
            limit_tokens=run.limit,
            jobs=0,
            meter_before=run.meter_before.as_json(),
            result=_result_json(run.result) if run.result else None,
            reason="",
            started_at=now,
            enqueued_at=now,
            traced=False,
            occasion=run.occasion,
        )
    )


async def asked_by(tx: Tx, run: Run) -> tuple[str, str]:
    """The connector of a run's conversation, and the person whom it is for: whose message it is that a turn answers, or
    who said the last; empty where nobody has."""
    return await last_asked_by(tx, run.agent_id, turn=run.turn_id)


async def last_asked_by(tx: Tx, agent_id: AgentId, *, turn: str | None = None) -> tuple[str, str]:
    """The connector of a conversation, and who said the last in it, or in this turn; empty where nobody has."""
    connector = select(agents.c.connector).where(agents.c.id == agent_id)
    said = select(inbox.c.person).where(inbox.c.agent_id == agent_id)
    if turn:
        said = said.where(inbox.c.turn_id == turn)
    person = (await tx.execute(said.order_by(inbox.c.id.desc()).limit(1))).scalar_one_or_none()
    return (await tx.execute(connector)).scalar_one_or_none() or "", person or ""


async def get(tx: Tx, run_id: str) -> Run | None:
    """One run."""
    row = (await tx.execute(select(compactions).where(compactions.c.id == run_id))).mappings().one_or_none()
    return run_of(row) if row else None


async def open_run(tx: Tx, agent_id: AgentId) -> Run | None:
    """The run of this agent that has not ended, if any."""
    rows = await tx.execute(
        select(compactions).where(compactions.c.agent_id == agent_id, compactions.c.state.in_(OPEN))
    )
    row = rows.mappings().first()
    return run_of(row) if row else None


async def folds(tx: Tx, agent_id: AgentId) -> list[Run]:
    """The running summaries that were written for this agent lately, the newest first."""
    own = select(compactions).where(compactions.c.agent_id == agent_id, compactions.c.trigger == "rolling")
    done = own.where(compactions.c.state == RunState.DONE)
    query = done.order_by(compactions.c.started_at.desc()).limit(_MOST_FOLDS)
    return [run_of(row) for row in (await tx.execute(query)).mappings()]


async def last_extraction(tx: Tx, agent_id: AgentId) -> Run | None:
    """The newest one that a model was asked for what it makes of facts, and answered."""
    own = select(compactions).where(compactions.c.agent_id == agent_id, compactions.c.trigger == "facts")
    read = own.where(compactions.c.state.in_((RunState.DONE, RunState.EMPTY)))
    row = (await tx.execute(read.order_by(compactions.c.started_at.desc()).limit(1))).mappings().first()
    return run_of(row) if row else None


async def discard_errands(tx: Tx, agent_id: AgentId, *, now: float) -> None:
    """Somebody took words back that may stand in them: no compaction may find what was folded any more, and no memory
    what was extracted."""
    folded = and_(compactions.c.trigger == "rolling", compactions.c.state == RunState.DONE)
    usable = or_(compactions.c.state.in_(OPEN), folded)
    await tx.execute(
        update(compactions)
        .where(compactions.c.agent_id == agent_id, compactions.c.trigger.in_(ERRANDS), usable)
        .values(state=RunState.FAILED, reason="a message in it was taken back", result=None, finished_at=now)
    )


async def latest(tx: Tx, agent_id: AgentId, *, done: bool = False, before: float | None = None) -> Run | None:
    """The newest run of this agent that is no errand; with ``done``, whose layer is on the page; with ``before``, begun
    earlier."""
    query = select(compactions).where(compactions.c.agent_id == agent_id, compactions.c.trigger.not_in(ERRANDS))
    if done:
        on_the_page = select(layers.c.run_id).where(layers.c.agent_id == agent_id, layers.c.removed_at.is_(None))
        query = query.where(compactions.c.state == RunState.DONE, compactions.c.id.in_(on_the_page))
    if before is not None:
        query = query.where(compactions.c.started_at < before)
    row = (await tx.execute(query.order_by(compactions.c.started_at.desc()).limit(1))).mappings().first()
    return run_of(row) if row else None


async def count_quiet(tx: Tx, agent_id: AgentId, *, since: float) -> int:
    """How many this agent has had since then because its prompt cache was about to expire."""
    own = (compactions.c.agent_id == agent_id) & (compactions.c.started_at >= since)
    count = select(func.count()).where(own, compactions.c.occasion == "quiet")
    return int((await tx.execute(count)).scalar_one())


async def is_under_way(tx: Tx, agent_id: AgentId) -> bool:
    """Whether this agent has a run that has not ended and may say something."""
    own = compactions.c.agent_id == agent_id
    count = select(func.count()).where(own, compactions.c.state.in_(OPEN), compactions.c.trigger != "facts")
    return bool((await tx.execute(count)).scalar_one())


async def name_job(tx: Tx, run_id: str, job_id: str, *, now: float) -> bool:
    """From now on only this job may work on the run; False when the run has ended."""
    named = await tx.execute(
        update(compactions)
        .where(compactions.c.id == run_id, compactions.c.state.in_(OPEN))
        .values(job_id=job_id, jobs=compactions.c.jobs + 1, state=RunState.PLANNED, heartbeat_at=None, enqueued_at=now)
    )
    return named.rowcount == 1


async def heartbeat(tx: Tx, run_id: str, job_id: str, *, now: float) -> bool:
    """The worker lives. False: the run has ended or names another job, so this one has nothing to do any more."""
    beaten = await tx.execute(
        update(compactions)
        .where(compactions.c.id == run_id, compactions.c.job_id == job_id, compactions.c.state.in_(OPEN))
        .values(state=RunState.RUNNING, heartbeat_at=now)
    )
    return beaten.rowcount == 1


async def give_back(tx: Tx, run_id: str, job_id: str) -> bool:
    """The worker ends before its job has: the run may ask for another one. False when it does not want this one's
    result any more."""
    given_back = await tx.execute(
        update(compactions)
        .where(
            compactions.c.id == run_id,
            compactions.c.job_id == job_id,
            compactions.c.state.in_(OPEN),
            compactions.c.result.is_(None),
        )
        .values(job_id=None, state=RunState.PLANNED, heartbeat_at=None)
    )
    return given_back.rowcount == 1


async def note_request(tx: Tx, run_id: str, job_id: str | None, inference: Sequence[SummaryRequest]) -> bool:
    """The last of these is about to be sent. False: the run has ended or names another job, so nobody wants it."""
    noted = await tx.execute(
        update(compactions)
        .where(compactions.c.id == run_id, compactions.c.job_id == job_id, compactions.c.state.in_(OPEN))
        .values(inference=[request.as_json() for request in inference])
    )
    return noted.rowcount == 1


async def report(tx: Tx, run_id: str, job_id: str, result: Result) -> bool:
    """The worker's result; it counts only while the run is open and names this job."""
    written = await tx.execute(
        update(compactions)
        .where(compactions.c.id == run_id, compactions.c.job_id == job_id, compactions.c.state.in_(OPEN))
        .values(
            usage=asdict(result.usage) if result.usage else None,
            inference=[request.as_json() for request in result.inference] or None,
            result=_result_json(result),
            **({"model": result.model} if result.model else {}),
        )
    )
    return written.rowcount == 1


def _result_json(result: Result) -> dict[str, Any]:
    return {
        "outcome": result.outcome,
        "summary": result.summary,
        "reason": result.reason,
        "usage": asdict(result.usage) if result.usage else {},
        "inference": [],  # a process of the version before looks here
    }


async def end(
    tx: Tx, run_id: str, state: RunState, *, reason: str, meter_after: MeterRecord | None, now: float
) -> bool:
    """The run ends like this, if it has not ended otherwise before."""
    ended = await tx.execute(
        update(compactions)
        .where(compactions.c.id == run_id, compactions.c.state.in_(OPEN))
        .values(state=state, reason=reason, meter_after=meter_after.as_json() if meter_after else None, finished_at=now)
    )
    return ended.rowcount == 1


async def replan(tx: Tx, run_id: str, plan: Mapping[str, Any]) -> None:
    """Another plan was carried out than the one that the run began with."""
    await tx.execute(update(compactions).where(compactions.c.id == run_id).values(plan=dict(plan)))


async def weigh_again(tx: Tx, run_id: str, meter_before: MeterRecord) -> None:
    """The context is another one than when the run began."""
    await tx.execute(update(compactions).where(compactions.c.id == run_id).values(meter_before=meter_before.as_json()))


async def set_record(tx: Tx, run_id: str, record: Sequence[Any]) -> None:
    """Keep the run's section of the trace, which tells of its requests, too; the daily file is its projection."""
    await tx.execute(
        update(compactions).where(compactions.c.id == run_id).values(record=list(record), inference=null())
    )


async def traced(tx: Tx, run_id: str) -> None:
    """The section stands in the daily file."""
    await tx.execute(update(compactions).where(compactions.c.id == run_id).values(traced=True))


async def untraced(tx: Tx, agent_id: AgentId) -> list[Run]:
    """Runs that ended but whose section is not known to stand in the daily file, oldest first."""
    rows = await tx.execute(
        select(compactions)
        .where(
            compactions.c.agent_id == agent_id,
            compactions.c.traced.is_(False),
            compactions.c.state.not_in(OPEN),
        )
        .order_by(compactions.c.started_at)
    )
    return [run_of(row) for row in rows.mappings()]


def _result(found: Mapping[str, Any], inference: tuple[SummaryRequest, ...]) -> Result:
    used = {name: found["usage"][name] for name in _OF_USAGE if name in found["usage"]}
    return Result(found["outcome"], found["summary"], found["reason"], Usage(**used) if used else None, inference)


def run_of(row: RowMapping | Mapping[str, Any]) -> Run:
    """The run of a whole row of its table."""
    found = row["result"]
    asked = row.get("inference") or (found or {}).get("inference") or ()
    inference = tuple(SummaryRequest.from_json(request) for request in asked)
    return Run(
        id=row["id"],
        agent_id=AgentId(row["agent_id"]),
        trigger=row["trigger"],
        strategy=row["strategy"],
        focus=row["focus"],
        state=RunState(row["state"]),
        turn_id=row["turn_id"],
        status_slot=row["status_slot"],
        stack=tuple(row["stack"]),
        plan=row["plan"],
        head=row["head"],
        model=row["model"],
        limit=row["limit_tokens"],
        job_id=row["job_id"],
        jobs=row["jobs"],
        heartbeat_at=row["heartbeat_at"],
        result=_result(found, inference) if found else None,
        meter_before=MeterRecord.from_json(row["meter_before"]),
        meter_after=MeterRecord.from_json(row["meter_after"]) if row["meter_after"] else None,
        reason=row["reason"],
        started_at=row["started_at"],
        enqueued_at=row["enqueued_at"],
        finished_at=row["finished_at"],
        trace=row["trace"],
        inference=inference,
        record=row.get("record"),
        occasion=row.get("occasion", ""),
    )
