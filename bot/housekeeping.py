"""Takes out of the queues what was settled long ago, so that they do not grow for ever. One host at a time does it."""

from __future__ import annotations

import asyncio
import random

import structlog

from bot.errors import BusUnavailable, StoreUnavailable
from bot.services import Services
from bot.store import settled

log = structlog.get_logger(__name__)

EVERY_SECONDS = 600.0
_A_DAY = 86_400.0
_PAUSE_SECONDS = 0.05
"""Between two transactions: others want to write, too."""
_LEASE = "housekeeping"


async def keep_house(services: Services) -> None:
    """Until cancelled. Returns at once where nothing is ever to be taken out."""
    kept = services.settings.retention.settled_days
    if not kept:
        return
    while True:
        await asyncio.sleep(EVERY_SECONDS * random.uniform(0.5, 1.0))
        try:
            gone = await _clean(services, services.database.clock() - kept * _A_DAY)
        except (StoreUnavailable, BusUnavailable) as error:
            log.warning("housekeeping_waits", reason=str(error))
        except Exception:  # a defect in here must not end the agents beside it
            log.exception("housekeeping_crashed")
        else:
            if gone:
                log.info("queues_cleaned", rows=gone)


async def _clean(services: Services, before: float) -> int:
    lease = services.bus.lease(_LEASE, EVERY_SECONDS)
    if not await lease.take():
        return 0
    total = 0
    try:
        while True:
            async with services.database.write() as tx:
                gone = await settled.forget(tx, before=before)
            total += gone
            if not gone:
                return total
            await asyncio.sleep(_PAUSE_SECONDS)
    finally:
        await lease.drop()
