"""A model for tests: it says what its script says, and keeps what it was asked. No server, no SDK, no key.

::

    model = ScriptedModel("Hello.", Answer("I look.", calls=[("look", {"where": "here"})]), ModelRefused("No."))
    model = ScriptedModel(lambda asked: "Noted." if asked.who else "A summary.", limits=Limits(20_000, 500))

Everything around an answer is as on a real wire: the line and its waits, tries, troubles, windows that are learned, and
a request that is larger than the window is refused, whatever the script says.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from bot.errors import ModelError
from bot.estimate import block_tokens, estimate_tokens, family_of
from bot.history import Usage
from bot.messages import Block, Message, text_block, text_of, tool_calls
from bot.model.base import CUT_OFF, Attempt, Head, Limits, Payer, Reply, Wait
from bot.model.calls import MOST_CALLS, Calls, Endpoint
from bot.model.limits import KnownLimits
from bot.model.provider_errors import overflow

_WORDS = re.compile(r"\s*\S+\s*")


@dataclass(frozen=True)
class Asked:
    """One request."""

    head: Head
    messages: tuple[Message, ...]
    may_call: bool
    who: str
    """The agent that somebody waits for; empty for a summary."""

    @property
    def text(self) -> str:
        """What the last message says."""
        content = self.messages[-1]["content"] if self.messages else ""
        return content if isinstance(content, str) else text_of(content)


@dataclass(frozen=True)
class Answer:
    """What the model says. ``calls``: tools with their arguments; ``blocks``: the whole answer, in place of both.

    ``after``: the answer stops after its first word until this is set. ``usage`` and ``stop_reason`` are as a provider
    would say them, unless given; ``is_broken``: it ends in the arguments of its last call.
    """

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    blocks: Sequence[Block] = ()
    usage: Usage | None = None
    stop_reason: str = ""
    is_broken: bool = False
    after: asyncio.Event | None = None
    delay: float = 0.0
    """Seconds before its first word."""
    pace: float = 0.0
    """Seconds after each word."""


Line = str | Answer | ModelError
"""What becomes of one try: a text, an answer, or the error that it raises. One of the kind
:class:`bot.model.provider_errors.TryAgain` is followed by another try, and so by the next line."""
Script = Callable[[Asked], Line]


class ScriptedModel(Endpoint):
    """A :class:`bot.model.base.Model`. ``script``: lines, each said once and in their order, or one function that is
    asked for each; ``limits``: of its ``models``, which are all that anybody names unless given; ``calls``: how
    many are in flight at most."""

    def __init__(
        self,
        *script: Line | Script,
        limits: Limits | None = None,
        models: Collection[str] = (),
        calls: int = MOST_CALLS,
    ) -> None:
        self.asked: list[Asked] = []
        """Every try of a request, oldest first."""
        self.is_closed = False
        self._script = list(script)
        self._listed = limits or Limits(known=True)
        self._models = models
        known = KnownLimits("script", self._look)
        super().__init__(known, Calls(known, calls, "script"))
        self._changed = asyncio.Condition()

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
        """See :class:`bot.model.base.Model`. Raises AssertionError where the script has no more lines."""
        asked = Asked(head, tuple(messages), may_call, who)
        attempt = partial(self._answer, asked, on_text or _nobody)
        return await self.calls.make(head, messages, attempt, who=who, on_wait=on_wait, patience=patience, payer=payer)

    async def count(self, head: Head, messages: Sequence[Message]) -> int | None:
        """See :class:`bot.model.base.Model`: as :func:`bot.estimate.estimate_tokens` guesses."""
        return _size(head, messages)

    async def look_up(self, model: str) -> int | None:
        """See :class:`bot.model.base.Model`."""
        found = await self._look(model)
        return (found.window if found.known else 0) if self._has(model) else None

    async def names(self) -> Sequence[str]:
        """See :class:`bot.model.base.Model`."""
        return sorted(self._models)

    async def close(self) -> None:
        """See :class:`bot.model.base.Model`."""
        self.is_closed = True

    async def until_asked(self, times: int = 1) -> Asked:
        """Wait until it was asked so often; the last of them."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.asked) >= times)
        return self.asked[times - 1]

    async def _look(self, model: str) -> Limits:
        return self._listed if self._has(model) else Limits()

    def _has(self, model: str) -> bool:
        return not self._models or model in self._models

    async def _answer(self, asked: Asked, on_text: Callable[[str], None], spent: Attempt) -> Reply:
        async with self._changed:
            self.asked.append(asked)
            self._changed.notify_all()
        on_text("")
        size, window = _size(asked.head, asked.messages), self._listed.window
        if size > window:
            raise overflow(f"prompt is too long: {size} tokens > {window} maximum")
        line = self._next(asked)
        if isinstance(line, ModelError):
            raise line
        answer = Answer(line) if isinstance(line, str) else line
        spent.is_taken, spent.usage = True, Usage(input=size)
        await asyncio.sleep(answer.delay)
        blocks = tuple(answer.blocks) or _blocks(answer)

        def hear(text: str) -> None:
            spent.received = text
            on_text(text)

        await _written(blocks, hear, answer.after, answer.pace)
        output = round(sum(block_tokens(block, family=family_of(asked.head.model)) for block in blocks))
        calls = tool_calls(blocks)
        stop_reason = answer.stop_reason or (CUT_OFF if answer.is_broken else "tool_use" if calls else "end_turn")
        broken = frozenset({calls[-1]["id"]} if answer.is_broken else ())
        usage = spent.usage = answer.usage or Usage(input=size, output=output)
        return Reply(blocks, usage, stop_reason, broken=broken)

    def _next(self, asked: Asked) -> Line:
        if not self._script:
            raise AssertionError(f"the script has no line for request {len(self.asked)}: {asked.text!r}")
        line = self._script[0]
        if callable(line):
            return line(asked)
        del self._script[0]
        return line


def _blocks(answer: Answer) -> tuple[Block, ...]:
    """Each call has an id of its own, also among those of another process on the same conversation."""
    said = [text_block(answer.text)] if answer.text else []
    calls = [
        {"type": "tool_use", "id": f"call_{uuid4().hex}", "name": name, "input": dict(arguments)}
        for name, arguments in answer.calls
    ]
    return (*said, *calls)


async def _written(
    blocks: Sequence[Block], on_text: Callable[[str], None], after: asyncio.Event | None, pace: float
) -> None:
    """Word by word, as a stream would bring it."""
    text = ""
    for word in _WORDS.findall("".join(block["text"] for block in blocks if block["type"] == "text")):
        text += word
        on_text(text)
        await (after.wait() if after else asyncio.sleep(pace))
    if after:
        await after.wait()


def _size(head: Head, messages: Sequence[Message]) -> int:
    return estimate_tokens(messages, system=head.prompt, tools=head.tools, model=head.model)


def _nobody(text: str) -> None:
    """Nobody reads along."""
