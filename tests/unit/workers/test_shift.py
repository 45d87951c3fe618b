"""Jobs whose worker lost Redis: what became of them is looked at, and only a defect is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from workers.shift import look_at


async def _fails(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "told"),
    [(RedisConnectionError("no answer"), []), (OSError("reset"), []), (RuntimeError("a defect"), ["job_crashed"])],
)
async def test_a_job_that_lost_redis_with_its_worker_is_no_error_of_its_own(error: Exception, told: list[str]) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    with capture_logs() as logs:
        job = asyncio.create_task(_fails(error))
        job.add_done_callback(look_at)
        await asyncio.wait({job})
        del job
    assert [line["event"] for line in logs] == told
    assert complaints == []


async def test_a_job_that_is_cut_off_says_nothing() -> None:
    with capture_logs() as logs:
        job = asyncio.create_task(asyncio.sleep(60))
        job.add_done_callback(look_at)
        job.cancel()
        await asyncio.wait({job})
    assert logs == []
