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
_MOST_MOVES = 3
_ERROR_SECONDS = 5.0
"""For the words of an error."""
_END = "[DONE]"
_LAST_SECONDS = 0.2
"""For the end of an answer behind the word that it is over."""


class StatusError(Exception):
    """An answer that is an error by its ``status_code``. ``body``: the JSON of its ``text``, of an object that has an
    ``error`` that; or the text."""

    def __init__(self, response: httpx2.Response, text: str) -> None:
        super().__init__(f"Error code: {response.status_code}")
        self.message = str(self)
        self.response = response
        self.status_code = response.status_code
        body = _json_of(text.strip())
        self.body = body.get("error", body) if isinstance(body, dict) else body


class Connection:
    """To the endpoint at this base URL. ``headers`` and ``query`` go with each request; ``silence``: seconds for which
    nothing may come.

    It goes through a proxy that the environment names, and elsewhere only on the same host: neither the key nor what is
    said is for another. The first request raises ModelRefused for an address, a proxy or a key that cannot be.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], query: Mapping[str, str], *, silence: float) -> None:
        self._base_url = base_url
        self._headers = headers
        self._query = query
        self._silence = silence

    async def get(self, path: str, *, seconds: float) -> Any:
        """The JSON that is there, or the text that is none. Raises StatusError, and httpx2.HTTPError."""
        async with self._answered(self._client.build_request("GET", path, timeout=seconds)) as response:
            return _json_of((await response.aread()).decode("utf-8", "replace"))

    @asynccontextmanager
    async def post(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[Chunks]:
        """The answer to this; it is given up at the end of the block. Raises StatusError, and httpx2.HTTPError."""
        async with self._answered(self._client.build_request("POST", path, json=body)) as response:
            yield Chunks(response)

    @asynccontextmanager
    async def _answered(self, request: httpx2.Request) -> AsyncIterator[httpx2.Response]:
        """The answer to it, whose body was not read yet. Raises StatusError for an error."""
        response = await self._client.send(request, stream=True)
        try:
            for _ in range(_MOST_MOVES):
                further = response.next_request
                if not further or (further.method, further.url.host) != (request.method, request.url.host):
                    break
                await response.aclose()
                response = await self._client.send(further, stream=True)
            if not response.is_success:
                place = response.headers.get("location", "")
                raise StatusError(response, f"It has moved to {place}." if place else await _text(response))
            yield response
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
                verify=trusted(),
            )
        except (httpx2.InvalidURL, OSError, ValueError, ImportError) as error:  # the last: a proxy of another kind
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


async def _text(response: httpx2.Response) -> str:
    """Of an error, whose status says most."""
    import httpx2

    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_ERROR_SECONDS):
            await response.aread()
            return response.text
    return ""


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
