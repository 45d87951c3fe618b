"""Each fault that operators have to hear of makes its alert ring, in a real Prometheus, and ends with an answer.

`make alerts` runs it and prints what was told to whom, and when. It takes some minutes.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import pytest_asyncio

from tests.alerts.rig import Rig, Told, fill, make_room, open_rig
from tests.servers.prometheus import needs_prometheus

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
    needs_prometheus,
]
_HEAD = ("fault", "alert", "severity", "until it fires", "answered again after", "ADMINS read", "people read")
_TOLD: dict[str, tuple[str, Told]] = {}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """One for all: what was broken is mended."""
    async with open_rig(tmp_path_factory.mktemp("alerts")) as rig:
        yield rig


@pytest.fixture(scope="module", autouse=True)
def table(request: pytest.FixtureRequest) -> Iterator[None]:
    """What it all came to, below the tests."""
    yield
    rows = [(*_HEAD,), ("---",) * len(_HEAD)]
    for fault, (alert, told) in _TOLD.items():
        read = (" / ".join(texts).replace("\n", " ") or "nothing" for texts in (told.admins, told.people))
        rows.append((fault, alert, told.severity, f"{told.seconds:.0f} s", f"{told.answered_after:.0f} s", *read))
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter
    for row in rows:
        reporter.write_line(f"| {' | '.join(row)} |")


async def broken(
    rig: Rig, fault: str, alert: str, begin: Callable[[], Awaitable[object]], end: Callable[[], Awaitable[object]]
) -> Told:
    told = await rig.breaks(alert, begin, end)
    _TOLD[fault] = (alert, told)
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


async def test_a_wrong_key(rig: Rig) -> None:
    key = rig.model.key

    def use(other: str | None) -> None:
        rig.model.key = other

    await broken(rig, "wrong key", "PalimpsestKeyRefused", here(lambda: use("another")), here(lambda: use(key)))


async def test_no_credit(rig: Rig) -> None:
    said = "Your credit balance is too low to access the Anthropic API."
    begin = here(lambda: rig.model.fail(400, "invalid_request_error", said, times=None))
    await broken(rig, "no credit", "PalimpsestNoCredit", begin, here(rig.model.clear_faults))


async def test_an_unknown_model(rig: Rig) -> None:
    begin = here(lambda: rig.model.fail(404, "not_found_error", "model: claude-sonnet-5", times=None))
    await broken(rig, "unknown model", "PalimpsestModelUnknown", begin, here(rig.model.clear_faults))


async def test_a_provider_that_is_away(rig: Rig) -> None:
    end = here(rig.provider.restore)
    await broken(rig, "provider away", "PalimpsestProviderAway", here(rig.provider.cut), end)


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
