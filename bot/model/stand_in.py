"""A very small model that stands in while no real one is set: it is sent what was said last, and no more of the page.

A model of a hundred million parameters goes on as the page goes: after a poem everything is a poem, one sentence in
Spanish makes all that follows Spanish, and what it has said once it says again. Summaries and facts are asked for with
everything, as of any model. The page stays what it is for everybody else: the meter, `/context` and compactions go by
all of it. An answer ends where it begins to say again what it has said, but for its numbers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.history import Usage
from bot.history.times import without_marks
from bot.messages import Message, text_block
from bot.model.base import Head, Payer, Reply, Wait
from bot.model.calls import Endpoint
from bot.runtime.tasks import stop

_SENTENCE = re.compile(r"[^.?!\n]+[.?!\n]+")
_NUMBER_OF_A_LINE = re.compile(r"(?<=[.?!\n])\s*\d{1,2}[.)]\s*$")
_FEWEST_WORDS = 3
"""Of a sentence that may not come twice."""


class StandIn(Endpoint):
    """A :class:`bot.model.base.Model` that asks ``model``, at the same endpoint. No usage is reported where not all of
    the page was sent: it would not be what the context holds."""

    def __init__(self, model: Endpoint) -> None:
        super().__init__(model.known, model.calls)
        self._model = model

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
        if not who:
            return await self._model.ask(
                head,
                messages,
                on_text,
                may_call=may_call,
                who=who,
                on_wait=on_wait,
                patience=patience,
                payer=payer,
            )
        sent = last_said(messages)
        heard = _Heard(on_text)
        asking = asyncio.create_task(
            self._model.ask(
                head,
                sent,
                heard,
                may_call=may_call,
                who=who,
                on_wait=on_wait,
                patience=patience,
                payer=payer,
            )
        )
        repeating = asyncio.create_task(heard.repeats.wait())
        try:
            await asyncio.wait({asking, repeating}, return_when=asyncio.FIRST_COMPLETED)
            if not heard.repeats.is_set():
                reply = await asking
                return reply if sent == messages else replace(reply, usage=Usage(output=reply.usage.output))
            return Reply((text_block(heard.text),), Usage(), "end_turn")
        finally:
            await stop(asking, repeating)

    async def count(self, head: Head, messages: Sequence[Message]) -> int | None:
        """See :class:`bot.model.base.Model`."""
        return await self._model.count(head, messages)

    async def look_up(self, model: str) -> int | None:
        """See :class:`bot.model.base.Model`."""
        return await self._model.look_up(model)

    async def names(self) -> Sequence[str]:
        """See :class:`bot.model.base.Model`."""
        return await self._model.names()

    async def close(self) -> None:
        """See :class:`bot.model.base.Model`."""
        await self._model.close()


def last_said(messages: Sequence[Message]) -> Sequence[Message]:
    """The last of what people said, alone, without the marks that say when."""
    said = [message for message in messages if message["role"] == "user"]
    return [Message(role="user", content=without_marks(message["content"])) for message in said[-1:]]


class _Heard:
    """Hands on what is written, up to where it repeats itself."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self.text = ""
        """What was handed on last."""
        self.repeats = asyncio.Event()

    def __call__(self, text: str) -> None:
        if self.repeats.is_set():
            return
        end = begins_again(text)
        self.text = text if end is None else _NUMBER_OF_A_LINE.sub("", text[:end]).rstrip()
        if self._on_text:
            self._on_text(self.text)
        if end is not None:
            self.repeats.set()


def begins_again(text: str) -> int | None:
    """Where a text says for the second time, but for numbers, what it has said; None where it does not."""
    said = set[str]()
    for sentence in _SENTENCE.finditer(text):
        words = " ".join(re.sub(r"[\W\d_]+", " ", sentence[0].lower()).split())
        if len(words.split()) < _FEWEST_WORDS:
            continue
        if words in said:
            return sentence.start()
        said.add(words)
    return None
