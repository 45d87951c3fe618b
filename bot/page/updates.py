"""What is new, told to browsers as it happens: server-sent events, which say only that something changed.

The browser then asks for the page anew and takes from it what changed, so that there is one way to make a page. A
stream that was cut comes back by itself, with the last state that it knew.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import StreamingResponse

from bot.bus.bells import SWEEP_SECONDS
from bot.bus.topics import Topic
from bot.errors import StoreUnavailable
from bot.page.access.visitor import visitor_of
from bot.page.context import PageContext
from bot.page.refusal import Refused

MOST, MOST_OF_ONE = 200, 20
"""Streams of this process, and of one session."""
_RETRY_MILLISECONDS = 2_000
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class Updates:
    """The streams of this process."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._open: Counter[str] = Counter()

    def answer(self, request: Request, events: AsyncIterator[str]) -> StreamingResponse:
        """A stream of these events, each as :func:`event` makes it. Raises Refused when there are too many."""
        session = visitor_of(request).session
        if self._open.total() >= MOST or self._open[session] >= MOST_OF_ONE:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.", {"retry-after": "30"})
        counted = self._counted(session, events)
        return StreamingResponse(counted, media_type="text/event-stream", headers=_HEADERS)

    def changes(
        self, request: Request, topics: tuple[Topic, ...], state: Callable[[], Awaitable[str]], *, rest: float = 0.5
    ) -> StreamingResponse:
        """A stream that says when the ``state`` is another one than the browser knows. ``topics``: bells that ring
        when that may be so; ``rest``: seconds between two looks, what happens meanwhile is seen together."""
        return self.answer(request, self._changes(request, topics, state, rest))

    async def _changes(
        self, request: Request, topics: tuple[Topic, ...], state: Callable[[], Awaitable[str]], rest: float
    ) -> AsyncIterator[str]:
        visitor = visitor_of(request)
        seen = request.headers.get("last-event-id") or request.query_params.get("state", "")
        async with self._context.bus.bell(*topics) as bell:
            while True:
                await bell.wait(SWEEP_SECONDS)
                try:
                    if not await self._context.goes_on(visitor):
                        yield event("ended")
                        return
                    now = await state()
                except StoreUnavailable:
                    now = seen  # it is looked at again
                yield event("changed", identity=now) if now != seen else ":\n\n"
                seen = now
                await asyncio.sleep(rest)

    async def _counted(self, session: str, events: AsyncIterator[str]) -> AsyncIterator[str]:
        self._open[session] += 1
        try:
            yield f"retry: {_RETRY_MILLISECONDS}\n\n"
            async for one in events:
                yield one
        finally:
            self._open[session] -= 1
            self._open += Counter()  # forgets who has none


def event(kind: str, data: object = None, identity: str = "") -> str:
    """One event. ``data`` becomes JSON, which has no line breaks; ``identity`` comes back with a reconnect."""
    named = f"id: {identity}\n" if identity else ""
    return f"{named}event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
