"""The job of one run: asked for, watched, and given to another worker when the first one's heart stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import structlog

from bot.agent.compacting.run_rows import RunRows
from bot.agent.context import Context
from bot.bus import topics
from bot.bus.bus import Bus
from bot.bus.jobs import SILENT_SECONDS, Jobs, new_job_id
from bot.errors import BusUnavailable, StoreUnavailable
from bot.store import runs
from bot.store.runs import Run, RunState

log = structlog.get_logger(__name__)

_LOOK_SECONDS = 1.0
"""How often a run is looked at while nothing rings."""
_NOBODY_SECONDS = 60.0
"""A job that no worker takes for so long has failed."""
_MOST_JOBS = 5


class Unchanged:
    """For how long we have seen the same value; ``clock`` gives seconds that only grow.

    What a worker wrote is not compared with our clock: theirs may be minutes off, or be set in between.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: object = self
        self._since = 0.0

    def seconds(self, value: object) -> float:
        """This is the value now."""
        if value != self._seen:
            self._seen, self._since = value, self._clock()
        return self._clock() - self._since


class SummaryJob:
    """Gets a worker to write what a run wants. Everything it knows is in the run's row, so it can begin anywhere."""

    def __init__(self, context: Context, rows: RunRows, bus: Bus, jobs: Jobs) -> None:
        self._context = context
        self._rows = rows
        self._bus = bus
        self._jobs = jobs
        self._beat, self._job = Unchanged(), Unchanged()

    async def result(self, run: Run) -> Run | None:
        """The run once a worker has reported or a person has stopped it; None when no worker can be had."""
        async with self._bus.bell(topics.run(run.id)) as bell:
            while True:
                try:
                    ended, found = await self._see(run.id)
                except StoreUnavailable as error:
                    log.warning("errand_waits", run=run.id, reason=str(error))
                else:
                    if ended:
                        return found
                await bell.wait(_LOOK_SECONDS)

    async def _see(self, run_id: str) -> tuple[bool, Run | None]:
        """Whether there is nothing more to wait for, and what has been found."""
        seen = await self._rows.look_at(run_id)
        if seen.result or seen.state not in runs.OPEN:
            return True, seen
        if not await self._has_worker(seen):
            if seen.jobs >= _MOST_JOBS:
                return True, None
            await self._enqueue(seen)
        elif seen.state is RunState.PLANNED and self._job.seconds(seen.job_id) > _NOBODY_SECONDS:
            return True, None
        return False, None

    async def _has_worker(self, run: Run) -> bool:
        if run.job_id is None:
            return False
        if run.state is RunState.RUNNING:
            return self._beat.seconds((run.job_id, run.heartbeat_at)) <= SILENT_SECONDS
        waited = self._job.seconds(run.job_id)
        if waited <= _LOOK_SECONDS:
            return True
        try:
            place = await self._jobs.place(run.job_id)
        except BusUnavailable:
            return True  # nobody can be asked now; look again
        # Who takes a job beats at once: one that is taken and silent died in between, and arq keeps it for minutes.
        return place == "waiting" or (place == "taken" and waited <= SILENT_SECONDS)

    async def _enqueue(self, run: Run) -> None:
        job_id = new_job_id()
        async with self._context.step() as step:
            named = await runs.name_job(step.tx, run.id, job_id, now=step.now)
        if named:
            with suppress(BusUnavailable):  # the next look finds that Redis does not know the job
                await self._jobs.summarize(run.id, job_id)
