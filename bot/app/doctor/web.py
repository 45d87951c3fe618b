"""Plain HTTP with a short patience. What servers say of the time is remembered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp

PATIENCE = 4.0
"""Seconds for one answer."""
_MOST_BYTES = 1_000_000


class Unreachable(Exception):
    """No HTTP answer; the text says why, without the address (which may hold a token)."""


@dataclass(frozen=True)
class Answer:
    """A status, and the body where it is JSON (else None)."""

    status: int
    body: Any

    def get(self, name: str, default: Any = None) -> Any:
        """A field of the body."""
        return self.body.get(name, default) if isinstance(self.body, dict) else default


class Web:
    """``clock`` gives seconds since 1970."""

    def __init__(self, session: aiohttp.ClientSession, clock: Callable[[], float]) -> None:
        self._session = session
        self._clock = clock
        self.ahead: dict[str, float] = {}
        """By host: how many seconds our clock is ahead of its."""

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> Answer:
        """Raises Unreachable."""
        return await self._ask("GET", url, patience, headers=headers, params=query)

    async def post(self, url: str, body: Any, *, headers: Mapping[str, str] | None = None) -> Answer:
        """Of what is sent as JSON. Raises Unreachable."""
        return await self._ask("POST", url, PATIENCE, headers=headers, json=body)

    async def _ask(self, method: str, url: str, patience: float, **options: Any) -> Answer:
        limit = aiohttp.ClientTimeout(total=patience)
        try:
            async with self._session.request(method, url, timeout=limit, allow_redirects=False, **options) as answer:
                self._look_at_clock(urlsplit(url).hostname or "", answer.headers.get("Date", ""))
                return Answer(answer.status, _json(await answer.content.read(_MOST_BYTES)))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreachable(_reason(error, patience)) from error

    async def first_words(self, url: str, *, patience: float = PATIENCE) -> Any:
        """The first JSON message that a WebSocket brings. Raises Unreachable."""
        try:
            limit = aiohttp.ClientWSTimeout(ws_close=1.0)
            async with asyncio.timeout(patience), self._session.ws_connect(url, timeout=limit) as socket:
                return _json((await socket.receive()).data)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreachable(_reason(error, patience)) from error

    def _look_at_clock(self, host: str, date: str) -> None:
        try:
            self.ahead[host] = self._clock() - parsedate_to_datetime(date).timestamp()
        except ValueError:
            return


def _json(content: Any) -> Any:
    try:
        return json.loads(content)
    except (TypeError, ValueError):
        return None


def _reason(error: Exception, patience: float) -> str:
    match error:
        case TimeoutError():
            return f"no answer within {patience:.0f} s"
        case aiohttp.ClientConnectorCertificateError():
            return f"its certificate is not valid ({error.certificate_error})"
        case aiohttp.ClientConnectorDNSError():
            return f"the name {error.host} is not known"
        case aiohttp.ClientConnectorError():
            return f"{error.host}:{error.port} does not take connections ({error.strerror or 'no reason given'})"
        case aiohttp.InvalidURL():
            return "its address is not a URL"
        case aiohttp.WSServerHandshakeError():
            return f"it answers {error.status} and opens no WebSocket"
    return f"the connection broke off ({type(error).__name__})"
