"""An endpoint that answers exactly the bytes that a test wants, for the shapes that no strict server would send."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from tests.until import until

DONE = b"data: [DONE]\n\n"
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Answer:
    """``hangs``: after these bytes nothing comes, and the connection stays open; ``begins=False``: no byte comes."""

    data: bytes = b""
    status: int = 200
    kind: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    begins: bool = True


def streamed(chunks: Sequence[Any], end: bytes = DONE, **more: Any) -> Answer:
    """Chunks as events; bytes as they are."""
    events = [chunk if isinstance(chunk, bytes) else f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    return Answer(b"".join(events) + end, **more)


def said(text: str, **more: Any) -> Json:
    """One chunk with words."""
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None, **more}]}


def ended(reason: str | None = "stop") -> Json:
    """The chunk that says why it ended."""
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def refused(status: int, body: Any, **headers: str) -> Answer:
    """An error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps(body).encode(), status, "application/json", named)


class Endpoint:
    """``answer`` decides on each request."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answer: Callable[[Asked], Answer] = lambda _: streamed([said("Hello."), ended()])
        self.hangups = 0
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Its base URL."""
        assert self._server
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()

    async def wait_for(self, is_so: Callable[[Endpoint], Any]) -> None:
        """Until it is so."""
        await until(lambda: is_so(self))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            data = await reader.readexactly(int(headers.get("content-length", 0)))
            asked = Asked(first.split()[1], headers, json.loads(data) if data else None)
            self.asked.append(asked)
            answer = self.answer(asked)
            named = {"content-type": answer.kind, "connection": "close", **answer.headers}
            lines = [f"HTTP/1.1 {answer.status} Any", *(f"{name}: {value}" for name, value in named.items())]
            if answer.begins:
                writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + answer.data)
                await writer.drain()
            if answer.hangs:
                await reader.read()
                self.hangups += 1
        finally:
            writer.close()
