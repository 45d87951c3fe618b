"""Takes away what is not kept for ever: rows of the queues that were settled long ago, and old daily files.

One host at a time does it.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path

import structlog

from bot.agent.compacting import trace_files
from bot.agent.services import Services
from bot.bus.leases import HOUSEKEEPING
from bot.errors import BusUnavailable, StoreUnavailable
from bot.store.archive import settled

log = structlog.get_logger(__name__)

EVERY_SECONDS = HOUSEKEEPING.seconds
_A_DAY = 86_400.0
_PAUSE_SECONDS = 0.05
"""Between two transactions: others want to write, too."""


async def keep_house(services: Services) -> None:
    """Until cancelled. Where nothing is ever to be taken out, it only waits."""
    kept = services.settings.retention
    while True:
        await asyncio.sleep(EVERY_SECONDS * random.uniform(0.5, 1.0))
        if not (kept.settled_days or kept.trace_files_days):
            continue
        try:
            await _clean(services)
        except (StoreUnavailable, BusUnavailable) as error:
            log.warning("housekeeping_waits", reason=str(error))


async def _clean(services: Services) -> None:
    lease, kept = services.bus.lease(HOUSEKEEPING.name, HOUSEKEEPING.seconds), services.settings.retention
    if not await lease.take():
        return
    now = services.database.clock()
    try:
        if kept.settled_days and (gone := await _clean_queues(services, now - kept.settled_days * _A_DAY)):
            log.info("queues_cleaned", rows=gone)
        if kept.trace_files_days:
            before = now - kept.trace_files_days * _A_DAY
            if files := await asyncio.to_thread(remove_trace_files, services.settings.data_dir, before):
                log.info("trace_files_removed", files=files)
    finally:
        await lease.drop()


async def _clean_queues(services: Services, before: float) -> int:
    total = 0
    while True:
        async with services.database.write() as tx:
            gone = await settled.forget(tx, before=before)
        total += gone
        if not gone:
            return total
        await asyncio.sleep(_PAUSE_SECONDS)


def remove_trace_files(data_dir: Path, before: float) -> int:
    """Take away the daily files of days that were over before this moment (seconds since 1970); returns how many. The
    book keeps what stands in them: `palimpsest traces rebuild --day` writes one again."""
    count = 0
    for day in trace_files.days_on_disk(data_dir):
        with suppress(OSError, ValueError):  # a folder that is not ours; a name that is no day
            if day.bounds[1] <= before:
                trace_files.path_of(data_dir, day).unlink()
                count += 1
    return count
