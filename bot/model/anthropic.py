"""The model, behind one adapter on the `anthropic` SDK. Nobody else knows that SDK.

One adapter serves Claude and everything else that speaks the Messages API (Ollama, vLLM, LM Studio, llama.cpp).
Errors of the SDK are translated here, once; retries are ours, so that a stream that breaks off is treated like a
request that was refused, and the server's retry-after is honoured for both.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from bot.errors import Cause, ModelError, ModelOverflow, ModelRefused, ModelUnavailable, cause_of
from bot.estimate.cuts import beginning
from bot.estimate.learned_windows import LONGEST_SAID, Learned, OwnWindows, Windows, place_of
from bot.history import Usage
from bot.messages import Block, Message
from bot.model.cache_marks import Life, mark_for, marked, marked_head
from bot.model.head import Head
from bot.model.overflow.detection import is_context_overflow, stated_numbers
from bot.model.provider_errors import message_in, retry_after, said_in, type_in, types_in
from bot.model.queue import ModelQueue, Wait
from bot.model.reply_blocks import for_head
from bot.model.reply_stream import ReplyStream
from bot.model.trouble import Troubles
from bot.runtime.metrics import METRICS, Outcome

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream
    from anthropic.types import RawMessageStreamEvent

MOST_CALLS = 64
_MOST_COUNTS = 8
"""Questions how large a request is, at once; whoever would have to wait goes by the guess."""
_TRIES = 4
_LONGEST_WAIT = 60.0
_SILENCE = 180.0
_LIMITS_SECONDS = 5.0
_COUNT_SECONDS = 3.0
_NOT_THERE = frozenset({404, 405, 501})
_RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_RETRIED_TYPES = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
RETRIED = (*map(str, sorted(_RETRIED)), *sorted(_RETRIED_TYPES), "connection", "stream", "invalid")
"""What a try that is worth another can be counted as."""
_BUSY_TYPES = frozenset({"overloaded_error", "rate_limit_error"})
_SEES_NOTHING = re.compile(r"image|multimodal|mmproj|vision", re.IGNORECASE)
"""llama.cpp and Ollama answer 500 to a picture that their model cannot see."""
CUT_OFF = "max_tokens"
"""The stop reason of an answer that was to be longer."""
DEFAULT_WINDOW = 200_000
DEFAULT_ANSWER = 8_192


@dataclass(frozen=True)
class Reply:
    """What the model answered; tokens in ``usage``."""

    blocks: tuple[Block, ...]
    usage: Usage
    stop_reason: str


@dataclass(frozen=True)
class Limits:
    """A model's window and its longest answer, in tokens. ``known``: the provider said so."""

    window: int = DEFAULT_WINDOW
    answer: int = DEFAULT_ANSWER
    known: bool = False
    refusal: str = field(default="", compare=False)
    """The words of the refusal that the window was learned from; empty where none was."""
    listed: int = field(default=0, compare=False)
    """The window that the provider lists; 0 where it lists none."""


@dataclass(frozen=True)
class SettingNames:
    """What those who run the program call the parts of an endpoint."""

    key: str = "ANTHROPIC_API_KEY"
    base: str = "ANTHROPIC_BASE_URL"
    model: str = "MODEL"


class Model:
    """A client of one Messages API endpoint. ``fixed`` limits are for servers that cannot tell; ``calls``: how many
    are in flight at most; ``remembered``: for how long after its last use a prompt stays in the provider's cache;
    ``windows``: what refusals stated; ``names``: of the settings that say where and what it is."""

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
    ) -> None:
        self._api_key = api_key
        self._auth_token = auth_token
        self._base_url = base_url
        self._fixed = fixed
        self._mark = mark_for(remembered)
        self._listed: dict[str, Limits] = {}
        self._windows = windows or OwnWindows()
        self._learned: dict[str, int] = {}
        """What was last read there, in tokens."""
        self._names = names or SettingNames(key="ANTHROPIC_AUTH_TOKEN" if auth_token else "ANTHROPIC_API_KEY")
        self._uncounted: set[str] = set()
        """Models whose endpoint does not count."""
        self._client: AsyncAnthropic | None = None
        self.queue = ModelQueue(calls)
        self.troubles = Troubles()
        """Why there is no answer, since the last time that there was one."""
        self._looking = asyncio.Lock()
        self._counting = asyncio.Semaphore(_MOST_COUNTS)

    async def ask(
        self,
        head: Head,
        messages: Sequence[Message],
        on_text: Callable[[str], None] | None = None,
        *,
        may_call: bool = True,
        who: str = "",
        on_wait: Callable[[Wait], None] | None = None,
    ) -> Reply:
        """One request, streamed; ``on_text`` gets the whole text so far, and an empty text when a try starts again.

        ``may_call=False``: it is to answer without tools. ``who``: the agent that somebody waits for (empty: a summary,
        which comes after those); ``on_wait`` is told how it stands in the queue. Cancelling closes the HTTP stream, or
        leaves the queue. Raises a ModelError.
        """
        call = self.queue.join(who)
        for attempt in range(1, _TRIES + 1):
            try:
                async with self.queue.place(call, on_wait):
                    began = time.monotonic()
                    reply = await self._stream(head, messages, on_text, may_call=may_call)
            except (ModelOverflow, ModelRefused) as error:
                if isinstance(error, ModelOverflow):
                    await self._learn(head.model, error)
                outcome: Outcome = "overflow" if isinstance(error, ModelOverflow) else "refused"
                METRICS.model_failed(call.purpose, outcome, error.cause)
                self.troubles.met(head.model, error)
                raise
            except _Again as again:
                METRICS.model_retried(again.status)
                self.troubles.met(head.model, again)
                if attempt == _TRIES or again.wait > _LONGEST_WAIT:
                    METRICS.model_failed(call.purpose, "unavailable", again.cause)
                    raise ModelUnavailable(again.sentence, cause=again.cause) from again.__cause__
                if again.wait:
                    self.queue.hold(again.wait)
                else:
                    await asyncio.sleep(random.uniform(0.5, 1.0) * 2 ** (attempt - 1))
            else:
                self.queue.widen()
                self.troubles.answered(head.model)
                await self._unlearn(head.model, reply.usage)
                METRICS.model_answered(call.purpose, head.model, reply.usage, time.monotonic() - began)
                return reply
        raise AssertionError("unreachable")

    @property
    def place(self) -> str:
        """What its endpoint is called in the book."""
        return place_of(self._base_url)

    async def limits(self, model: str) -> Limits:
        """The window and the longest answer of a model; defaults where the endpoint does not know. What it lists is
        asked once; a smaller window that a refusal of it stated counts more."""
        if self._fixed:
            return self._fixed
        listed = await self._limits_listed(model)
        learned = await self._windows.learned(self.place, model)
        if learned is None or (listed.known and learned.listed != listed.window):
            self._learned.pop(model, None)
            return listed
        self._learned[model] = learned.window
        window = min(learned.window, listed.window)
        return Limits(window, listed.answer, known=True, refusal=learned.said, listed=learned.listed)

    async def _limits_listed(self, model: str) -> Limits:
        if known := self._listed.get(model):
            return known
        async with self._looking:  # a thousand agents that begin at once ask once
            return self._listed.get(model) or await self._look_for_limits(model)

    async def _learn(self, model: str, overflow: ModelOverflow) -> None:
        """A refusal says how much would have fitted. One that states no number says that what is listed holds."""
        if self._fixed:
            return
        known, listed = await self.limits(model), self._listed.get(model, Limits())
        window = overflow.window or (listed.window if listed.known else None)
        if window is None or window > known.window or (known.refusal and window == known.window):
            return
        said = beginning(str(overflow), LONGEST_SAID)
        await self._windows.learn(self.place, model, Learned(window, said, listed.window if listed.known else 0))

    async def _unlearn(self, model: str, usage: Usage) -> None:
        """An answer to a request that was larger shows that it was wrong, or that it has changed."""
        if usage.context > self._learned.get(model, usage.context):
            del self._learned[model]
            await self._windows.forget(self.place, model)

    async def _look_for_limits(self, model: str) -> Limits:
        import anthropic

        try:
            info = await self._sdk().models.retrieve(model, timeout=_LIMITS_SECONDS)
        except anthropic.APIStatusError:
            self._listed[model] = Limits()
        except (anthropic.AnthropicError, ValueError, TypeError):
            return Limits()  # unreachable just now: ask again next time
        else:
            window = getattr(info, "max_input_tokens", None)
            answer = getattr(info, "max_tokens", None)
            self._listed[model] = Limits(window or DEFAULT_WINDOW, answer or DEFAULT_ANSWER, bool(window))
        return self._listed[model]

    async def count(self, head: Head, messages: Sequence[Message]) -> int | None:
        """The input tokens of a request as the provider counts them; None where it does not tell, or not soon."""
        if head.model in self._uncounted or self.queue.pause or self._counting.locked():
            return None
        async with self._counting:
            return await self._count(head, messages)

    async def _count(self, head: Head, messages: Sequence[Message]) -> int | None:
        import anthropic

        options: dict[str, Any] = {"tools": list(head.tools)} if head.tools else {}
        if head.system:
            options["system"] = head.system
        try:
            counted = await self._sdk().messages.count_tokens(
                model=head.model,
                messages=for_head(head.tools, messages),  # type: ignore[arg-type]  # as in a request
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
        """The window that the endpoint states, or 0; None where it knows no such model. Raises a ModelError."""
        import anthropic

        try:
            info = await self._sdk().models.retrieve(model, timeout=_LIMITS_SECONDS)
        except anthropic.NotFoundError:
            return None
        except anthropic.APIStatusError as error:
            self._raise_status(error, Head(model, 0, ""))
        except (anthropic.AnthropicError, ValueError, TypeError) as error:
            raise ModelUnavailable("The model's server cannot be reached.") from error
        return getattr(info, "max_input_tokens", None) or 0

    async def close(self) -> None:
        """Let go of connections."""
        if self._client:
            await self._client.close()

    async def _stream(
        self, head: Head, messages: Sequence[Message], on_text: Callable[[str], None] | None, *, may_call: bool
    ) -> Reply:
        import anthropic  # a second to import: not before the prompt is shown
        import httpx2

        options = marked_head(head.system, head.tools, self._mark)
        if head.tools and not may_call:
            options["tool_choice"] = {"type": "none"}
        answer = ReplyStream()
        if on_text:
            on_text("")
        try:
            create: Any = self._sdk().messages.create  # what it is given is the API's own JSON
            events: AsyncStream[RawMessageStreamEvent] = await create(
                stream=True,
                model=head.model,
                max_tokens=head.max_tokens,
                messages=marked(for_head(head.tools, messages), self._mark),
                cache_control=self._mark,
                **options,
            )
            async with events:
                async for event in events:
                    if answer.take(event) and on_text:
                        on_text(answer.text)
            reply = _reply(answer)
        except anthropic.APIStatusError as error:
            self._raise_status(error, head)
        except (anthropic.APIConnectionError, httpx2.HTTPError, httpx2.StreamError) as error:
            sentence = "The model's server cannot be reached or broke off its answer."
            raise _Again(sentence, status="connection") from error
        except anthropic.APIResponseValidationError as error:
            raise _Again("The model's server answered something that is not a message.") from error
        except anthropic.APIError as error:
            self._raise_in_stream(error)
        except (anthropic.AnthropicError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise _Again("The model's server answered something that is not a message.") from error
        return reply

    def _raise_status(self, error: Any, head: Head) -> None:
        status, said = error.status_code, said_in(error)
        if is_context_overflow(error):
            raise _overflow(said) from error
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR and _SEES_NOTHING.search(said):
            raise ModelRefused(f"The model's server refused the request ({said}).", of_content=True) from error
        cause = cause_of(status, types_in(error), said)
        if cause is Cause.CREDIT:  # some call that 429, but waiting pays no bill
            sentence = f"Nothing is left to pay the model's server with ({said})."
            raise ModelRefused(
                f"{sentence} Add credit, or raise the limit of what may be spent.", cause=cause
            ) from error
        if status in _RETRIED or (status == HTTPStatus.OK and type_in(error) in _RETRIED_TYPES):
            kind = type_in(error) if status == HTTPStatus.OK else str(status)
            cause = cause if cause is Cause.BUSY else Cause.AWAY
            raise _Again(
                f"The model is not available ({said}).", retry_after(error), status=kind, cause=cause
            ) from error
        if cause in (Cause.KEY, Cause.FORBIDDEN):
            names = f"{self._names.key} and {self._names.base}"
            sentence = f"The model's server does not accept our key ({said}). Check {names}."
            raise ModelRefused(sentence, cause=cause) from error
        if cause is Cause.MODEL:
            sentence = f"The model's server does not know the model {head.model!r}."
            names = f"{self._names.model} and {self._names.base}"
            raise ModelRefused(f"{sentence} Check {names}.", cause=cause) from error
        bare = status == HTTPStatus.BAD_REQUEST and not message_in(error)
        raise ModelRefused(f"The model's server refused the request ({said}).", bare=bare, of_content=True) from error

    def _raise_in_stream(self, error: Any) -> None:
        said = said_in(error)
        if is_context_overflow(error):
            raise _overflow(said) from error
        kind = type_in(error)
        status = kind if kind in _RETRIED_TYPES else "stream"
        cause = Cause.BUSY if kind in _BUSY_TYPES else Cause.AWAY
        raise _Again(f"The model broke off its answer ({said}).", status=status, cause=cause) from error

    def _sdk(self) -> AsyncAnthropic:
        if self._client is None:
            import anthropic

            try:
                self._client = anthropic.AsyncAnthropic(
                    api_key=self._api_key or None,
                    auth_token=self._auth_token,
                    base_url=self._base_url,
                    max_retries=0,
                    timeout=anthropic.Timeout(_SILENCE, connect=10),
                )
            except (anthropic.AnthropicError, ValueError) as error:
                raise ModelRefused(f"The model cannot be used: {error}", cause=Cause.AWAY) from error
        return self._client


class _Again(ModelError):
    """Worth another try, after ``wait`` seconds (0: our own pace). ``status``: what it is counted as."""

    def __init__(self, sentence: str, wait: float = 0.0, *, status: str = "invalid", cause: Cause = Cause.AWAY) -> None:
        super().__init__(sentence)
        self.cause = cause
        self.sentence = sentence
        self.wait = wait
        self.status = status


def _overflow(said: str) -> ModelOverflow:
    """A provider that refuses a context may say how large it was, and how much would have fitted."""
    numbers = stated_numbers(said)
    if numbers is None:
        return ModelOverflow(said)
    misread = numbers.asked and numbers.limit and numbers.asked <= numbers.limit
    return ModelOverflow(said, asked=numbers.asked, window=None if misread else numbers.limit)


def _reply(answer: ReplyStream) -> Reply:
    if answer.stop_reason == "model_context_window_exceeded":
        raise ModelOverflow("The answer ran into the end of the model's window.")
    if answer.stop_reason is None:
        raise _Again("The model's server broke off its answer.", status="stream")
    return Reply(answer.blocks, answer.usage, answer.stop_reason)
