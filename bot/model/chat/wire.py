"""HTTP to one Chat Completions endpoint: questions with an answer at once, and answers that come in chunks.

Chunks stay the JSON that they came as, since most endpoints differ from what is written of them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bot.errors import Cause, ModelRefused
from bot.runtime.tls import trusted

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0
_AGENT = "palimpsest"
_EVENTS = "text/event-stream"
_LARGEST_EVENT = 64_000_000
"""Bytes of one event: a whole answer, with a picture in it, may come as one."""
_AT_ONCE = 1_000
"""Connections, far more than are ever asked at once (:data:`bot.model.calls.MOST_CALLS`)."""
_END = "[DONE]"
_LAST_SECONDS = 0.2
"""For the end of an answer behind the word that it is over."""


class StatusError(Exception):
    """An answer that is an error by its ``status_code``. ``body``: its JSON, of an object that has an ``error`` that;
    or its text."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"Error code: {response.status_code}")
        self.message = str(self)
        self.response = response
        self.status_code = response.status_code
        body = _json_of(response.text.strip())
        self.body = body.get("error", body) if isinstance(body, dict) else body


class Connection:
    """To the endpoint at this base URL. ``headers`` and ``query`` go with each request; ``silence``: seconds for which
    nothing may come.

    Nothing is sent that is not said here. The first request raises ModelRefused for an address or a key that cannot be.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], query: Mapping[str, str], *, silence: float) -> None:
        self._base_url = base_url
        self._headers = headers
        self._query = query
        self._silence = silence

    async def get(self, path: str, *, seconds: float) -> Any:
        """The JSON that is there, or the text that is none. Raises StatusError, and httpx2.HTTPError."""
        response = await self._client.get(path, timeout=seconds)
        if not response.is_success:
            raise StatusError(response)
        return _json_of(response.text)

    @asynccontextmanager
    async def post(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[Chunks]:
        """The answer to this; it is given up at the end of the block. Raises StatusError, and httpx2.HTTPError."""
        request = self._client.build_request("POST", path, json=body)
        response = await self._client.send(request, stream=True)
        try:
            if not response.is_success:
                await response.aread()
                raise StatusError(response)
            yield Chunks(response)
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Let go of what is connected."""
        if "_client" in vars(self):
            await self._client.aclose()

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        try:
            return httpx2.AsyncClient(
                base_url=self._base_url,
                params=self._query,
                headers={"Accept": "application/json", "User-Agent": _AGENT, **self._headers},
                timeout=httpx2.Timeout(self._silence, connect=CONNECT_SECONDS),
                limits=httpx2.Limits(max_connections=_AT_ONCE),
                follow_redirects=True,
                verify=trusted(),
            )
        except (httpx2.InvalidURL, OSError, ValueError) as error:
            raise ModelRefused(f"The model cannot be used: {error}", cause=Cause.AWAY) from error


class Chunks:
    """What comes of one answer, once. ``ended``: the endpoint said that nothing follows."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.ended = False

    async def __aiter__(self) -> AsyncIterator[Any]:
        """What is streamed; of an endpoint that does not stream, its whole answer. Raises ValueError for what is not
        JSON, and httpx2.HTTPError where it breaks off."""
        import httpx2

        kind = self._response.headers.get("content-type", _EVENTS)
        if kind.startswith("application/json"):
            whole = json.loads(await self._response.aread())
            self.ended = True
            yield whole
            return
        if kind.startswith("text/html"):
            raise ValueError("a page")
        self._response.headers["content-type"] = _EVENTS  # some call it plain text, or nothing
        events = aiter(httpx2.EventSource(self._response, max_event_size=_LARGEST_EVENT))
        async for event in events:
            if event.data.startswith(_END):
                self.ended = True
                break
            if event.data.strip():  # some keep a connection alive by empty ones
                yield json.loads(event.data)
        with suppress(
            TimeoutError, httpx2.HTTPError
        ):  # only a connection that is read to its end serves the next request
            async with asyncio.timeout(_LAST_SECONDS):
                async for _ in events:
                    pass


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
