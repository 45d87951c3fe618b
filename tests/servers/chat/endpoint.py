"""The routes of Chat Completions, for a server that has a brain, a window and records."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import Awaitable
from typing import Any

from aiohttp import web

from tests.servers.chat.manners import OPENAI, Manner
from tests.servers.chat.model_pages import ModelPages
from tests.servers.chat.prefixes import Prefixes, usage_of
from tests.servers.chat.reading import as_messages, cut_to
from tests.servers.chat.refusals import ChatRefused, body_of, error_of
from tests.servers.chat.rules import ChatRules
from tests.servers.chat.shapes import CREATED, Extras, Shape, calls_of, chunks, finish_of, reasoning_of
from tests.servers.messages.faults import Cut, ErrorEvent, Fail, Faults, Garbage, Hang, Slow, StreamFaults, When
from tests.servers.messages.records import Records
from tests.servers.messages.stream import Answer, answer
from tests.servers.messages.wire import Brain, Json, MessagesRequest, Outcome, Record, Refused, count, tokens_of_text


class ChatEndpoint(Faults, Records):
    """Mixed into the server. ``manner``: as which provider it behaves; ``shape``: of its streams, in place of that
    provider's own; ``reasoning``: what it thinks before each answer, where its provider shows that."""

    brain: Brain
    window: int
    max_tokens: int
    key: str | None
    pieces: int
    delta_delay: float
    known_models: frozenset[str] | None
    port: int

    def __init__(self) -> None:
        super().__init__()
        self.manner: Manner = OPENAI
        self.shape: Shape | None = None
        self.reasoning = "First I look at what was asked."
        self.lists_to_everybody = False
        """Whoever asks which models there are needs no key."""
        self.listed: frozenset[str] = frozenset()
        """What its list of models has besides its own; it answers in the place of every other one as well."""
        self.takes_tools = True
        self.speaks_chat = True
        self._prefixes = Prefixes()
        self._pages = ModelPages(self)
        self._closing = False

    @property
    def url(self) -> str:
        """The base URL for a client of the Messages API."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def chat_url(self) -> str:
        """The base URL for a client of this wire."""
        return self.url + self.manner.base

    def fail_as(self, kind: str, *, times: int | None = 1, when: When | None = None) -> None:
        """Answer with this provider's own error of a kind: ``rate``, ``quota``, ``key``, ``model``, ``overloaded``."""
        self._faults.append(Fail(when, times, self._worded(kind)))

    def break_stream_as(self, kind: str = "stream", *, after: int = 1, times: int | None = 1) -> None:
        """Break off with this provider's own error after so many deltas."""
        self._faults.append(ErrorEvent(None, times, after, self._worded(kind)))

    def _worded(self, kind: str, **values: object) -> ChatRefused:
        known: dict[str, object] = {"prompt": 0, "answer": 0, "total": 0, "room": 0, "window": self.window}
        return self.manner.wording(kind).refusal(
            **{**known, "model": self.manner.model, "key": "", "path": "", **values}
        )

    def _add_chat_routes(self, app: web.Application) -> None:
        app.router.add_post("/{base:.*}chat/completions", self._chat)
        self._pages.add_to(app)

    async def _chat_model(self, http: web.Request) -> web.StreamResponse:
        return await self._pages.model(http)

    # --- requests ---

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        try:
            body = json.loads(await http.read())
        except ValueError:
            body = None
        body = body if isinstance(body, dict) else {}
        read = as_messages(body)
        request = MessagesRequest(read, len(self.requests) + 1, count(read), wire="chat", sent=body)
        record = Record(request)
        self.requests.append(record)
        self.changed()
        try:
            return await self._complete(http, record)
        except Refused as refusal:
            return self._refuse_chat(record, refusal)
        except (asyncio.CancelledError, ConnectionError):
            self._end(record, "cut" if self._closing else "hung_up")
            raise
        finally:
            self._end(record, "failed")  # only where nothing else ended it: a broken brain

    async def _complete(self, http: web.Request, record: Record) -> web.StreamResponse:
        request = record.request
        sent = request.sent or {}
        self._check_chat(http, request, sent)
        if fail := self._fault(Fail, request):
            return self._refuse_chat(record, fail.error, "failed")
        if garbage := self._fault(Garbage, request):
            self._end(record, "failed", garbage.status)
            kind = garbage.kind or ("text/event-stream" if sent.get("stream") else "application/json")
            return web.Response(body=garbage.body, status=garbage.status, content_type=kind, headers=garbage.headers)
        if slow := self._fault(Slow, request):
            await asyncio.sleep(slow.seconds)
        hang = self._fault(Hang, request)
        if hang and hang.after is None:
            await hang.released.wait()
        whole, extras = await self._think(record)
        faults = StreamFaults(hang, self._fault(Cut, request), self._fault(ErrorEvent, request))
        if sent.get("stream"):
            return await self._stream_chat(http, record, whole, extras, faults)
        if faults.cut:
            return self._cut_chat(http, record, web.Response())
        if faults.error:
            return self._refuse_chat(record, faults.error.error, "failed")
        record.usage = whole.usage
        self._end(record, "completed", 200)
        return web.json_response(self._completion(whole, extras), headers=self._chat_headers(record))

    async def _think(self, record: Record) -> tuple[Answer, Extras]:
        read = record.request.body
        if self.manner.cuts:
            read = cut_to(read, self.window)
        asked = dataclasses.replace(record.request, body=read)
        thought = self.brain(asked)
        record.reply = reply = await thought if isinstance(thought, Awaitable) else thought
        record.usage = self._prefixes.account(read, self.manner)
        longest = {"max_tokens": min(self.max_tokens, max(1, self.window - record.usage.prompt_tokens))}
        calls = [
            dataclasses.replace(call, id=call.id or self.manner.new_id(number))
            for number, call in enumerate(reply.tool_calls)
        ]
        reasoning = (reply.thinking or self.reasoning) if self.manner.reasoning else ""
        spoken = dataclasses.replace(reply, tool_calls=calls, thinking="")
        whole = answer(spoken, {**longest, **read}, record.usage, self.window)
        output = whole.usage.output_tokens + tokens_of_text(reasoning)
        usage = dataclasses.replace(whole.usage, output_tokens=output)
        signature = f"signed-{record.request.index}" if self.manner.thoughts == "signature" else ""
        extras = Extras(reasoning, self.manner.reasoning, signature, self.manner.chunk)
        id_ = f"chatcmpl-{record.request.index:06d}"
        return dataclasses.replace(whole, id=id_, usage=usage), extras

    # --- answers ---

    def _completion(self, whole: Answer, extras: Extras) -> Json:
        shape = self.shape or self.manner.shape
        message: dict[str, Any] = {"role": "assistant", "content": whole.text or None, "refusal": None}
        if extras.reasoning:
            message.update(reasoning_of(extras, extras.reasoning))
        if calls := calls_of(whole, shape, extras):
            message["tool_calls"] = calls
        return {
            "id": whole.id,
            "object": "chat.completion",
            "created": CREATED,
            "model": whole.model,
            **self.manner.chunk,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_of(whole, shape)}],
            "usage": usage_of(whole.usage, self.manner, tokens_of_text(extras.reasoning)),
        }

    async def _stream_chat(
        self, http: web.Request, record: Record, whole: Answer, extras: Extras, faults: StreamFaults
    ) -> web.StreamResponse:
        shape, sent = self.shape or self.manner.shape, record.request.sent or {}
        headers = {"content-type": "text/event-stream", "cache-control": "no-cache"}
        response = web.StreamResponse(headers=headers | self._chat_headers(record))
        await response.prepare(http)
        record.status = 200
        wanted = (sent.get("stream_options") or {}).get("include_usage") or shape.usage in ("finish", "every")
        if wanted:
            usage = usage_of(whole.usage, self.manner, tokens_of_text(extras.reasoning))
            extras = dataclasses.replace(extras, usage=usage)
        for chunk in chunks(whole, shape, extras, self.pieces):
            choices = chunk["choices"]
            said = bool(choices and set(choices[0]["delta"]) - {"role", "refusal"} and choices[0]["delta"] != _FIRST)
            is_end = bool(choices and choices[0]["finish_reason"])
            if said or is_end:
                reached = record.deltas if said else sys.maxsize
                if faults.hang and reached >= (faults.hang.after or 0):
                    await faults.hang.released.wait()
                if faults.cut and reached >= faults.cut.after:
                    return self._cut_chat(http, record, response)
                if faults.error and reached >= faults.error.after:
                    return await self._break_chat(record, response, faults.error.error, chunk)
            if said and record.deltas:
                await asyncio.sleep(self.delta_delay)
            if shape.comment:
                await response.write(f"{shape.comment}{shape.newline * 2}".encode())
            await _send(response, shape, json.dumps(chunk, ensure_ascii=False))
            if said:
                record.deltas += 1
                self.changed()
        record.usage = whole.usage
        self._end(record, "completed")
        if shape.done:
            await _send(response, shape, "[DONE]")
        return response

    async def _break_chat(
        self, record: Record, response: web.StreamResponse, error: Refused, chunk: Json
    ) -> web.StreamResponse:
        """An error in the middle: https://openrouter.ai/docs/api/reference/streaming; OpenAI sends the error alone."""
        record.error = error
        self._end(record, "failed")
        shape = self.shape or self.manner.shape
        body: dict[str, Any] = {"error": error_of(error, self.manner.form)}
        if self.manner.name == "openrouter":
            choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "native_finish_reason": "error"}
            body = {**chunk, **body, "choices": [choice]}
        await _send(response, shape, json.dumps(body))
        return response

    # --- rules ---

    def _check_chat(self, http: web.Request, request: MessagesRequest, sent: Json) -> None:
        self.find_base(http)
        self.authenticate_chat(http)
        if http.content_type != "application/json" or not sent:
            raise ChatRefused(
                "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP"
                " library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
            )
        ChatRules(self.manner, self.max_tokens).check(sent)
        if self.known_models is not None and sent["model"] not in self.known_models:
            raise self._worded("model", model=sent["model"])
        if sent.get("tools") and not self.takes_tools:
            raise self._worded("no_tools")
        self._check_window(request)

    def find_base(self, http: web.Request) -> None:
        """Raise `ChatRefused` unless this path begins with the provider's base."""
        base = "/" + http.match_info["base"].rstrip("/") if http.match_info["base"] else ""
        if not self.speaks_chat or base not in {self.manner.base, *_ALSO.get(self.manner.name, ())}:
            raise self._worded("path", path=http.path)

    def _check_window(self, request: MessagesRequest) -> None:
        if self.manner.cuts:
            return
        prompt, longest = request.tokens, request.body.get("max_tokens") or 0
        total = prompt + longest
        if prompt > self.window or (self.manner.counts_answer and total > self.window):
            raise self._worded("overflow", prompt=prompt, answer=longest, total=total, room=total - self.window)

    def authenticate_chat(self, http: web.Request) -> None:
        """Raise `ChatRefused` unless the key is the right one."""
        key = http.headers.get(self.manner.key_header, "").removeprefix("Bearer ").strip()
        if self.key is not None and not key:
            raise self._worded("no_key")
        if self.key is not None and key != self.key:
            raise self._worded("key", key=key[-4:] if self.manner.name == "deepseek" else key)

    # --- ends ---

    def _refuse_chat(self, record: Record, refusal: Refused, outcome: Outcome = "refused") -> web.Response:
        record.error = refusal
        self._end(record, outcome, refusal.status)
        headers = self._chat_headers(record)
        if refusal.retry_after is not None:
            headers["retry-after"] = f"{refusal.retry_after:g}"
        if isinstance(refusal, ChatRefused):
            headers.update(refusal.headers)
        return web.json_response(body_of(refusal, self.manner.form), status=refusal.status, headers=headers)

    def _cut_chat(self, http: web.Request, record: Record, response: web.StreamResponse) -> web.StreamResponse:
        self._end(record, "cut")
        if http.transport is not None:
            http.transport.close()
        return response

    def _chat_headers(self, record: Record) -> dict[str, str]:
        return {"x-request-id": f"req_{record.request.index:06d}", **self.manner.headers}


_FIRST = {"role": "assistant", "content": "", "refusal": None}
_ALSO = {"deepseek": ("/v1",), "llamacpp": ("",)}
"""Bases that a provider takes besides its own."""


async def _send(response: web.StreamResponse, shape: Shape, data: str) -> None:
    await response.write(f"{shape.prefix}{data}{shape.newline * 2}".encode())
