"""The jobs of one worker process: taken as long as it stays, and brought to their end when it goes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import structlog
from arq.connections import ArqRedis
from arq.worker import Worker
from redis.exceptions import RedisError

from bot.bus.garbage import GarbageCount
from bot.errors import NotReady
from bot.runtime.tasks import to_the_end
from workers.vetting import clear, vetted

log = structlog.get_logger(__name__)

_RESTART_SECONDS = 0.5
_SILENT_SECONDS = 2.0
_END_SECONDS = 1.0


class _Vetting(Worker):
    """arq's, for which the queue was looked at first."""

    def __init__(self, garbage: GarbageCount, **options: Any) -> None:
        super().__init__(**options)
        self._garbage = garbage
        self._vetted: dict[bytes, None] = {}
        """Jobs stay in the queue until they are done, and are not looked at again with every poll."""

    async def start_jobs(self, job_ids: list[bytes]) -> None:
        """See arq's."""
        new = [job_id for job_id in job_ids if job_id not in self._vetted]
        ours = await vetted(self.pool, self.queue_name, new, self._garbage)
        self._vetted = {job_id: None for job_id in job_ids if job_id in self._vetted} | dict.fromkeys(ours)
        await super().start_jobs([job_id for job_id in job_ids if job_id in self._vetted])


class Shift:
    """Works on a queue. ``options`` are arq's, ``most`` jobs at once."""

    def __init__(self, queue: ArqRedis, most: int, garbage: GarbageCount, **options: Any) -> None:
        self._queue = queue
        self._most = most
        self._garbage = garbage
        self._options = options
        self._worker: Worker | None = None
        self._is_listening = False
        self._jobs: set[asyncio.Task[Any]] = set()
        """Under way for workers that have lost Redis: they need it no more, since their results go into the book."""

    async def run(self) -> None:
        """Take jobs until cancelled. A Redis that goes away and comes back is waited for, and the jobs go on."""
        loop, tried = asyncio.get_running_loop(), 0.0
        while True:
            before, tried = tried, loop.time()
            worker = self._worker = _Vetting(
                self._garbage,
                redis_pool=self._queue,
                handle_signals=False,
                max_jobs=max(1, self._most - len(self._under_way)),
                **self._options,
            )
            try:
                await clear(self._queue, worker.queue_name, self._garbage)
                self._is_listening = True
                await worker.async_run()
            except (OSError, RedisError) as error:
                if loop.time() - before > _SILENT_SECONDS:  # said at the beginning, and not with every try
                    log.warning("worker_lost_redis", reason=str(error))
            finally:
                self._is_listening = False
                self._jobs = {*self._under_way}
                for job in worker.tasks.values():
                    job.add_done_callback(look_at)
            await asyncio.sleep(_RESTART_SECONDS)

    async def check(self) -> str | None:
        """How it stands, for whoever asks whether we are ready. Raises NotReady."""
        if not self._is_listening or (self._worker and not self._worker.allow_pick_jobs):
            raise NotReady("takes no jobs")
        jobs = len(self._under_way)
        return f"at work on {jobs}" if jobs else None

    async def finish(self, seconds: float) -> None:
        """Take no more jobs, and wait for those under way, but not longer than this."""
        if self._worker:
            self._worker.allow_pick_jobs = False
        if jobs := self._under_way:
            log.info("worker_finishes", jobs=len(jobs), seconds=round(seconds, 1))
            await asyncio.wait(jobs, timeout=seconds)

    async def close(self) -> None:
        """Cut off what is still under way: each job gives its run back, for another worker.

        Not by ``worker.close()``, which gives up at the first job that was cancelled and leaves its connections open.
        """
        await to_the_end(self._close())

    async def _close(self) -> None:
        jobs = self._under_way
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        # arq shields the end of a job, which is still being written to Redis.
        names = {"finish_job", "finish_failed_job"}
        if ending := [task for task in asyncio.all_tasks() if getattr(task.get_coro(), "__name__", "") in names]:
            await asyncio.wait(ending, timeout=_END_SECONDS)
            for task in ending:
                task.add_done_callback(look_at)
        with suppress(OSError, RedisError):
            await self._queue.aclose(close_connection_pool=True)

    @property
    def _under_way(self) -> set[asyncio.Task[Any]]:
        own = self._worker.tasks.values() if self._worker else ()
        return {job for job in (*self._jobs, *own) if not job.done()}


def look_at(job: asyncio.Task[Any]) -> None:
    """Its worker, which would have, is gone: a job that lost Redis too has nothing more to say than that."""
    error = None if job.cancelled() else job.exception()
    if error and not isinstance(error, OSError | RedisError):
        log.error("job_crashed", exc_info=error)
