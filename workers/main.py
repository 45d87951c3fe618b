"""The arq worker: ``palimpsest run --role worker`` or ``arq workers.main.WorkerSettings``."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import Any

import structlog
from arq.connections import RedisSettings
from arq.worker import Worker, func
from redis.exceptions import RedisError

from bot import logs
from bot.jobs import QUEUE, SUMMARIZE, pack, unpack
from bot.parts import Parts, open_parts, redis_url
from bot.settings import load_settings
from workers.desk import Desk
from workers.summarize import summarize

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.05
"""What a job waits before it starts; 1.8 % of a core when idle."""
JOB_SECONDS = 900
MOST_JOBS = 10
_RESTART_SECONDS = 0.5

_OPTIONS: dict[str, Any] = {
    "functions": [func(summarize, name=SUMMARIZE, max_tries=1, keep_result=0, timeout=JOB_SECONDS)],
    "queue_name": QUEUE,
    "poll_delay": POLL_SECONDS,
    "max_jobs": MOST_JOBS,
    "job_serializer": pack,
    "job_deserializer": unpack,
    "max_tries": 1,  # the run's row decides about another try
    "log_results": False,
}


async def work(parts: Parts) -> None:
    """Work inside this process until cancelled; a Redis that goes away and comes back is waited for."""
    desk = Desk(parts.database, parts.bus, parts.model, parts.settings.data_dir)
    while True:
        worker = Worker(
            redis_settings=RedisSettings.from_dsn(parts.redis_url),
            handle_signals=False,
            ctx={"desk": desk},
            **_OPTIONS,
        )
        try:
            await worker.async_run()
        except (OSError, RedisError) as error:
            log.warning("worker_lost_redis", reason=str(error))
        finally:
            await _close(worker)
        await asyncio.sleep(_RESTART_SECONDS)


async def _close(worker: Worker) -> None:
    """Its jobs are cancelled with it: their runs miss their heartbeat and are given to another job.

    Not by ``worker.close()``, which gives up at the first job that was cancelled and leaves its connections open.
    """
    tasks = list(worker.tasks.values())
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if worker.pool is not None:
        with suppress(OSError, RedisError):
            await worker.pool.aclose(close_connection_pool=True)


async def _start_up(ctx: dict[str, Any]) -> None:
    stack = ctx["stack"] = AsyncExitStack()
    parts = await stack.enter_async_context(open_parts(load_settings(), clear_leases=False))
    ctx["desk"] = Desk(parts.database, parts.bus, parts.model, parts.settings.data_dir)


async def _shut_down(ctx: dict[str, Any]) -> None:
    await ctx["stack"].aclose()


def __getattr__(name: str) -> Any:
    """``WorkerSettings`` is made when arq asks for it: an embedded Valkey has to run before arq connects to it."""
    if name != "WorkerSettings":
        raise AttributeError(name)
    settings = load_settings()
    logs.configure(settings)
    url = asyncio.run(redis_url(settings))
    options = {**_OPTIONS, "redis_settings": RedisSettings.from_dsn(url)}
    return type("WorkerSettings", (), {**options, "on_startup": _start_up, "on_shutdown": _shut_down})
