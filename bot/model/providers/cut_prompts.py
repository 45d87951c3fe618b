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
from bot.model.base import Head, Model, Reply

log = structlog.get_logger(__name__)

_CLEARLY = 0.6
"""Of what was sent by our estimate, which is seldom off by so much."""
_WORTH_A_LOOK = 1_000
"""Tokens that are missing."""
_SURELY = 0.8
"""Of our estimate, which is more than the window even so."""
ADVICE = "Start Ollama with a larger OLLAMA_CONTEXT_LENGTH, or set num_ctx in the model's file."


class CutPrompts:
    """Looks at answers. ``loaded``: the window that the server has loaded a model with, 0 where it does not say; raises
    a ModelError. ``windows``: where windows are learned."""

    def __init__(self, loaded: Callable[[str], Awaitable[int]], windows: Windows) -> None:
        self._loaded = loaded
        self._windows = windows
        self._told: set[str] = set()

    async def look(self, model: Model, head: Head, messages: Sequence[Message], reply: Reply) -> None:
        """Whether the server of this model cut what was sent for this reply."""
        if counted := reply.usage.context:
            sent = estimate_tokens(messages, system=head.prompt, tools=head.tools, model=head.model)
            if counted < _CLEARLY * sent and sent - counted > _WORTH_A_LOOK:
                await self._learn(model, head.model, sent, counted)

    async def _learn(self, model: Model, name: str, sent: int, counted: int) -> None:
        try:
            window = await self._loaded(name)
        except ModelUnavailable:
            return
        if not window or _SURELY * sent <= window:
            return
        known = await model.limits(name)
        listed = known.listed or (known.window if known.known else 0)
        said = f"Ollama{CUT}{sent} tokens for {name} to {counted}. {ADVICE}"
        await self._windows.learn(model.place, name, Learned(window, said, listed))
        if name not in self._told:
            self._told.add(name)
            log.warning("prompt_cut", model=name, sent=sent, counted=counted, window=window, note=ADVICE)
