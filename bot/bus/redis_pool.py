"""Connections to Redis as ``REDIS_URL`` names it: one server, by TLS or not, or the master that Sentinels know.

::

    redis://:password@host:6379/0                     rediss:// with TLS, unix:///path/of.sock
    redis+sentinel://:password@host:26379,host2:26379/mymaster/0       rediss+sentinel:// with TLS

What stands behind ``?`` is read as redis-py reads it (``ssl_ca_certs``, ``ssl_certfile``, ``ssl_keyfile``,
``ssl_cert_reqs``, ``ssl_check_hostname``); ``sentinel_username`` and ``sentinel_password`` are for the Sentinels.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.connection import (
    Connection,
    ConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
    parse_url,
)
from redis.asyncio.sentinel import (
    Sentinel,
    SentinelConnectionPool,
    SentinelManagedConnection,
    SentinelManagedSSLConnection,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

ANSWER_SECONDS = 5.0
"""A Redis that takes longer to answer cannot be reached: nobody waits for it for ever."""
_SENTINEL = "+sentinel"
_SENTINEL_PORT = 26379
_TIMES = {"socket_connect_timeout": 5, "health_check_interval": 30}


class _Bounded:
    """A connection that nobody waits on for ever.

    Not by redis-py's ``socket_timeout``, which sends under ``asyncio.wait_for``: that can swallow a cancellation
    (Python 3.11).
    """

    async def send_packed_command(self, *args: Any, **kwargs: Any) -> None:
        async with _limited():
            await super().send_packed_command(*args, **kwargs)  # type: ignore[misc]  # of the class beside it

    async def read_response(self, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        if timeout is not None:  # who names one waits for what may not come, as a subscriber does
            return await super().read_response(*args, timeout=timeout, **kwargs)  # type: ignore[misc]
        async with _limited():
            return await super().read_response(*args, **kwargs)  # type: ignore[misc]


class _NoAnswerError(RedisTimeoutError, RedisConnectionError):
    """Both, because redis-py's pipelines let go of their connection only after a connection that failed."""


@asynccontextmanager
async def _limited() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            yield
    except TimeoutError as error:
        raise _NoAnswerError("no answer") from error


class _Plain(_Bounded, Connection):
    pass


class _Tls(_Bounded, SSLConnection):
    pass


class _Unix(_Bounded, UnixDomainSocketConnection):
    pass


class _Master(_Bounded, SentinelManagedConnection):
    pass


class _TlsMaster(_Bounded, SentinelManagedSSLConnection):
    pass


_KINDS = {Connection: _Plain, SSLConnection: _Tls, UnixDomainSocketConnection: _Unix}


class _Pipeline(Pipeline):
    """Gives its connection back however it ends.

    redis-py's says first, over the connection, that it watches no more; cancelled while it waits for the answer to
    that, or for another connection to say it over, it would keep the one it has.
    """

    async def reset(self) -> None:
        """See redis-py's."""
        connection = self.connection
        if connection and not connection.is_connected:
            self.watching = False  # what was watched went with the connection
        try:
            await super().reset()  # type: ignore[no-untyped-call]
        finally:
            if connection and self.connection:
                self.connection, self.watching, self.explicit_transaction = None, False, False
                # Nothing below waits, so that no other cancellation can come in between.
                await connection.disconnect(nowait=True)
                await self.connection_pool.release(connection)


class Client(Redis):
    """redis-py's, with pipelines whose users may be cancelled."""

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:  # noqa: FBT001, FBT002  # redis-py's signature
        """See redis-py's."""
        return _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


class _MasterPool(SentinelConnectionPool):
    """Lets go of the Sentinels too when it is closed."""

    async def disconnect(self, inuse_connections: bool = True) -> None:  # noqa: FBT001, FBT002  # redis-py's signature
        await super().disconnect(inuse_connections)
        if inuse_connections:
            for sentinel in self.sentinel_manager.sentinels:
                await sentinel.aclose()


def pool_at(url: str) -> ConnectionPool:
    """Connections to the Redis at this URL; none is made yet. Raises ValueError for a URL of another kind."""
    if _SENTINEL in urlsplit(url).scheme:
        return _by_sentinels(url)
    known: dict[str, Any] = _checked(dict(parse_url(url)))
    kind = known.pop("connection_class", Connection)
    return ConnectionPool(connection_class=_KINDS[kind], **{**_TIMES, **known})


def _by_sentinels(url: str) -> ConnectionPool:
    parts = urlsplit(url)
    scheme = parts.scheme.removesuffix(_SENTINEL)
    name, _, database = parts.path.strip("/").partition("/")
    people, _, places = parts.netloc.rpartition("@")
    sentinels = [_place(place) for place in places.split(",") if place]
    if not (sentinels and name):
        raise ValueError("a URL of Sentinels names at least one host, and the master: redis+sentinel://host:26379/name")
    query = f"?{parts.query}" if parts.query else ""
    known: dict[str, Any] = _checked(dict(parse_url(f"{scheme}://{people}@host/{database}{query}")))
    tls = known.pop("connection_class", Connection) is SSLConnection
    login = {key: known.pop(f"sentinel_{key}", None) for key in ("username", "password")}
    ssl = {key: value for key, value in known.items() if key.startswith("ssl_")}
    del known["host"]
    manager = Sentinel([])  # type: ignore[no-untyped-call]
    manager.sentinels = [
        Redis.from_pool(ConnectionPool(_Tls if tls else _Plain, host=host, port=port, **login, **ssl, **_TIMES))
        for host, port in sentinels
    ]
    kind = _TlsMaster if tls else _Master
    return _MasterPool(  # type: ignore[no-untyped-call]
        unquote(name), manager, connection_class=kind, **{**_TIMES, **known}
    )


def _place(text: str) -> tuple[str, int]:
    place = urlsplit(f"//{text}")
    if not place.hostname:
        raise ValueError(f"{text!r} is no host")
    return place.hostname, place.port or _SENTINEL_PORT


def _checked(known: dict[str, Any]) -> dict[str, Any]:
    """A certificate is one of the host that we called, unless the URL says that it need not be (redis-py 5 does not
    look)."""
    if known.get("connection_class") is SSLConnection and known.get("ssl_cert_reqs") not in ("none", "optional"):
        known.setdefault("ssl_check_hostname", True)
    return known
