"""What operators ask of all compactions: which there were, and what came of them. It reads no long column."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, RowMapping, func, select

from bot.compaction.statistics import Stats, statistics_of
from bot.compaction.trace import Lines, Section, appended
from bot.estimate.meter import MeterRecord
from bot.history import Usage
from bot.messages import AgentId
from bot.runtime.utc_day import bounds_of
from bot.store.runs import OPEN, Run, RunState, SummaryRequest
from bot.store.schema import compactions, layers
from bot.store.traces import records
from bot.store.traces.requests import asked_in
from bot.store.tx import Tx

if TYPE_CHECKING:
    from bot.compaction.plan import Trigger

MOST = 10_000
"""Compactions that one question is answered with, if it does not say how many."""


@dataclass(frozen=True)
class Ran:
    """One compaction in brief; :func:`bot.store.runs.get` has all of it. Times in seconds since 1970. ``undone``: its
    layer was taken off."""

    id: str
    agent_id: AgentId
    trigger: Trigger
    strategy: str
    focus: str
    state: RunState
    model: str
    reason: str
    turn: str | None
    jobs: int
    before: MeterRecord
    after: MeterRecord | None
    usage: Usage | None
    started_at: float
    finished_at: float | None
    undone: bool

    @property
    def stats(self) -> Stats | None:
        """The seven statistics, where it changed anything and its messages were counted."""
        return statistics_of(self.before, self.after)

    @property
    def is_open(self) -> bool:
        """Whether it is still under way."""
        return self.state in OPEN


@dataclass(frozen=True)
class Wanted:
    """Which compactions. ``since`` and ``until``: when they began, the latter not included; ``agents`` and ``ids``
    (of compactions): None for all."""

    agents: tuple[AgentId, ...] | None = None
    ids: tuple[str, ...] | None = None
    since: float | None = None
    until: float | None = None
    states: tuple[RunState, ...] | None = None
    triggers: tuple[Trigger, ...] | None = None
    strategies: tuple[str, ...] | None = None


@dataclass(frozen=True, order=True)
class Day:
    """A daily file of one agent; ``day`` as in its name, e.g. 20261121, in UTC."""

    agent_id: AgentId
    day: str

    @property
    def bounds(self) -> tuple[float, float]:
        """When it begins and when the next one does, in seconds since 1970."""
        return bounds_of(self.day)


_COLUMNS = [
    compactions.c[name]
    for name in (
        "id", "agent_id", "trigger", "strategy", "focus", "state", "model", "reason", "turn_id", "jobs",
        "meter_before", "meter_after", "usage", "started_at", "finished_at",
    )
]  # fmt: skip
_HAS_SECTION = compactions.c.record.is_not(None) | compactions.c.trace.is_not(None)
_LAYER = (layers.c.agent_id == compactions.c.agent_id) & (layers.c.run_id == compactions.c.id)


async def listed(tx: Tx, wanted: Wanted = Wanted(), *, most: int = MOST, offset: int = 0) -> list[Ran]:
    """Those compactions, the newest first."""
    newest = (compactions.c.started_at.desc(), compactions.c.id)
    # Found by their ids first: what is sorted, or only counted on the way to an offset, is then not read.
    ids = select(compactions.c.id).where(*_conditions(wanted)).order_by(*newest).limit(most).offset(offset)
    query = select(*_COLUMNS, layers.c.removed_at).outerjoin(layers, _LAYER).where(compactions.c.id.in_(ids))
    return [_ran(row) for row in (await tx.execute(query.order_by(*newest))).mappings()]


async def count(tx: Tx, wanted: Wanted = Wanted()) -> int:
    """How many those are."""
    found = await tx.execute(select(func.count()).select_from(compactions).where(*_conditions(wanted)))
    return int(found.scalar_one())


async def strategies(tx: Tx) -> list[str]:
    """The names of the strategies that ever compacted."""
    return sorted(row[0] for row in await tx.execute(select(compactions.c.strategy).distinct()))


async def days(tx: Tx, wanted: Wanted = Wanted()) -> list[Day]:
    """The daily files that these compactions stand in, sorted."""
    query = select(compactions.c.agent_id, compactions.c.started_at).where(*_conditions(wanted))
    rows = await tx.execute(query.where(_HAS_SECTION))
    return sorted({Day(AgentId(row[0]), f"{datetime.fromtimestamp(row[1], UTC):%Y%m%d}") for row in rows})


async def sections(tx: Tx, day: Day) -> list[Section | str]:
    """The sections of a daily file in their order; those that an earlier version wrote are texts."""
    since, until = day.bounds
    conditions = _conditions(Wanted(agents=(day.agent_id,), since=since, until=until))
    query = select(*records.COLUMNS).where(*conditions, _HAS_SECTION)
    rows = (await tx.execute(query.order_by(compactions.c.started_at, compactions.c.id))).mappings().all()
    found = [await records.section_of(tx, records.Kept.of(row)) for row in rows]
    return [section for section in found if section is not None]


async def file_of(tx: Tx, day: Day) -> str:
    """The text of a daily file."""
    page = Lines()
    return "".join(appended(section, page) for section in await sections(tx, day))


async def section_of(tx: Tx, run: Run) -> Section | str | None:
    """The section of a run; None where it has none yet."""
    return await records.section_of(tx, records.Kept.of_run(run))


async def asked_for(tx: Tx, run: Run) -> tuple[SummaryRequest, ...]:
    """Each request for the summary of a run, without secrets once it has a section."""
    section = await section_of(tx, run) if run.record else None
    return run.asked if section is None or isinstance(section, str) else asked_in(section)


async def called(tx: Tx, name: str) -> list[str]:
    """The ids of compactions that begin so; two at most, as more than one is too many."""
    found = select(compactions.c.id).where(compactions.c.id.startswith(name, autoescape=True))
    return [row[0] for row in await tx.execute(found.limit(2))]


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    table, conditions = compactions.c, list[ColumnElement[bool]]()
    if wanted.agents is not None:
        conditions.append(table.agent_id.in_(wanted.agents))
    if wanted.ids is not None:
        conditions.append(table.id.in_(wanted.ids))
    if wanted.since is not None:
        conditions.append(table.started_at >= wanted.since)
    if wanted.until is not None:
        conditions.append(table.started_at < wanted.until)
    if wanted.states is not None:
        conditions.append(table.state.in_(wanted.states))
    if wanted.triggers is not None:
        conditions.append(table.trigger.in_(wanted.triggers))
    if wanted.strategies is not None:
        conditions.append(table.strategy.in_(wanted.strategies))
    return conditions


def _ran(row: RowMapping) -> Ran:
    return Ran(
        id=row["id"],
        agent_id=AgentId(row["agent_id"]),
        trigger=row["trigger"],
        strategy=row["strategy"],
        focus=row["focus"],
        state=RunState(row["state"]),
        model=row["model"],
        reason=row["reason"],
        turn=row["turn_id"],
        jobs=row["jobs"],
        before=MeterRecord.from_json(row["meter_before"]),
        after=MeterRecord.from_json(row["meter_after"]) if row["meter_after"] else None,
        usage=Usage(**row["usage"]) if row["usage"] else None,
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        undone=row["removed_at"] is not None,
    )
