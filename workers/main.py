"""The arq worker: ``palimpsest run --role worker`` or ``arq workers.main.WorkerSettings``."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from arq.worker import func

from bot.app.resources import Resources, jobs_at, open_resources
from bot.bus.events import SUMMARIZE
from bot.bus.jobs import SEEN_SECONDS, pack, queue_at, unpack
from bot.runtime import logs
from bot.runtime.checks import Check
from bot.runtime.settings import load_settings
from bot.runtime.settings_check import checked_settings, log_notes
from bot.runtime.shutdown import Shutdown
from bot.runtime.tasks import stop
from workers.desk import Desk
from workers.job import summarize
from workers.shift import Shift
from workers.vetting import clear

POLL_SECONDS = 0.2
"""What a job waits at most before it starts. Looking oftener costs each idle worker up to 1.5 % of a core."""
JOB_SECONDS = 900
MOST_JOBS = 10

_OPTIONS: dict[str, Any] = {
    "functions": [func(summarize, name=SUMMARIZE, max_tries=1, keep_result=0, timeout=JOB_SECONDS)],
    "poll_delay": POLL_SECONDS,
    "health_check_interval": SEEN_SECONDS,
    "job_serializer": pack,
    "job_deserializer": unpack,
    "max_tries": 1,  # the run's row decides about another try
    "log_results": False,
}


async def work(resources: Resources, shutdown: Shutdown | None = None, checks: dict[str, Check] | None = None) -> None:
    """Work inside this process until cancelled, or until its end: then the jobs under way may come to theirs.

    ``checks``: gets one that says whether jobs are taken.
    """
    shutdown = shutdown or Shutdown()
    desk = Desk.of(resources)
    queue = resources.bus.names.jobs
    shift = Shift(
        queue_at(resources.redis_url, queue),
        MOST_JOBS,
        resources.bus.garbage,
        ctx={"desk": desk},
        queue_name=queue,
        **_OPTIONS,
    )
    if checks is not None:
        checks["jobs"] = shift.check
    working = resources.bus.supervisor.start("jobs", shift.run)
    told = asyncio.create_task(shutdown.without_agents())
    try:
        await asyncio.wait({working, told}, return_when=asyncio.FIRST_COMPLETED)
        await shift.finish(shutdown.left)
    finally:
        try:
            await stop(working, told)
        finally:  # also where somebody has no patience: else jobs would go on with nobody to give their runs back
            await shift.close()


async def _start_up(ctx: dict[str, Any]) -> None:
    stack = ctx["stack"] = AsyncExitStack()
    resources = await stack.enter_async_context(open_resources(load_settings(), clear_leases=False))
    await clear(ctx["redis"], resources.bus.names.jobs, resources.bus.garbage)
    ctx["desk"] = Desk.of(resources)


async def _shut_down(ctx: dict[str, Any]) -> None:
    await ctx["stack"].aclose()


def __getattr__(name: str) -> Any:
    """``WorkerSettings`` is made when arq asks for it: an embedded Valkey has to run before arq connects to it."""
    if name != "WorkerSettings":
        raise AttributeError(name)
    settings, notes = checked_settings(("worker",))
    logs.configure(settings)
    log_notes(notes)
    url, queue = asyncio.run(jobs_at(settings))
    options = {
        **_OPTIONS,
        "queue_name": queue,
        "redis_pool": queue_at(url, queue),
        "max_jobs": MOST_JOBS,
        "job_completion_wait": round(settings.shutdown_seconds),
        "on_startup": _start_up,
        "on_shutdown": _shut_down,
    }
    return type("WorkerSettings", (), options)
