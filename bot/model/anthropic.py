"""Models behind the Messages API, by the `anthropic` SDK. Nobody else knows that SDK.

One adapter serves Claude and everything else that speaks this API (Ollama, vLLM, LM Studio, llama.cpp).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.errors import Cause, ModelError, ModelOverflow, ModelRefused, ModelUnavailable
from bot.estimate.learned_windows import Windows, place_of
from bot.history.server_tools import as_texts, is_server_tool
from bot.messages import Message, text_block
from bot.model.base import DEFAULT_ANSWER, DEFAULT_WINDOW, Attempt, Head, Limits, Payer, Reply, SettingNames, Wait
from bot.model.cache_marks import Life, mark_for, marked, marked_head
from bot.model.calls import MOST_CALLS, Calls, Endpoint, Silence
from bot.model.foreign import for_messages, placed
from bot.model.limits import KnownLimits
from bot.model.listed_names import names_in
from bot.model.provider_errors import in_stream, no_end, no_message, of_status, silent, unreachable
from bot.model.reply_stream import ReplyStream
from bot.runtime.tls import trusted

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream
    from anthropic.types import RawMessageStreamEvent

_MOST_COUNTS = 8
"""Questions how large a request is, at once; whoever would have to wait goes by the guess."""
_LIMITS_SECONDS = 5.0
_COUNT_SECONDS = 3.0
_MOST_LISTED = 1_000
"""The longest page of the list of models, as the SDK has it from the API's page; twenty where none is asked for."""
_NOT_THERE = frozenset({404, 405, 501})


class AnthropicModel(Endpoint):
    """A client of one Messages API endpoint: a :class:`bot.model.base.Model`. ``fixed`` limits are for servers that
    cannot tell; ``calls``: how many are in flight at most; ``remembered``: for how long after its last use a prompt
    stays in the provider's cache; ``windows``: what refusals stated; ``names``: of the settings that say where and what
    it is; ``silence``: for how long nothing may come; ``look`` asks for a model's limits where the Models API does
    not say them; ``provider``: whose it is, for traces."""

    def __init__(
        self,
        *,
        api_key: str | None,
        auth_token: str | None = None,
        base_url: str | None = None,
        fixed: Limits | None = None,
        calls: int = MOST_CALLS,
        remembered: Life = "5m",
        windows: Windows | None = None,
        names: SettingNames | None = None,
        silence: Silence | None = None,
        look: Callable[[str], Awaitable[Limits | None]] | None = None,
        provider: str = "anthropic",
    ) -> None:
        self._api_key = api_key
        self._auth_token = auth_token
        self._base_url = base_url
        self._mark = mark_for(remembered)
        self._silence = silence or Silence()
        key = "ANTHROPIC_AUTH_TOKEN" if auth_token else "ANTHROPIC_API_KEY"
        self._names = names or SettingNames(key, "ANTHROPIC_BASE_URL")
        self._asked = look
        known = KnownLimits(place_of(base_url), self._look, windows=windows, fixed=fixed)
        super().__init__(known, Calls(known, calls, provider))
        self._client: AsyncAnthropic | None = None
        self._counting = asyncio.Semaphore(_MOST_COUNTS)
        self._uncounted: set[str] = set()
        """Models whose endpoint does not count."""

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
        attempt = partial(self._stream, head, messages, on_text, may_call=may_call)
        return await self.calls.make(head, messages, attempt, who=who, on_wait=on_wait, patience=patience, payer=payer)

    async def _look(self, model: str) -> Limits | None:
        from bot.model import anthropic_sdk as anthropic

        try:
            info = await self._sdk().models.retrieve(model, timeout=_LIMITS_SECONDS)
        except anthropic.APIStatusError:
            return await self._asked(model) if self._asked else Limits()
        except (anthropic.AnthropicError, ValueError, TypeError):
            return None
        window = getattr(info, "max_input_tokens", None)
        answer = getattr(info, "max_tokens", None)
        if not window and self._asked:
            return await self._asked(model)
        return Limits(window or DEFAULT_WINDOW, answer or DEFAULT_ANSWER, bool(window))

    async def count(self, head: Head, messages: Sequence[Message]) -> int | None:
        """See :class:`bot.model.base.Model`."""
        if head.model in self._uncounted or self.calls.load.pause or self._counting.locked():
            return None
        async with self._counting:
            return await self._count(head, messages)

    async def _count(self, head: Head, messages: Sequence[Message]) -> int | None:
        from bot.model import anthropic_sdk as anthropic

        options: dict[str, Any] = {"tools": list(head.tools)} if head.tools else {}
        if head.standing:
            options["system"] = [text_block(text) for text in (head.system, head.standing) if text]
        elif head.system:
            options["system"] = head.system
        try:
            counted = await self._sdk().messages.count_tokens(
                model=head.model,
                messages=self._received(head.tools, messages),  # type: ignore[arg-type]  # as in a request
                timeout=_COUNT_SECONDS,
                **options,
            )
        except anthropic.APIStatusError as error:
            if error.status_code in _NOT_THERE:
                self._uncounted.add(head.model)
            return None
        except (anthropic.AnthropicError, ModelError, ValueError, TypeError):
            return None
        return getattr(counted, "input_tokens", None)

    async def look_up(self, model: str) -> int | None:
        """See :class:`bot.model.base.Model`."""
        from bot.model import anthropic_sdk as anthropic

        try:
            info = await self._sdk().models.retrieve(model, timeout=_LIMITS_SECONDS)
        except anthropic.NotFoundError:
            return None
        except anthropic.APIStatusError as error:
            raise of_status(error, model, self._names) from error
        except (anthropic.AnthropicError, ValueError, TypeError) as error:
            raise ModelUnavailable("The model's server cannot be reached.") from error
        return getattr(info, "max_input_tokens", None) or 0

    async def names(self) -> Sequence[str]:
        """See :class:`bot.model.base.Model`."""
        from bot.model import anthropic_sdk as anthropic

        options: Any = {"params": {"limit": _MOST_LISTED}, "timeout": _LIMITS_SECONDS}
        try:
            get: Any = self._sdk().get
            return names_in(await get("/v1/models", cast_to=object, options=options))
        except (anthropic.AnthropicError, ModelError, ValueError, TypeError):
            return ()

    async def close(self) -> None:
        """See :class:`bot.model.base.Model`."""
        if self._client:
            await self._client.close()

    async def _stream(
        self,
        head: Head,
        messages: Sequence[Message],
        on_text: Callable[[str], None] | None,
        spent: Attempt,
        *,
        may_call: bool,
    ) -> Reply:
        import httpx2

        from bot.model import anthropic_sdk as anthropic  # takes long to import: not before the prompt is shown

        options = marked_head(head.system, head.tools, self._mark, head.standing)
        if head.tools and not may_call:
            options["tool_choice"] = {"type": "none"}
        answer = ReplyStream()
        if on_text:
            on_text("")
        try:
            create: Any = self._sdk().messages.create  # what it is given is the API's own JSON
            async with asyncio.timeout(self._silence.begins):
                events: AsyncStream[RawMessageStreamEvent] = await create(
                    stream=True,
                    model=head.model,
                    max_tokens=head.max_tokens,
                    messages=marked(self._received(head.tools, messages), self._mark),
                    cache_control=self._mark,
                    **options,
                )
            spent.is_taken, spent.request = True, events.response.headers.get("request-id", "")
            async with events:
                async for event in events:
                    if answer.take(event) and on_text:
                        on_text(answer.text)
            reply = _reply(answer, self.place)
        except anthropic.APIStatusError as error:
            raise of_status(error, head.model, self._names) from error
        except TimeoutError as error:
            raise silent(self._silence.begins) from error
        except httpx2.ReadTimeout as error:
            raise silent(self._silence.middle) from error
        except (anthropic.APIConnectionError, httpx2.HTTPError, httpx2.StreamError) as error:
            raise unreachable() from error
        except anthropic.APIResponseValidationError as error:
            raise no_message() from error
        except anthropic.APIError as error:
            spent.is_taken = bool(answer.usage.context)  # it says itself that it broke, perhaps before it began
            raise in_stream(error, head.model, self._names) from error
        except (anthropic.AnthropicError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise no_message() from error
        finally:
            spent.usage, spent.received = answer.usage, answer.received
        return reply

    def _received(self, tools: Sequence[Mapping[str, Any]], messages: Sequence[Message]) -> Sequence[Message]:
        """The page as this endpoint takes it. Where the provider's own tools are not offered (any more), what they did
        is text."""
        own = for_messages(messages, self.place)
        return own if any(map(is_server_tool, tools)) else as_texts(own)

    def _headers(self) -> dict[str, str]:
        """The SDK shows a key as a bearer's, which Anthropic takes; some other endpoints look where it was before."""
        return {"x-api-key": self._api_key} if self._base_url and self._api_key else {}

    def _sdk(self) -> AsyncAnthropic:
        if self._client is None:
            from bot.model import anthropic_sdk as anthropic

            try:
                self._client = anthropic.AsyncAnthropic(
                    api_key=None if self._auth_token else self._api_key or None,  # the SDK takes one of them alone
                    auth_token=self._auth_token,
                    base_url=self._base_url,
                    max_retries=0,
                    timeout=anthropic.Timeout(self._silence.middle, connect=10),
                    default_headers=self._headers(),
                    http_client=anthropic.DefaultAsyncHttpxClient(verify=trusted()),
                )
            except (anthropic.AnthropicError, OSError, ValueError) as error:
                raise ModelRefused(f"The model cannot be used: {error}", cause=Cause.AWAY) from error
        return self._client


def _reply(answer: ReplyStream, place: str) -> Reply:
    if answer.stop_reason == "model_context_window_exceeded":
        raise ModelOverflow("The answer ran into the end of the model's window.")
    if answer.stop_reason is None:
        raise no_end()
    return Reply(placed(answer.blocks, place), answer.usage, answer.stop_reason, answer.model, answer.broken)
