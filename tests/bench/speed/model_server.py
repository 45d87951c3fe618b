"""A server of the Messages API for benches: answers at once in 20 deltas, and notes when it was asked and when it
was done.

`python -m tests.bench.speed.model_server` prints its port. Its answers name the messages that it answers,
so that a final text can be found again. `/bench/records` tells what it noted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import dataclass, field
from functools import partial

from tests.bench.speed.marks import END, SLOWLY, nonce_of, numbers_in
from tests.bench.speed.wire import Connection, Json, serve_until_told

DELTAS = 20
_LAST_SAID = b'"user"'
_SUMMARISE = b"Write the summary "
_SLOW_DELTAS = 400
_SLOW_SECONDS = 0.05
_WORDS = " and so it goes on, word by word,"
_SUMMARY = "## Task\nThe person chats, and wants short answers.\n## Done\nAll requests so far were answered.\n"
_BYTES_A_TOKEN = 3
"""As many as English text has with the newer models."""
_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nrequest-id: req_bench\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def _event(name: str, **values: object) -> bytes:
    """One event of a stream, as one chunk. https://platform.claude.com/docs/en/build-with-claude/streaming"""
    data = b"event: %s\ndata: %s\n\n" % (name.encode(), json.dumps({"type": name, **values}).encode())
    return b"%x\r\n%s\r\n" % (len(data), data)


def _delta(text: str) -> bytes:
    return _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


_BEGIN_BLOCK = _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
_WORDS_DELTA = _delta(_WORDS)
_END_DELTA = _delta(f" {END.decode()}")
_END_BLOCK = _event("content_block_stop", index=0)
_END_MESSAGE = _event("message_stop") + b"0\r\n\r\n"


@dataclass
class Asked:
    """One request; seconds of the system-wide monotonic clock, 0.0 for what has not happened."""

    kind: str
    numbers: list[int]
    """The messages that it answers, or summarises."""
    size: int
    """Bytes of the request."""
    arrived: float
    done: float = 0.0
    closed: float = 0.0
    """When the client went away before it was done."""


@dataclass
class Model:
    """``summary_seconds`` is how long a summary takes, ``window`` what the model says of itself, in tokens."""

    window: int
    summary_seconds: float
    asked: list[Asked] = field(default_factory=list)
    _streams: set[asyncio.Task[None]] = field(default_factory=set)

    def serve(self, client: Connection, path: str, body: bytes) -> None:
        """One request."""
        if path.startswith("/bench/"):
            answer = getattr(self, path.removeprefix("/bench/"))(**json.loads(body or b"{}"))
            client.answer(json.dumps(answer).encode())
        elif path.startswith("/v1/models/"):
            client.answer(json.dumps(self._info(path)).encode())
        elif path.startswith("/v1/messages/count_tokens"):
            client.answer(b'{"input_tokens":%d}' % (len(body) // _BYTES_A_TOKEN))
        else:
            self._answer(client, body)

    def records(self, since: int = 0) -> Json:
        """The requests from number ``since`` on."""
        return {"asked": [vars(one) for one in self.asked[since:]], "next": len(self.asked)}

    def summarises(self, since: int) -> bool:
        """Whether a summary is being written, among the requests from number ``since`` on."""
        return any(one.kind == "summary" and not one.done for one in self.asked[since:])

    def forget(self) -> None:
        """Start the notes anew."""
        self.asked = []

    def _info(self, path: str) -> Json:
        return {
            "id": path.rsplit("/", 1)[1],
            "type": "model",
            "display_name": "Bench",
            "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": self.window,
            "max_tokens": 1_000,
        }

    def _answer(self, client: Connection, body: bytes) -> None:
        asked = Asked("reply", [], len(body), time.monotonic())
        self.asked.append(asked)
        new = body[body.rfind(_LAST_SAID) + 1 :]
        if _SUMMARISE in new:
            asked.kind, asked.numbers = "summary", numbers_in(body)
            self._stream(client, asked, [_delta(_SUMMARY)], self.summary_seconds)
            return
        asked.numbers = numbers_in(new)
        first = _delta(" ".join(map(nonce_of, asked.numbers)))
        if SLOWLY in new:
            asked.kind = "slow"
            self._stream(client, asked, [first, *[_WORDS_DELTA] * (_SLOW_DELTAS - 2), _END_DELTA], _SLOW_SECONDS)
            return
        client.write(_HEAD + self._begin(asked))
        for piece in (first, *[_WORDS_DELTA] * (DELTAS - 2), _END_DELTA):
            client.write(piece)
        client.write(self._end(DELTAS * 10))
        asked.done = time.monotonic()

    def _stream(self, client: Connection, asked: Asked, pieces: list[bytes], seconds: float) -> None:
        task = asyncio.get_running_loop().create_task(self._drip(client, asked, pieces, seconds))
        self._streams.add(task)
        client.on_lost = partial(self._lost, asked, task)
        task.add_done_callback(self._streams.discard)

    async def _drip(self, client: Connection, asked: Asked, pieces: list[bytes], seconds: float) -> None:
        """``seconds`` before each piece."""
        client.write(_HEAD + self._begin(asked))
        for piece in pieces:
            await asyncio.sleep(seconds)
            client.write(piece)
        client.write(self._end(len(pieces) * 10))
        asked.done = time.monotonic()
        client.on_lost = None

    @staticmethod
    def _lost(asked: Asked, task: asyncio.Task[None]) -> None:
        asked.closed = time.monotonic()
        task.cancel()

    @staticmethod
    def _begin(asked: Asked) -> bytes:
        usage = {"input_tokens": asked.size // _BYTES_A_TOKEN, "output_tokens": 1}
        message: Json = {"id": "msg_bench", "type": "message", "role": "assistant", "model": "bench", "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
        return _event("message_start", message=message) + _BEGIN_BLOCK

    def _end(self, output: int) -> bytes:
        delta = {"stop_reason": "end_turn", "stop_sequence": None}
        return _END_BLOCK + _event("message_delta", delta=delta, usage={"output_tokens": output}) + _END_MESSAGE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--window", type=int, default=200_000)
    parser.add_argument("--summary-seconds", type=float, default=0.0)
    chosen = parser.parse_args()
    asyncio.run(serve_until_told(Model(chosen.window, chosen.summary_seconds).serve))


if __name__ == "__main__":
    main()
