"""The job: take a run, write its summary (or what a model makes of facts) into its own row, change nothing else.

It may be run twice, late, or by a zombie: it works only as long as the run's row names it, and the row forgets it the
moment that the run is aborted, or given to another job because this one's heart stopped.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import structlog

from bot.bus import topics
from bot.bus.jobs import HEARTBEAT_SECONDS
from bot.errors import StoreUnavailable
from bot.runtime.tasks import stop
from bot.store import runs
from bot.store.money import ledger
from bot.store.runs import Result, Run
from workers.bill import RunBill
from workers.desk import Desk
from workers.extraction import extract_facts
from workers.summary import write_summary

log = structlog.get_logger(__name__)

GIVE_BACK_SECONDS = 2.0


async def summarize(ctx: dict[str, Any], run_id: str) -> None:
    """Write the summary of a run (arq calls this)."""
    desk: Desk = ctx["desk"]
    job_id: str = ctx["job_id"]
    try:
        await _summarize(desk, run_id, job_id)
    except StoreUnavailable as error:  # it will be missed, and asked for again
        log.warning("store_unavailable", run=run_id, reason=str(error))
    except asyncio.CancelledError:  # this worker ends before its job has
        await asyncio.shield(_give_back(desk, run_id, job_id))
        raise


async def _summarize(desk: Desk, run_id: str, job_id: str) -> None:
    if not await _beat(desk, run_id, job_id):
        return
    async with desk.database.read() as tx:
        run = await runs.get(tx, run_id)
    if run is None:
        return
    with structlog.contextvars.bound_contextvars(agent=run.agent_id, run=run_id, turn=run.turn_id):
        bill = await desk.bill(run)
        own = await desk.for_conversation(bill)
        try:
            async with desk.database.write() as tx:
                await ledger.close(tx, run.agent_id, run=run.id)  # a worker before this one was killed while it asked
            result = await _write(own, run, job_id)
        except asyncio.CancelledError:
            await asyncio.shield(_book(desk, bill))
            raise
        if result is None:
            await _book(desk, bill)
            log.info("summary_given_up")
            return
        counted = await _report(desk, run_id, job_id, result, bill)
        desk.bus.ring(topics.run(run_id))
        used = asdict(result.usage) if result.usage else {}
        log.info("summary_written", outcome=result.outcome, counted=counted, **used)


async def _book(desk: Desk, bill: RunBill) -> None:
    """What was spent on what nobody wants any more was spent all the same."""
    with suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(GIVE_BACK_SECONDS), desk.database.write() as tx:
            await bill.book(tx)
        bill.booked()


async def _report(desk: Desk, run_id: str, job_id: str, result: Result, bill: RunBill) -> bool:
    """Whether the run wanted it. A book that is away is waited for: what was written has cost something."""
    while True:
        try:
            async with desk.database.write() as tx:
                await bill.book(tx)
                wanted = await runs.report(tx, run_id, job_id, result)
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
            await asyncio.sleep(HEARTBEAT_SECONDS)
            continue
        bill.booked()
        bill.limits.lines.given_back()
        return wanted


async def _give_back(desk: Desk, run_id: str, job_id: str) -> None:
    """Let the run ask for another job at once, and not when this one's heart is missed."""
    with suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(GIVE_BACK_SECONDS), desk.database.write() as tx:
            given_back = await runs.give_back(tx, run_id, job_id)
        if given_back:
            log.info("summary_given_back", run=run_id)
            desk.bus.ring(topics.run(run_id))


async def _write(desk: Desk, run: Run, job_id: str) -> Result | None:
    """The result, or None when the run does not want it any more; the model's stream is closed then."""
    writing = asyncio.create_task((extract_facts if run.trigger == "facts" else write_summary)(desk, run))
    beating = asyncio.create_task(_beat_on(desk, run.id, job_id))
    try:
        await asyncio.wait({writing, beating}, return_when=asyncio.FIRST_COMPLETED)
        if writing.done():
            return writing.result()
        beating.result()  # where it broke
        return None
    finally:
        await stop(writing, beating)


async def _beat_on(desk: Desk, run_id: str, job_id: str) -> None:
    """Beat until the run does not name this job any more. An abort rings, so that it is noticed at once."""
    async with desk.bus.bell(topics.run(run_id)) as bell:
        while True:
            await bell.wait(HEARTBEAT_SECONDS)
            with suppress(StoreUnavailable):
                if not await _beat(desk, run_id, job_id):
                    return


async def _beat(desk: Desk, run_id: str, job_id: str) -> bool:
    async with desk.database.write() as tx:
        return await runs.heartbeat(tx, run_id, job_id, now=desk.database.clock())
