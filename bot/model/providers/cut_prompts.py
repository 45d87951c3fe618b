"""A server that cuts a prompt that is too long, and says nothing: Ollama, with whatever window it was started with.

It is noticed from the usage of an answer: clearly fewer tokens were counted than were sent, and more were sent than the
server has room for, as it says itself. What it has room for is then learned like the window of a refusal, so that the
conversation is compacted from the next turn on, and whoever runs the program is told once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import structlog

from bot.errors import ModelUnavailable
from bot.estimate import estimate_tokens
from bot.estimate.learned_windows import CUT, Learned, Windows
from bot.messages import Message
from bot.model.base import Head, Limits, Load, Model, Reply, Trouble, Wait

log = structlog.get_logger(__name__)

_CLEARLY = 0.6
"""Of what was sent by our estimate, which is seldom off by so much."""
_WORTH_A_LOOK = 1_000
"""Tokens that are missing."""
_SURELY = 0.8
"""Of our estimate, which is more than the window even so."""
ADVICE = "Start Ollama with a larger OLLAMA_CONTEXT_LENGTH, or set num_ctx in the model's file."


class CutPrompts:
    """A :class:`bot.model.base.Model` that asks ``model``, and looks whether its server cut what was sent. ``loaded``:
    the window that the server has loaded a model with, 0 where it does not say; raises a ModelError. ``windows``: where
    windows are learned."""

    def __init__(self, model: Model, loaded: Callable[[str], Awaitable[int]], windows: Windows) -> None:
        self._model = model
        self._loaded = loaded
        self._windows = windows
        self._told: set[str] = set()

    @property
    def place(self) -> str:
        """See :class:`bot.model.base.Model`."""
        return self._model.place

    @property
    def load(self) -> Load:
        """See :class:`bot.model.base.Model`."""
        return self._model.load

    @property
    def troubles(self) -> Sequence[Trouble]:
        """See :class:`bot.model.base.Model`."""
        return self._model.troubles

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
    ) -> Reply:
        """See :class:`bot.model.base.Model`."""
        reply = await self._model.ask(
            head, messages, on_text, may_call=may_call, who=who, on_wait=on_wait, patience=patience
        )
        if reply.usage.context:
            sent = estimate_tokens(messages, system=head.prompt, tools=head.tools, model=head.model)
            if reply.usage.context < _CLEARLY * sent and sent - reply.usage.context > _WORTH_A_LOOK:
                await self._look(head.model, sent, reply.usage.context)
        return reply

    async def count(self, head: Head, messages: Sequence[Message]) -> int | None:
        """See :class:`bot.model.base.Model`."""
        return await self._model.count(head, messages)

    async def limits(self, model: str) -> Limits:
        """See :class:`bot.model.base.Model`."""
        return await self._model.limits(model)

    async def look_up(self, model: str) -> int | None:
        """See :class:`bot.model.base.Model`."""
        return await self._model.look_up(model)

    async def close(self) -> None:
        """See :class:`bot.model.base.Model`."""
        await self._model.close()

    async def _look(self, name: str, sent: int, counted: int) -> None:
        try:
            window = await self._loaded(name)
        except ModelUnavailable:
            return
        if not window or _SURELY * sent <= window:
            return
        known = await self._model.limits(name)
        listed = known.listed or (known.window if known.known else 0)
        said = f"Ollama{CUT}{sent} tokens for {name} to {counted}. {ADVICE}"
        await self._windows.learn(self.place, name, Learned(window, said, listed))
        if name not in self._told:
            self._told.add(name)
            log.warning("prompt_cut", model=name, sent=sent, counted=counted, window=window, note=ADVICE)
