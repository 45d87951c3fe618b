"""Enqueues jobs, by name. Nobody else here knows arq; `workers` runs what this asks for."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from redis.exceptions import RedisError

from bot.bus.events import SUMMARIZE, decode_job
from bot.bus.redis_names import RedisNames
from bot.bus.redis_pool import ANSWER_SECONDS, Client, pool_at
from bot.errors import BusUnavailable
from bot.runtime.tasks import to_the_end

if TYPE_CHECKING:
    from arq.connections import ArqRedis

SEEN_SECONDS = 10
"""How often a worker says that it is there, in a key of arq's that ends a second later."""
_SEEN = ":health-check"
HEARTBEAT_SECONDS = 1.0
"""How often the row of a run hears from the worker that has its job; arq keeps a job whose worker died for minutes."""
SILENT_SECONDS = 4.0
"""A worker that was not heard of for so long is dead, and its job is given to another one."""
Place = Literal["waiting", "taken", "gone"]
"""In the queue; with a worker, which may be dead by now; or unknown to Redis, which may have been wiped."""


def pack(job: dict[str, Any]) -> bytes:
    """What arq writes down of a job, as JSON: what is not JSON in it is an error's text."""
    return json.dumps(job, default=str).encode()


def unpack(data: bytes) -> dict[str, Any]:
    """A job as arq wants it. Raises Garbage for what is none of ours."""
    job = decode_job(data)
    return {"f": SUMMARIZE, "a": (job.run_id,), "k": {}, "t": job.tries, "et": job.asked_at_ms}


class Jobs:
    """The queue of an installation, over the Redis at ``url``."""

    def __init__(self, url: str, installation: str) -> None:
        self._url = url
        self._queue = RedisNames(installation).jobs
        self._pool: ArqRedis | None = None

    async def summarize(self, run_id: str, job_id: str) -> None:
        """Ask for the summary of a run. The id is new for each try: arq remembers ids of jobs that ended.

        Raises BusUnavailable.
        """
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._open().enqueue_job(SUMMARIZE, run_id, _job_id=job_id)
        except (RedisError, OSError) as error:
            raise BusUnavailable(f"The job cannot be enqueued: {error}") from error

    async def place(self, job_id: str) -> Place:
        """Where this job is. Raises BusUnavailable."""
        from arq.jobs import Job, JobStatus

        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status = await Job(job_id, self._open(), _queue_name=self._queue, _deserializer=unpack).status()
        except (RedisError, OSError) as error:
            raise BusUnavailable(f"The queue cannot be read: {error}") from error
        if status in (JobStatus.queued, JobStatus.deferred):
            return "waiting"
        return "taken" if status is JobStatus.in_progress else "gone"

    async def length(self) -> int:
        """Jobs that wait or are being worked on. Raises BusUnavailable."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return int(await self._open().zcard(self._queue))
        except (RedisError, OSError) as error:
            raise BusUnavailable(f"The queue cannot be read: {error}") from error

    async def has_worker(self) -> bool:
        """Whether a worker said within the last :data:`SEEN_SECONDS` that it is there. Raises BusUnavailable."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return bool(await self._open().exists(self._queue + _SEEN))
        except (RedisError, OSError) as error:
            raise BusUnavailable(f"The queue cannot be read: {error}") from error

    async def close(self) -> None:
        """Let go of connections."""
        if self._pool:
            await to_the_end(self._pool.aclose(close_connection_pool=True))

    def _open(self) -> ArqRedis:
        if self._pool is None:
            self._pool = queue_at(self._url, self._queue)
        return self._pool


def queue_at(url: str, queue: str) -> ArqRedis:
    """arq's view of the Redis at this URL, over connections like everybody's here: none is waited on for ever.

    Not by arq's own settings, which know neither the certificates of a URL nor its Sentinels' passwords.
    """
    from arq.connections import ArqRedis  # slow to import

    class Queue(Client, ArqRedis):  # type: ignore[misc]  # redis-py's own bases disagree
        """Workers, and whoever asks for a job, watch keys in pipelines, and are cancelled while they do."""

    return Queue(pool_or_conn=pool_at(url), job_serializer=pack, job_deserializer=unpack, default_queue_name=queue)


def new_job_id() -> str:
    """Never used before."""
    return uuid4().hex
