"""The job of one run: asked for, watched, and given to another worker when the first one's heart stops."""

from __future__ import annotations

from contextlib import suppress

from bot.context import Context
from bot.errors import BusUnavailable
from bot.jobs import new_job_id
from bot.store import runs
from bot.store.runs import Run, RunState

_LOOK_SECONDS = 1.0
"""How often a run is looked at while nothing rings."""
_SILENT_SECONDS = 4.0
"""A worker that was not heard of for so long is dead: its heart beats every second."""
_NOBODY_SECONDS = 60.0
"""A job that no worker takes for so long has failed."""
_MOST_JOBS = 5


class Errand:
    """Gets a worker to write what a run wants. Everything it knows is in the run's row, so it can begin anywhere."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._services = context.services

    async def result(self, run: Run) -> Run | None:
        """The run once a worker has reported or a person has stopped it; None when no worker can be had."""
        async with self._services.bus.bell(f"run:{run.id}") as bell:
            while True:
                seen = await self._look(run.id)
                if seen.result or seen.state not in runs.OPEN:
                    return seen
                if not await self._has_worker(seen):
                    if seen.jobs >= _MOST_JOBS:
                        return None
                    await self._enqueue(seen)
                elif seen.state is RunState.PLANNED and self._age(seen.enqueued_at) > _NOBODY_SECONDS:
                    return None
                await bell.wait(_LOOK_SECONDS)

    async def _has_worker(self, run: Run) -> bool:
        if run.job_id is None:
            return False
        if run.state is RunState.RUNNING:
            return self._age(run.heartbeat_at or 0.0) <= _SILENT_SECONDS
        waited = self._age(run.enqueued_at)
        if waited <= _LOOK_SECONDS:
            return True
        try:
            place = await self._services.jobs.place(run.job_id)
        except BusUnavailable:
            return True  # nobody can be asked now; look again
        # Who takes a job beats at once: one that is taken and silent died in between, and arq keeps it for minutes.
        return place == "waiting" or (place == "taken" and waited <= _SILENT_SECONDS)

    async def _enqueue(self, run: Run) -> None:
        job_id = new_job_id()
        async with self._context.step() as step:
            named = await runs.name_job(step.tx, run.id, job_id, now=self._services.database.clock())
        if named:
            with suppress(BusUnavailable):  # the next look finds that Redis does not know the job
                await self._services.jobs.summarize(run.id, job_id)

    async def _look(self, run_id: str) -> Run:
        async with self._services.database.read() as tx:
            run = await runs.get(tx, run_id)
        assert run is not None
        return run

    def _age(self, then: float) -> float:
        return abs(self._services.database.clock() - then)
