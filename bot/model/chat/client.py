"""Models behind Chat Completions endpoints, whoever offers them: what each takes otherwise is learned from what it
refuses."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from bot.errors import ModelError, ModelRefused, ModelUnavailable
from bot.estimate.learned_windows import Windows, place_of
from bot.messages import Block, Message, tool_calls
from bot.model.base import DEFAULT_ANSWER, Attempt, Head, Limits, Model, Payer, Reply, SettingNames, Wait
from bot.model.calls import MOST_CALLS, Calls, Endpoint, Silence
from bot.model.chat.chunks import ChatStream, ErrorInStream
from bot.model.chat.conversion import (
    EFFORT,
    ChatRequest,
    chat_request,
    longest_answer,
    other_answer_field,
    other_effort,
    takes_no_options,
)
from bot.model.chat.wire import Connection, StatusError
from bot.model.limits import KnownLimits
from bot.model.listed_names import names_in
from bot.model.provider_errors import in_stream, no_message, of_status, said_in, silent, unreachable
from bot.runtime.providers import Quirks

_LOOK_SECONDS = 5.0
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens")
"""What endpoints call a model's window in their lists."""
Heard = Callable[[Model, Head, Sequence[Message], Reply], Awaitable[None]]
"""Is told what was asked of a model and what it answered."""


class ChatModel(Endpoint):
    """A client of one Chat Completions endpoint: a :class:`bot.model.base.Model`.

    ``quirks``: what it wants otherwise than OpenAI; ``fixed`` limits are for servers that cannot tell; ``calls``: how
    many are in flight at most; ``windows``: what refusals stated; ``names``: of the settings that say where and what it
    is; ``look`` asks it for the limits of a model, where its list does not say them; ``heard`` is told of each answer;
    ``key_header``: where its key goes, if not as a bearer's; ``query`` goes with every request; ``silence``: for how
    long nothing may come; ``provider``: whose it is, for traces.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str,
        names: SettingNames,
        quirks: Quirks | None = None,
        fixed: Limits | None = None,
        calls: int = MOST_CALLS,
        windows: Windows | None = None,
        look: Callable[[str], Awaitable[Limits | None]] | None = None,
        heard: Heard | None = None,
        key_header: str = "",
        query: Mapping[str, str] | None = None,
        silence: Silence | None = None,
        provider: str = "openai",
    ) -> None:
        self._quirks = quirks or Quirks()
        self._names = names
        self._asked = look
        self._heard = heard
        self._silence = silence or Silence()
        self._ways: dict[str, _Ways] = {}
        """How models take what some take otherwise, by their name."""
        known = KnownLimits(place_of(base_url), self._look, windows=windows, fixed=fixed)
        super().__init__(known, Calls(known, calls, provider))
        headers = _key(api_key, key_header) if api_key else {}
        self._connection = Connection(base_url, headers, query or {}, silence=self._silence.middle)

    async def ask(
        self,
        head: Head,
        messages: Sequence[Message],
        on_text: Callable[[str], None] | None = None,
        *,
        may_call: bool = True,
        who: str = "",
        on_wait: Callable[[Wait], None] | None = None,
        patience: float | None = None,
        payer: Payer | None = None,
    ) -> Reply:
        """See :class:`bot.model.base.Model`."""
        request = chat_request(head, messages, self._quirks, place=self.place, may_call=may_call)
        used = {block["id"] for message in messages for block in _calls_in(message)}
        attempt = partial(self._as_it_takes_it, request, used, on_text)
        reply = await self.calls.make(head, messages, attempt, who=who, on_wait=on_wait, patience=patience, payer=payer)
        if self._heard:
            await self._heard(self, head, messages, reply)
        return reply

    async def count(self, head: Head, messages: Sequence[Message]) -> int | None:  # noqa: ARG002  # no endpoint tells
        """See :class:`bot.model.base.Model`. There is no such question on this wire."""
        return None

    async def look_up(self, model: str) -> int | None:
        """See :class:`bot.model.base.Model`."""
        if self._asked:
            found = await self._asked(model)
            if found and found.known:
                return found.window
        listed = await self._listed(model)
        return None if listed is None else _window(listed)

    async def names(self) -> Sequence[str]:
        """See :class:`bot.model.base.Model`."""
        import httpx2

        try:
            return names_in(await self._connection.get("/models", seconds=_LOOK_SECONDS))
        except (StatusError, ModelError, httpx2.HTTPError, ValueError, TypeError):
            return ()

    async def close(self) -> None:
        """See :class:`bot.model.base.Model`."""
        await self._connection.close()

    async def _look(self, model: str) -> Limits | None:
        if self._asked:
            return await self._asked(model)
        try:
            listed = await self._listed(model)
        except ModelRefused:
            return Limits()
        except ModelError:
            return None
        window = _window(listed or {})
        return Limits(window, DEFAULT_ANSWER, known=True) if window else Limits()

    async def _listed(self, model: str) -> Mapping[str, Any] | None:
        """What the endpoint lists of a model; None where it knows no such model. Raises a ModelError."""
        import httpx2

        try:
            try:
                found = await self._connection.get(f"/models/{quote(model, safe='')}", seconds=_LOOK_SECONDS)
            except StatusError as error:
                if error.status_code != HTTPStatus.NOT_FOUND:
                    raise
                every = await self._connection.get("/models", seconds=_LOOK_SECONDS)  # some have only the whole list
                rows = every.get("data") if isinstance(every, Mapping) else every
                return next((row for row in rows or () if isinstance(row, Mapping) and _is_named(row, model)), None)
        except StatusError as error:
            if error.status_code == HTTPStatus.NOT_FOUND:
                return None
            raise of_status(error, model, self._names) from error
        except (httpx2.HTTPError, ValueError, TypeError) as error:
            raise ModelUnavailable("The model's server cannot be reached.") from error
        return found if isinstance(found, Mapping) else {}

    async def _as_it_takes_it(
        self, request: ChatRequest, used: set[str], on_text: Callable[[str], None] | None, spent: Attempt
    ) -> Reply:
        """One try. A model that takes tools with another effort alone, the longest answer under another name or a
        shorter one, or no options of the stream, says so when it is first asked, whatever it is called: it is asked
        again with that, and from then on."""
        body = request.body
        fresh = _Ways([self._quirks.answer_field], reports_usage=self._quirks.reports_usage)
        ways = self._ways.setdefault(body["model"], fresh)
        if "tools" in body and not ways.efforts:
            ways.efforts.append(body.get(EFFORT, ""))
        while True:
            try:
                return await self._stream(ChatRequest(ways.told(body), request.names), used, on_text, spent)
            except ModelRefused as refused:
                said = said_in(refused.__cause__) if isinstance(refused.__cause__, StatusError | ErrorInStream) else ""
                if not ways.learn(said, body):
                    raise

    async def _stream(
        self, request: ChatRequest, used: set[str], on_text: Callable[[str], None] | None, spent: Attempt
    ) -> Reply:
        import httpx2

        model: str = request.body["model"]
        answer = ChatStream()
        if on_text:
            on_text("")
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._silence.begins):
                    post = self._connection.post("/chat/completions", request.body)
                    chunks = await stack.enter_async_context(post)
                spent.is_taken = True
                async for chunk in chunks:
                    if answer.take(chunk) and on_text:
                        on_text(answer.text)
            reply = answer.reply(
                self._quirks,
                place=self.place,
                model=model,
                names=request.names,
                used=used,
                new_id=_new_id,
                ended=chunks.ended,
            )
        except StatusError as error:
            raise of_status(error, model, self._names) from error
        except TimeoutError as error:
            raise silent(self._silence.begins) from error
        except httpx2.ReadTimeout as error:
            raise silent(self._silence.middle) from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise unreachable() from error
        except ErrorInStream as error:
            spent.is_taken = bool(answer.received or answer.usage.context)
            raise in_stream(error, model, self._names) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise no_message() from error
        finally:
            spent.usage, spent.received, spent.request = answer.usage, answer.received, answer.id
            spent.nano = answer.nano if self._quirks.tells_cost else None
        return reply


@dataclass
class _Ways:
    """How one model was told what some are told otherwise; of each, the last is how it is told now. ``efforts``: beside
    tools, empty: nothing. ``longest``: the tokens of the longest answer that it gives, where it said so."""

    answers: list[str]
    efforts: list[str] = field(default_factory=list)
    longest: int | None = None
    reports_usage: bool = True

    def told(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body in these ways, to be streamed."""
        told = {name: value for name, value in body.items() if name not in (self.answers[0], EFFORT)}
        told |= {self.answers[-1]: self._longest(body), "stream": True}
        if self.reports_usage:
            told["stream_options"] = {"include_usage": True}
        effort = self.efforts[-1] if "tools" in body else body.get(EFFORT, "")
        return told | ({EFFORT: effort} if effort else {})

    def _longest(self, body: Mapping[str, Any]) -> int:
        wanted: int = body[self.answers[0]]
        return wanted if self.longest is None else min(wanted, self.longest)

    def learn(self, said: str, body: Mapping[str, Any]) -> bool:
        """Whether these words of a refusal of this body say of another way, which was not tried."""
        answer = other_answer_field(self.answers[-1], said)
        if answer and answer not in self.answers:
            self.answers.append(answer)
            return True
        if longest := longest_answer(self._longest(body), said):
            self.longest = longest
            return True
        if self.reports_usage and takes_no_options(said):
            self.reports_usage = False
            return True
        effort = other_effort(self.efforts[-1], said) if "tools" in body else None
        if effort is None or effort in self.efforts:
            return False
        self.efforts.append(effort)
        return True


def _key(key: str, header: str) -> Mapping[str, str]:
    return {header: key} if header else {"Authorization": f"Bearer {key}"}


def _calls_in(message: Message) -> list[Block]:
    content = message["content"]
    return [] if isinstance(content, str) else tool_calls(content)


def _new_id() -> str:
    return f"call_{secrets.token_hex(12)}"


def _window(listed: Mapping[str, Any]) -> int:
    found = (listed.get(name) for name in _WINDOWS)
    return next((int(one) for one in found if isinstance(one, int | float) and one > 0), 0)


def _is_named(row: Mapping[str, Any], model: str) -> bool:
    """Gemini's list has folders before the names."""
    return str(row.get("id") or row.get("name")) in (model, f"models/{model}")
