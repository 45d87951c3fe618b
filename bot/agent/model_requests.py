"""What one agent asks the model: the next reply, and how large the next request is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from bot.agent.context import Context
from bot.agent.money.bill import Bill
from bot.compaction import Strategy
from bot.estimate import Meter
from bot.files.blocks import filled, has_media
from bot.history.measure import NEW
from bot.history.server_tools import continued
from bot.messages import Message
from bot.model import Reply, Wait

_NEAR = 0.05
"""Of the limit: a guess that is so near to another level may be wrong about it."""
_NEW = 0.1
"""Of the context: so much may be guessed beside what the provider reported."""


class ModelRequests:
    """Sends the page as it stands. ``folder``: where the files lie that are in it; ``bill``: what it costs."""

    def __init__(self, context: Context, folder: Path, bill: Bill) -> None:
        self._context = context
        self._folder = folder
        self._bill = bill

    async def ask(
        self,
        on_text: Callable[[str], None],
        *,
        may_call: bool = True,
        on_wait: Callable[[Wait], None] | None = None,
        patience: float | None = None,
    ) -> Reply:
        """One request to the model; ``patience`` as in :meth:`bot.model.base.Model.ask`. Raises a ModelError,
        UsedUpError."""
        page, context = await self._page(), self._context
        head = context.window.with_room(context.head, context.meter.total)
        context.asked_at = context.clock()
        async with self._bill.request(head, context.meter.total) as payer:
            return await context.window.link.model.ask(
                head,
                page,
                on_text,
                may_call=may_call,
                who=context.agent_id,
                on_wait=on_wait,
                patience=patience,
                payer=payer,
            )

    async def count(self) -> None:
        """Ask the provider how large the next request is, where that decides something and our guess is only a guess.

        Without an answer the guess stands.
        """
        context = self._context
        meter, history = context.meter, context.history
        if not _wants_counting(meter, context.strategy) or context.is_counted:
            return
        tokens = await context.window.link.model.count(context.head, await self._page())
        if tokens is not None and tokens > 0:
            context.take_count(tokens, history)

    async def _page(self) -> Sequence[Message]:
        """What is sent, with the bytes of its files."""
        page = continued(self._context.history.view())
        return await asyncio.to_thread(filled, self._folder, page) if has_media(page) else page


def _wants_counting(meter: Meter, strategy: Strategy) -> bool:
    new = sum(part.tokens for part in meter.parts if part.name == NEW)
    if meter.source == "usage" and new <= _NEW * meter.total:
        return False
    lower, higher = strategy.level(meter.raised(-_NEAR)), strategy.level(meter.raised(_NEAR))
    return lower is not higher or meter.raised(-_NEAR).over != meter.raised(_NEAR).over
