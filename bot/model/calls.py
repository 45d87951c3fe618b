"""The calls of one endpoint: each waits in its line, is tried again where that helps, and teaches what it met.

An adapter brings one try, which raises the errors of :mod:`bot.model.provider_errors`; everything else is the same on
every wire. Retries are ours and not an SDK's, so that a stream that breaks off is treated like a request that was
refused, and the server's retry-after is honoured for both.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from bot.errors import OF_PROVIDER, Cause, ModelError, ModelOverflow, ModelRefused, ModelUnavailable
from bot.messages import Message
from bot.model.base import Attempt, Head, Limits, Load, Model, Payer, Reply, Trouble, Wait
from bot.model.limits import KnownLimits
from bot.model.provider_errors import SILENCE, TryAgain
from bot.model.queue import Call, ModelQueue
from bot.runtime.telemetry import Outcome, telemetry

MOST_CALLS = 64
_TRIES = 4
_LONGEST_WAIT = 60.0
_OF_ALL_MODELS = frozenset({Cause.KEY, Cause.CREDIT, Cause.AWAY})
"""An answer of any model shows that it is over; each of the others may be of one model alone."""


@dataclass(frozen=True)
class Silence:
    """Seconds without a byte after which a server is taken to be away: before an answer ``begins`` (its headers, which
    come before a model reasons), and in its ``middle``, which is no less: there some send a whole call of a tool at
    once, and a model may reason without a word."""

    begins: float = 90.0
    middle: float = 180.0


class Calls:
    """Those of one process; at most ``most`` of them are in flight. ``limits`` hear what refusals and answers say;
    ``provider``: whose endpoint it is, for traces."""

    def __init__(self, limits: KnownLimits, most: int = MOST_CALLS, provider: str = "") -> None:
        self._limits = limits
        self.provider = provider
        self.queue = ModelQueue(most)
        self._troubles = Troubles()

    @property
    def load(self) -> Load:
        """See :meth:`bot.model.base.Model.load`."""
        return Load(self.queue.in_flight, self.queue.waiting, self.queue.pause)

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """See :meth:`bot.model.base.Model.troubles`."""
        return self._troubles.now

    async def make(
        self,
        head: Head,
        messages: Sequence[Message],
        attempt: Callable[[Attempt], Awaitable[Reply]],
        *,
        who: str = "",
        on_wait: Callable[[Wait], None] | None = None,
        patience: float | None = None,
        payer: Payer | None = None,
    ) -> Reply:
        """Wait for a place and try, up to four times: a request of ``head`` and ``messages``, which ``attempt`` makes.

        Cancelling ends the try, or leaves the line. ``who``, ``on_wait``, ``patience`` and ``payer``
        as in :meth:`bot.model.base.Model.ask`. Raises ModelOverflow, ModelRefused, ModelUnavailable, what the payer
        raises.
        """
        call, began, model = self.queue.join(who), 0.0, head.model
        if patience is not None and self.queue.pause > patience:
            sentence, wait = "The model's server wants no calls for a while.", self.queue.pause
            raise ModelUnavailable(sentence, cause=Cause.BUSY, wait=wait)
        for number in range(1, _TRIES + 1):
            try:
                async with self._place(call, on_wait, payer):
                    began = began or time.monotonic()
                    with telemetry.model_span(self.provider, model, head.prompt, messages) as span:
                        reply = await self._tried(attempt, model, payer)
                        span.answered(reply.usage, reply.stop_reason, reply.blocks, reply.model)
            except (ModelOverflow, ModelRefused) as error:
                if payer:
                    await payer.failed()
                await self._refused(call, model, error)
                raise
            except TryAgain as again:
                if payer:
                    await payer.failed()
                self._troubles.met(model, again)
                telemetry.model_retried(again.status)
                pause = again.wait or random.uniform(0.5, 1.0) * 2 ** (number - 1)
                spent = time.monotonic() - began
                is_over = again.status == SILENCE or (patience is not None and spent + pause > patience)
                if number == _TRIES or again.wait > _LONGEST_WAIT or is_over:
                    telemetry.model_failed(call.purpose, "unavailable", again.cause)
                    raise ModelUnavailable(str(again), cause=again.cause, wait=again.wait) from again.__cause__
                if again.wait:
                    self.queue.hold(again.wait)
                else:
                    await asyncio.sleep(pause)
            else:
                await self._answered(model, reply)
                telemetry.model_answered(call.purpose, model, reply.usage, span.seconds)
                return reply
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def _place(
        self, call: Call, on_wait: Callable[[Wait], None] | None, payer: Payer | None
    ) -> AsyncIterator[None]:
        """A place in flight, for a try that is paid for. Whoever has to wait for that holds none meanwhile."""
        while True:
            async with self.queue.place(call, on_wait):
                if payer is None or await payer.begins():
                    yield
                    return
            await payer.until_it_may()

    async def _tried(self, attempt: Callable[[Attempt], Awaitable[Reply]], model: str, payer: Payer | None) -> Reply:
        """One try, of which whoever pays is told, also where it was cut off."""
        spent = Attempt(model, self.provider)
        try:
            reply = await attempt(spent)
            spent.is_taken = spent.is_whole = True
            return reply
        except asyncio.CancelledError:
            spent.is_taken = True  # it was on its way, or being answered
            raise
        except TryAgain as again:
            spent.is_taken = spent.is_taken or again.status == SILENCE
            raise
        finally:
            if payer and spent.is_taken:
                payer.spent(spent)

    async def _refused(self, call: Call, model: str, error: ModelOverflow | ModelRefused) -> None:
        outcome: Outcome = "refused"
        if isinstance(error, ModelOverflow):
            outcome = "overflow"
            await self._limits.refused(model, error)
        telemetry.model_failed(call.purpose, outcome, error.cause)
        self._troubles.met(model, error)

    async def _answered(self, model: str, reply: Reply) -> None:
        self.queue.widen()
        self._troubles.answered(model)
        await self._limits.answered(model, reply.usage)


class Endpoint(Model):
    """What every client of one endpoint has alike: most of :class:`bot.model.base.Model` but asking and counting."""

    def __init__(self, known: KnownLimits, calls: Calls) -> None:
        self.known = known
        self.calls = calls

    @property
    def place(self) -> str:
        """See :class:`bot.model.base.Model`."""
        return self.known.place

    @property
    def provider(self) -> str:
        """See :class:`bot.model.base.Model`."""
        return self.calls.provider

    @property
    def load(self) -> Load:
        """See :class:`bot.model.base.Model`."""
        return self.calls.load

    @property
    def troubles(self) -> Sequence[Trouble]:
        """See :class:`bot.model.base.Model`."""
        return self.calls.troubles

    async def limits(self, model: str) -> Limits:
        """See :class:`bot.model.base.Model`."""
        return await self.known.of(model)


class Troubles:
    """What requests met, for as long as it lasts: nobody asks the provider anything to find that out. Those of one
    process, one a model at most. ``clock``: seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._of: dict[str, Trouble] = {}

    @property
    def now(self) -> tuple[Trouble, ...]:
        """What no answer has shown to be over."""
        return tuple(self._of.values())

    def met(self, model: str, error: ModelError) -> None:
        """A try came to nothing. What one request alone has met says nothing of the next."""
        if error.cause not in OF_PROVIDER:
            return
        now, known = self._clock(), self._of.get(model)
        if known and known.cause is error.cause:
            self._of[model] = replace(known, sentence=str(error), last=now, tries=known.tries + 1)
        else:
            self._of[model] = Trouble(model, error.cause, str(error), now, now)

    def answered(self, model: str) -> None:
        """A request to this model was answered."""
        self._of.pop(model, None)
        for name in [name for name, one in self._of.items() if one.cause in _OF_ALL_MODELS]:
            del self._of[name]
