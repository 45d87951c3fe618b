"""A strict Anthropic Messages API server for tests, on loopback.

It refuses what the real one refuses, counts tokens by itself, keeps a prompt cache's
account, and remembers nothing between requests: its brain knows only what it can read.
On the same port it speaks Chat Completions as well (`tests.servers.chat`), with the same
brain, window and records.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable
from typing import Self

from aiohttp import web

from tests.servers.chat.endpoint import ChatEndpoint
from tests.servers.messages.brain import RememberingBrain, remembering_brain
from tests.servers.messages.cache import PromptCache
from tests.servers.messages.faults import (
    Cut,
    ErrorEvent,
    Fail,
    Garbage,
    Hang,
    Slow,
    StreamFaults,
)
from tests.servers.messages.rules import Rules, has_merged_roles
from tests.servers.messages.stream import Answer, answer
from tests.servers.messages.wire import (
    Brain,
    Json,
    MessagesRequest,
    Outcome,
    Record,
    Refused,
    Reply,
    ToolCall,
    Usage,
    count,
)

__all__ = [
    "Brain",
    "MessagesRequest",
    "MessagesServer",
    "Record",
    "Refused",
    "RememberingBrain",
    "Reply",
    "ToolCall",
    "Usage",
    "count",
    "remembering_brain",
]

MEBIBYTE = 1024 * 1024
LARGEST_BODY = 32 * MEBIBYTE


class MessagesServer(ChatEndpoint):
    """The server; `async with MessagesServer() as server`, then talk to `server.url`.

    `window` and `max_tokens` are tokens, `delta_delay` is seconds between two deltas,
    `pieces` is how many deltas a block is cut into. `key=None` lets everyone in. All of
    them may be changed while it runs.
    """

    def __init__(
        self,
        *,
        window: int = 200_000,
        max_tokens: int = 8192,
        brain: Brain | None = None,
        key: str | None = "test-key",
        port: int = 0,
        delta_delay: float = 0.0,
        pieces: int = 6,
    ) -> None:
        super().__init__()
        self.window = window
        self.max_tokens = max_tokens
        self.brain: Brain = brain or remembering_brain
        self.key = key
        self.port = port
        self.delta_delay = delta_delay
        self.pieces = pieces
        self.strict_roles = True
        self.prefill = True
        self.counts_for_others = True
        self.known_models: frozenset[str] | None = None
        self.cache = PromptCache()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        """Start listening."""
        app = web.Application(client_max_size=2 * LARGEST_BODY)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/messages/count_tokens", self._count_tokens)
        app.router.add_get("/v1/models/{id:.+}", self._model)
        self._add_chat_routes(app)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening, and cut whatever is still being answered."""
        self._closing = True
        assert self._runner is not None
        await self._runner.cleanup()

    def count(self, body: Json) -> int:
        """Tokens of a request by this server's own tokenizer."""
        return count(body)

    # --- requests ---

    async def _messages(self, http: web.Request) -> web.StreamResponse:
        record = await self._record(http, self.requests)
        try:
            return await self._answer(http, record)
        except Refused as refusal:
            return self._refuse(record, refusal)
        except (asyncio.CancelledError, ConnectionError):
            self._end(record, "cut" if self._closing else "hung_up")
            raise
        finally:
            self._end(record, "failed")  # only where nothing else ended it: a broken brain

    async def _answer(self, http: web.Request, record: Record) -> web.StreamResponse:
        request = record.request
        self._check(http, request)
        if fail := self._fault(Fail, request):
            return self._refuse(record, fail.error, "failed")
        if garbage := self._fault(Garbage, request):
            self._end(record, "failed", garbage.status)
            kind = garbage.kind or ("text/event-stream" if request.body.get("stream") else "application/json")
            return web.Response(body=garbage.body, status=garbage.status, content_type=kind, headers=garbage.headers)
        if slow := self._fault(Slow, request):
            await asyncio.sleep(slow.seconds)
        hang = self._fault(Hang, request)
        if hang and hang.after is None:
            await hang.released.wait()
        thought = self.brain(request)
        record.reply = await thought if isinstance(thought, Awaitable) else thought
        record.usage = self.cache.account(request.body)
        whole = answer(record.reply, request.body, record.usage, self.window)
        faults = StreamFaults(hang, self._fault(Cut, request), self._fault(ErrorEvent, request))
        if request.body.get("stream"):
            return await self._stream(http, record, whole, faults)
        if faults.cut:
            return self._cut(http, record, web.Response())
        if faults.error:
            return self._refuse(record, faults.error.error, "failed")
        record.usage = whole.usage
        self._end(record, "completed", 200)
        return web.json_response(whole.message(), headers=_headers(record))

    async def _stream(
        self, http: web.Request, record: Record, whole: Answer, faults: StreamFaults
    ) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream", "cache-control": "no-cache"}
        response = web.StreamResponse(headers=headers | _headers(record))
        await response.prepare(http)
        record.status = 200
        for event in whole.events(self.pieces):
            is_delta = event["type"] == "content_block_delta"
            if is_delta or event["type"] == "message_delta":
                # A fault that is set beyond the last delta comes right after it.
                reached = record.deltas if is_delta else sys.maxsize
                if faults.hang and reached >= (faults.hang.after or 0):
                    await faults.hang.released.wait()
                if faults.cut and reached >= faults.cut.after:
                    return self._cut(http, record, response)
                if faults.error and reached >= faults.error.after:
                    return await self._break(record, response, faults.error.error)
            if is_delta and record.deltas:
                await asyncio.sleep(self.delta_delay)
            if event["type"] == "message_stop":
                record.usage = whole.usage
                self._end(record, "completed")
            await _send(response, event)
            if is_delta:
                record.deltas += 1
                self.changed()
        return response

    async def _break(self, record: Record, response: web.StreamResponse, error: Refused) -> web.StreamResponse:
        record.error = error
        self._end(record, "failed")
        await _send(response, error.body(_headers(record)["request-id"]))
        return response

    async def _count_tokens(self, http: web.Request) -> web.StreamResponse:
        record = await self._record(http, self.counts)
        if not self.counts_for_others:
            return self._refuse(record, Refused("Not found", type="not_found_error"))
        try:
            self._check(http, record.request, counting=True)
        except Refused as refusal:
            return self._refuse(record, refusal)
        self._end(record, "completed", 200)
        return web.json_response({"input_tokens": record.request.tokens})

    async def _model(self, http: web.Request) -> web.StreamResponse:
        if "anthropic-version" not in http.headers and self.speaks_chat:
            return await self._chat_model(http)
        try:
            self._authenticate(http)
            self._check_model(http.match_info["id"])
        except Refused as refusal:
            return web.json_response(refusal.body("req_model"), status=refusal.status)
        return web.json_response(
            {
                "type": "model",
                "id": http.match_info["id"],
                "display_name": http.match_info["id"].replace("-", " ").title(),
                "created_at": "2026-01-01T00:00:00Z",
                "lifecycle": "active",
                "max_input_tokens": self.window,
                "max_tokens": self.max_tokens,
                "capabilities": None,
            }
        )

    # --- rules ---

    async def _record(self, http: web.Request, records: list[Record]) -> Record:
        try:
            body = json.loads(await http.read())
        except ValueError:
            body = None
        body = body if isinstance(body, dict) else {}
        request = MessagesRequest(
            body=body,
            index=len(records) + 1,
            tokens=count(body),
            merged_roles=has_merged_roles(body.get("messages")),
        )
        record = Record(request)
        records.append(record)
        self.changed()
        return record

    def _check(self, http: web.Request, request: MessagesRequest, *, counting: bool = False) -> None:
        self._authenticate(http)
        if (http.content_length or 0) > LARGEST_BODY:
            refusal = "Request exceeds the maximum size"
            raise Refused(refusal, type="request_too_large")
        if http.content_type != "application/json" or not request.body:
            raise Refused("The request body is not valid JSON")
        rules = Rules(self.window, self.max_tokens, self.strict_roles, self.prefill)
        rules.check(request.body, counting=counting)
        self._check_model(str(request.body["model"]))

    def _authenticate(self, http: web.Request) -> None:
        # The SDK sends its key as a bearer token (2.11), as x-api-key before that.
        bearer = http.headers.get("authorization", "").removeprefix("Bearer ")
        key = http.headers.get("x-api-key") or bearer
        if self.key is not None and not key:
            raise Refused("x-api-key header is required", type="authentication_error")
        if self.key is not None and key != self.key:
            raise Refused("invalid x-api-key", type="authentication_error")
        if "anthropic-version" not in http.headers:
            raise Refused("anthropic-version: header is required")

    def _check_model(self, model: str) -> None:
        if self.known_models is not None and model not in self.known_models:
            raise Refused(f"model: {model}", type="not_found_error")

    # --- ends ---

    def _refuse(self, record: Record, refusal: Refused, outcome: Outcome = "refused") -> web.Response:
        record.error = refusal
        self._end(record, outcome, refusal.status)
        headers = _headers(record)
        if refusal.retry_after is not None:
            headers["retry-after"] = f"{refusal.retry_after:g}"
        body = refusal.body(headers["request-id"])
        return web.json_response(body, status=refusal.status, headers=headers)

    def _cut(self, http: web.Request, record: Record, response: web.StreamResponse) -> web.StreamResponse:
        self._end(record, "cut")
        if http.transport is not None:
            http.transport.close()
        return response


def _headers(record: Record) -> dict[str, str]:
    return {"request-id": f"req_{record.request.index:06d}"}


async def _send(response: web.StreamResponse, event: Json) -> None:
    data = json.dumps(event, ensure_ascii=False)
    await response.write(f"event: {event['type']}\ndata: {data}\n\n".encode())
