"""What is said of a run that ended: its line in the log, its numbers, and its section of the trace.

The section is kept in the book, and from there it goes into the daily file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

import structlog

from bot.agent.compacting.daily_file import write
from bot.agent.compacting.trace import redacted, render
from bot.agent.context import Context
from bot.bus import topics
from bot.bus.bus import Bus
from bot.compaction.plan import Trigger
from bot.compaction.statistics import statistics_of
from bot.compaction.trace import Section
from bot.estimate.meter import Level, Meter
from bot.model import Head
from bot.runtime.telemetry import TracedCompaction, telemetry
from bot.store import Database, facts, histories, runs
from bot.store.operators import traces
from bot.store.runs import Occasion, Run, RunState
from bot.store.traces import records

log = structlog.get_logger(__name__)


class RunReport:
    """The runs of one agent. ``folder``: where its daily files are; ``secrets``: what no trace may hold."""

    def __init__(self, context: Context, database: Database, bus: Bus, folder: Path, secrets: Collection[str]) -> None:
        self._context = context
        self._database = database
        self._bus = bus
        self._folder = folder
        self._secrets = secrets

    async def ended(self, run: Run) -> None:
        """Say everywhere that it has."""
        _tell(run)
        await self.record(run)
        self._bus.ring(topics.settled(self._context.agent_id))

    async def record(self, run: Run) -> None:
        """Write a run's section to the book and then to the daily file, once.

        A full disk costs the file, not the agent: the section is written when the agent starts the next time.
        """
        section = await self._kept(run)
        if section is None:
            section = await self._keep(run)
        try:
            await asyncio.to_thread(write, self._folder, run, section)
        except OSError as error:
            telemetry.not_written("trace")
            log.warning("trace_not_written", run=run.id, reason=str(error))
            return
        async with self._context.step() as step:
            await runs.traced(step.tx, run.id)

    async def _kept(self, run: Run) -> Section | str | None:
        """Its section, where the book has one."""
        async with self._database.read() as tx:
            return await traces.section_of(tx, run)

    async def _keep(self, run: Run) -> Section:
        """Its section, which the book has from now on; and the notices of the memory that stand in it are told."""
        agent_id = self._context.agent_id
        async with self._database.read() as tx:
            head = Head.from_json(await histories.head(tx, run.head))
            previous = await runs.latest(tx, agent_id, done=True, before=run.started_at)
            layer = await histories.layer_of_run(tx, agent_id, run.id)
            inserted = await histories.inserted_by(tx, agent_id, layer) if layer is not None else ()
            memory = (await facts.get(tx, agent_id)).told
            sources = await records.sources_of(tx, run)
        said = previous.result.summary if previous and previous.result else None

        def put_together() -> tuple[Section, records.Record]:
            text = render(run, tools=head.tools, previous_summary=said, layer=layer, memory=memory, inserted=inserted)
            section = redacted(text, self._secrets)
            return section, records.record_of(section, sources)

        section, record = await asyncio.to_thread(put_together)
        async with self._context.step() as step:
            await runs.set_record(step.tx, run.id, record)
            await facts.take_told(step.tx, agent_id, memory)
        return section


def count(run: Run, state: RunState, now: float, strategy: str, after: int | None = None) -> None:
    """Count its end, once that is committed. ``after``: tokens, where something was changed."""
    telemetry.compaction_ended(
        trigger=run.trigger,
        outcome=state,
        strategy=strategy,
        seconds=now - run.started_at,
        before=run.meter_before.total,
        after=after,
    )
    telemetry.traced(
        TracedCompaction(
            run.id,
            turn=run.turn_id,
            agent=run.agent_id,
            trigger=run.trigger,
            strategy=strategy,
            outcome=state,
            seconds=now - run.started_at,
            before=run.meter_before.total,
            after=after,
        )
    )


def tell_begun(run_id: str, trigger: Trigger, meter: Meter, level: Level, occasion: Occasion = "") -> None:
    """Log its beginning, and why."""
    why = {
        "auto": f"level {level.value} reached",
        "ahead": "the prompt cache is about to expire" if occasion == "quiet" else "close to the first level",
        "manual": "a person asked for it",
        "recovery": "context window limit exceeded",
        "rolling": "talk became old",
        "facts": "enough was said to read it for facts",
    }[trigger]
    reason = "context window limit exceeded" if meter.over else why
    log.info("compaction_started", run=run_id, trigger=trigger, reason=reason, total=meter.total, limit=meter.limit)


def _tell(run: Run) -> None:
    """Log its end, with what was changed, if anything was."""
    counts = statistics_of(run.meter_before, run.meter_after)
    log.info(
        "compaction_ended",
        run=run.id,
        trigger=run.trigger,
        outcome=run.state.value,
        reason=run.reason or None,
        before=run.meter_before.total,
        after=(run.meter_after or run.meter_before).total,
        removed=counts["removed"] if counts else 0,
        reduction_percent=counts["reductionPercent"] if counts else 0.0,
        tokens_saved=counts["tokensSaved"] if counts else 0,
    )
    if counts:
        log.debug("compaction_statistics", run=run.id, **counts)
