"""The leak check finds what it looks for."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys

import pytest
from redis.asyncio import Redis

from bot.bus.redis_names import RedisNames
from bot.runtime.shutdown import Shutdown
from bot.runtime.tasks import stop
from tests.leaks import lasting_keys, own_tasks
from tests.unit import leaving


async def test_a_task_of_the_program_that_goes_on_is_found_and_one_that_ended_is_not() -> None:
    before = own_tasks()
    going_on = asyncio.create_task(Shutdown().wait())
    ended = asyncio.create_task(asyncio.sleep(0))
    await ended
    assert own_tasks() - before == {going_on}
    await stop(going_on)
    assert own_tasks() == before


async def test_a_key_that_nothing_takes_away_is_found(external_valkey: str) -> None:
    async with Redis.from_url(external_valkey) as redis:
        await redis.set("passes", "1", ex=60)
        await redis.zadd(RedisNames("test").jobs, {"a job": 1})
        assert await lasting_keys(redis) == []
        await redis.set("stays", "1")
        assert await lasting_keys(redis) == ["stays"]


@pytest.mark.rest
def test_a_test_answers_for_what_it_leaves_to_the_collector_and_no_other_does(external_valkey: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider", leaving.__file__],
        capture_output=True,
        env={**os.environ, "VALKEY_OF_THE_TESTS": external_valkey.removeprefix("unix://")},
        text=True,
        check=False,
    )
    blamed = re.findall(r"^(?:ERROR|FAILED) .*::test_(\w+)", ran.stdout, re.MULTILINE)
    assert sorted(blamed) == ["leaves_a_connection", "leaves_a_socket", "leaves_a_transport"], ran.stdout
