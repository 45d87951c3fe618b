"""Says what came of a command: at once, or beside others where it takes a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from bot.agent.context import Context
from bot.agent.retries import Retries
from bot.bus import topics
from bot.bus.bus import Bus
from bot.errors import StaleEpoch, StoreUnavailable
from bot.messages import Button
from bot.store.inbox import Waiting

log = structlog.get_logger(__name__)


class Answers:
    """The answers of one agent to commands. ``tasks`` owns what is answered aside."""

    def __init__(self, context: Context, bus: Bus, retries: Retries, tasks: asyncio.TaskGroup) -> None:
        self._context = context
        self._bus = bus
        self._retries = retries
        self._tasks = tasks
        self.in_hand: set[int] = set()
        """Commands that are being answered, or rest before another try, by their rows in the inbox."""

    async def give(self, message: Waiting, text: str | None, *, buttons: Sequence[Button] = ()) -> None:
        """Nothing is said where people see already what came of it (empty), or will read it elsewhere (None)."""
        if text is None:
            return
        async with self._context.step() as step:
            if text:
                await step.say(text, buttons=buttons, answers=message.ref)
            else:
                await step.leave_unsaid(message.ref)
            await step.close([message.id])

    async def ignore(self, message: Waiting) -> None:
        """It was not meant for us."""
        async with self._context.step() as step:
            await step.close([message.id])

    def aside(self, message: Waiting, carry_out: Callable[[], Awaitable[str | None]]) -> None:
        """Answer a command that takes a moment, without keeping the next one waiting."""
        self.in_hand.add(message.id)
        self._tasks.create_task(self._give_aside(message, carry_out))

    async def _give_aside(self, message: Waiting, carry_out: Callable[[], Awaitable[str | None]]) -> None:
        try:
            await self.give(message, await carry_out())
        except StaleEpoch:
            raise
        except StoreUnavailable as error:  # it waits in the inbox, and is looked at again
            log.warning("command_waits", reason=str(error))
            await self._retries.interrupted([message])
            self.in_hand.discard(message.id)
        except Exception as error:  # noqa: BLE001  # logged, counted and told there
            await self.crashed(message, error, counted=True)
        else:
            self._let_go(message)

    async def crashed(self, message: Waiting, error: Exception, *, counted: bool) -> None:
        """It is tried again after a moment, and after three tries put aside."""
        self.in_hand.add(message.id)
        seconds = await self._retries.failed([message], error, counted=counted)
        self._tasks.create_task(self._rest(message, seconds))

    async def _rest(self, message: Waiting, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._let_go(message)

    def _let_go(self, message: Waiting) -> None:
        self.in_hand.discard(message.id)
        self._bus.ring(topics.inbox(self._context.agent_id))
