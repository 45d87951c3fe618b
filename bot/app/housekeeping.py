"""Takes away what is not kept for ever: rows of the queues that were settled long ago, and old daily files, which are
compressed before. And counts the words of what was said before they were counted.

One host at a time does it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import structlog

from bot.agent.compacting import daily_file, trace_files
from bot.agent.services import Services
from bot.bus.leases import HOUSEKEEPING
from bot.errors import BusUnavailable, StoreUnavailable
from bot.store import Database, appointments
from bot.store.archive import settled
from bot.store.money import budgets, ledger
from bot.store.money.limits import STRANDED_SECONDS
from bot.store.search import word_index

log = structlog.get_logger(__name__)

EVERY_SECONDS = HOUSEKEEPING.seconds
_A_DAY = 86_400.0
_PAUSE_SECONDS = 0.05
"""Between two transactions: others want to write, too."""
_COUNTED_AT_ONCE = 25
"""Entries, in one transaction."""


async def keep_house(services: Services) -> None:
    """Until cancelled. Where nothing is ever to be taken out, it only settles what was reserved, once all words are
    counted."""
    kept = services.settings.retention
    counted = False
    while True:
        try:
            counted = counted or await _count_words(services)
        except (StoreUnavailable, BusUnavailable) as error:
            log.warning("counting_words_waits", reason=str(error))
        await asyncio.sleep(EVERY_SECONDS * random.uniform(0.5, 1.0))
        try:
            await _settle(services)
            if kept.settled_days or kept.trace_files_days or kept.trace_compress_days or kept.ledger_days:
                await _clean(services)
        except (StoreUnavailable, BusUnavailable) as error:
            log.warning("housekeeping_waits", reason=str(error))


async def _count_words(services: Services) -> bool:
    """Of a book that an earlier version wrote; returns whether all is done. What a host leaves another goes on with."""
    async with services.database.read() as tx:
        if await word_index.all_counted(tx):
            return True
    lease = services.bus.lease(HOUSEKEEPING.name, HOUSEKEEPING.seconds)
    if not await lease.take():
        return False
    try:
        await count_words(services.database)
    finally:
        await lease.drop()
    return True


async def count_words(database: Database) -> None:
    """Some at a time."""
    total = 0
    while True:
        async with database.write() as tx:
            count = await word_index.count_older(tx, most=_COUNTED_AT_ONCE)
        if count is None:
            break
        total += count
        await asyncio.sleep(_PAUSE_SECONDS)
    log.info("words_counted", entries=total)


async def _settle(services: Services) -> None:
    """What a process reserved that is no more, and with which nobody went on."""
    async with services.database.write() as tx:
        if settled_rows := await ledger.close_stranded(tx, before=services.database.clock() - STRANDED_SECONDS):
            log.info("reservations_settled", rows=settled_rows)


async def _clean(services: Services) -> None:
    lease, kept = services.bus.lease(HOUSEKEEPING.name, HOUSEKEEPING.seconds), services.settings.retention
    if not await lease.take():
        return
    now = services.database.clock()
    try:
        if kept.settled_days and (gone := await _clean_queues(services, now - kept.settled_days * _A_DAY)):
            log.info("queues_cleaned", rows=gone)
        if kept.ledger_days and (gone := await _clean_ledger(services, now - kept.ledger_days * _A_DAY)):
            log.info("ledger_cleaned", rows=gone)
        if kept.trace_files_days:
            before = now - kept.trace_files_days * _A_DAY
            if files := await asyncio.to_thread(remove_trace_files, services.settings.data_dir, before):
                log.info("trace_files_removed", files=files)
        if kept.trace_compress_days:
            before = now - kept.trace_compress_days * _A_DAY
            if files := await asyncio.to_thread(compress_trace_files, services.settings.data_dir, before):
                log.info("trace_files_compressed", files=files)
    finally:
        await lease.drop()


async def _clean_queues(services: Services, before: float) -> int:
    total = 0
    while True:
        async with services.database.write() as tx:
            gone = await settled.forget(tx, before=before) + await appointments.clean(tx, before=before)
        total += gone
        if not gone:
            return total
        await asyncio.sleep(_PAUSE_SECONDS)


async def _clean_ledger(services: Services, before: float) -> int:
    async with services.database.write() as tx:
        await budgets.clean(tx, before=before)
    total = 0
    while True:
        async with services.database.write() as tx:
            gone = await ledger.clean(tx, before=before)
        total += gone
        if not gone:
            return total
        await asyncio.sleep(_PAUSE_SECONDS)


def remove_trace_files(data_dir: Path, before: float) -> int:
    """Take away the daily files of days that were over before this moment (seconds since 1970); returns how many. The
    book keeps what stands in them: `palimpsest traces rebuild --day` writes one again."""
    return _with_each(data_dir, before, daily_file.remove)


def compress_trace_files(data_dir: Path, before: float) -> int:
    """Compress the daily files of days that were over before this moment; returns how many."""

    def compress(path: Path) -> None:
        path.lstat()  # raises what the loop knows where it is compressed already
        daily_file.pack(path)

    return _with_each(data_dir, before, compress)


def _with_each(data_dir: Path, before: float, do: Callable[[Path], None]) -> int:
    count = 0
    for day in trace_files.days_on_disk(data_dir):
        with suppress(OSError, ValueError):  # a folder that is not ours; a name that is no day
            if day.bounds[1] <= before:
                do(trace_files.path_of(data_dir, day))
                count += 1
    return count
