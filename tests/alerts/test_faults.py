"""Each fault that operators have to hear of makes its alert ring, in a real Prometheus, and ends with an answer.

`make alerts` runs it and prints what was told to whom, and when. It takes some minutes.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from tests.alerts.rig import TOLD, Rig, Told, fill, make_room, open_rig
from tests.servers.prometheus import needs_prometheus

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
    needs_prometheus,
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """One for all: what was broken is mended."""
    async with open_rig(tmp_path_factory.mktemp("alerts")) as rig:
        yield rig


async def broken(
    rig: Rig, fault: str, alert: str, begin: Callable[[], Awaitable[object]], end: Callable[[], Awaitable[object]]
) -> Told:
    told = await rig.breaks(alert, begin, end)
    TOLD[fault, alert] = told
    return told


def at_once(act: Callable[[], object]) -> Callable[[], Awaitable[object]]:
    """As something to be awaited."""

    async def acted() -> object:
        return await asyncio.to_thread(act)

    return acted


def here(act: Callable[[], object]) -> Callable[[], Awaitable[object]]:
    """The same, in this thread: servers of tests are no one else's."""

    async def acted() -> object:
        return act()

    return acted


def tells_admins_why(told: Told, why: str) -> None:
    """Whoever runs it reads the cause, once; everybody else reads that they know."""
    begun = [one for one in told.admins if "cannot answer anybody" in one]
    assert len(begun) == 1
    assert why in begun[0]
    assert any("whoever runs me has been told" in one for one in told.people)
    assert not any(why in one for one in told.people)


async def test_a_wrong_key(rig: Rig) -> None:
    key = rig.model.key

    def use(other: str | None) -> None:
        rig.model.key = other

    begin, end = here(lambda: use("another")), here(lambda: use(key))
    tells_admins_why(await broken(rig, "wrong key", "PalimpsestKeyRefused", begin, end), "ANTHROPIC_API_KEY")


async def test_no_credit(rig: Rig) -> None:
    said = "Your credit balance is too low to access the Anthropic API."
    begin = here(lambda: rig.model.fail(400, "invalid_request_error", said, times=None))
    told = await broken(rig, "no credit", "PalimpsestNoCredit", begin, here(rig.model.clear_faults))
    tells_admins_why(told, "credit balance")


async def test_an_unknown_model(rig: Rig) -> None:
    begin = here(lambda: rig.model.fail(404, "not_found_error", "model: claude-sonnet-5", times=None))
    told = await broken(rig, "unknown model", "PalimpsestModelUnknown", begin, here(rig.model.clear_faults))
    tells_admins_why(told, "does not know the model")


async def test_a_provider_that_is_away(rig: Rig) -> None:
    end = here(rig.provider.restore)
    told = await broken(rig, "provider away", "PalimpsestProviderAway", here(rig.provider.cut), end)
    tells_admins_why(told, "cannot be reached")


async def test_a_postgresql_that_is_away(rig: Rig) -> None:
    end = rig.postgres.start
    await broken(rig, "PostgreSQL away", "PalimpsestDatabaseDown", at_once(rig.postgres.kill), end)


async def test_a_redis_that_is_away(rig: Rig) -> None:
    begin = here(lambda: rig.valkey.send(signal.SIGKILL))
    await broken(rig, "Redis away", "PalimpsestRedisDown", begin, rig.valkey.start)


async def test_a_postgresql_without_room(rig: Rig) -> None:
    if (tables := rig.tables) is None:
        pytest.skip("no file system can be mounted here")
    begin, end = at_once(lambda: fill(tables)), at_once(lambda: make_room(tables))
    await broken(rig, "PostgreSQL full", "PalimpsestDatabaseRefuses", begin, end)


async def test_a_disk_without_room(rig: Rig) -> None:
    if (disk := rig.disk) is None:
        pytest.skip("no file system can be mounted here")
    begin, end = at_once(lambda: fill(disk)), at_once(lambda: make_room(disk))
    await broken(rig, "disk full", "PalimpsestDiskFull", begin, end)


async def test_a_postgresql_that_is_read_only(rig: Rig) -> None:
    async def make(value: str) -> None:
        await rig.sql(f"ALTER SYSTEM SET default_transaction_read_only = {value}", "SELECT pg_reload_conf()")

    await broken(rig, "PostgreSQL read-only", "PalimpsestDatabaseRefuses", lambda: make("on"), lambda: make("off"))


async def test_a_platform_that_refuses_the_token(rig: Rig) -> None:
    token = rig.telegram.token

    async def give_back() -> None:
        rig.telegram.token = token
        if rig.gateway.process.returncode is not None:  # as whatever runs it would
            await rig.programs.serve("gateway", HTTP_BIND=rig.address)

    def take() -> None:
        rig.telegram.token = "4200:another"

    await broken(rig, "platform refuses the token", "PalimpsestDown", here(take), give_back)
