"""What is tried is counted, and after three tries put aside, so that one message cannot hold up all others.

An exception is counted when it comes. A process that dies says nothing: so what may kill it (a turn, a command, a file
that is opened) is counted in the book before it begins, and the count goes back when it has come further.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress

import structlog

from bot.agent.context import Context
from bot.agent.turn import Turn
from bot.agent.turns.ending import MOST_TRIES, PUT_ASIDE
from bot.bus import topics
from bot.errors import StaleEpoch, StoreUnavailable
from bot.runtime.redact import redact
from bot.runtime.telemetry import telemetry
from bot.store import Database, inbox
from bot.store.inbox import Waiting
from bot.store.operators import parked

log = structlog.get_logger(__name__)

DIED = f"the program ended {MOST_TRIES} times while it was at it"
PAUSE_SECONDS = 2.0
"""Before the last try. The one before it comes at once."""
_LOOK_AGAIN_SECONDS = 2.0
"""At most, between two tries to write that something was no failure."""


async def see_through(turn: Turn) -> None:
    """Run a turn; where it crashes, again; and put it aside when that was often enough.

    A book that is away is waited for. Raises StaleEpoch; StoreUnavailable where even a crash cannot be counted.
    """
    while True:
        try:
            await turn.run()
            return
        except StaleEpoch:
            raise
        except StoreUnavailable as error:
            log.warning("turn_waits", turn=turn.id, reason=str(error))
            if not await _after_outage(turn):
                return
        except Exception as error:
            log.exception("turn_crashed", turn=turn.id, tries=turn.tries)
            if turn.tries >= MOST_TRIES:
                await turn.put_aside(reason_of(error))
                return
            await turn.pause(pause_after(turn.tries))
            if not await turn.again():
                return


async def _after_outage(turn: Turn) -> bool:
    while True:
        with suppress(StoreUnavailable):  # away again
            return await turn.after_outage()


async def hand_over(turn: Turn) -> None:
    """This host ends, or loses the agent: what it was at was no failure."""
    with suppress(StaleEpoch, StoreUnavailable):
        await turn.hand_over()


class Retries:
    """Counts for one agent what waits and is tried, and puts it aside. ``secrets``: what no reason may hold."""

    def __init__(self, context: Context, database: Database, secrets: Collection[str]) -> None:
        self._context = context
        self._database = database
        self._secrets = secrets

    def is_over(self, message: Waiting) -> bool:
        """Whether it was tried often enough."""
        return message.tries >= MOST_TRIES

    async def count(self, messages: Sequence[Waiting]) -> None:
        """These are tried now."""
        async with self._context.step() as step:
            await inbox.count_try(step.tx, [message.id for message in messages])

    async def interrupted(self, messages: Sequence[Waiting]) -> None:
        """The book was away: the try that was counted was no failure.

        Returns when the book has taken that. It is a number beside the conversation, so it
        needs no fence; and without a book there is nothing else to do.
        """
        while True:
            with suppress(StoreUnavailable):
                async with self._database.write() as tx:
                    await inbox.give_back_try(tx, [message.id for message in messages])
                return
            await self._database.until_back(_LOOK_AGAIN_SECONDS)

    async def failed(self, messages: Sequence[Waiting], error: Exception, *, counted: bool) -> float:
        """Nothing came of it; returns the seconds before another try. ``counted``: this try is in the book already."""
        tries = 1 + max(message.tries for message in messages)
        log.error("message_crashed", messages=[message.id for message in messages], tries=tries, exc_info=error)
        if not counted:
            await self.count(messages)
        if tries >= MOST_TRIES and len(messages) == 1:
            await self.park(messages[0], reason_of(error))
        return pause_after(tries)

    async def park(self, message: Waiting, reason: str) -> None:
        """It is not tried any more, and whoever wrote it is told."""
        context, reason = self._context, redact(reason, self._secrets)
        async with context.step() as step:
            await parked.park(step.tx, [message.id], reason, now=step.now)
            await step.say(PUT_ASIDE, answers=message.ref)
            step.rings.append(topics.settled(context.agent_id))
        telemetry.parked(1)
        log.error("message_parked", messages=[message.id], tries=MOST_TRIES, reason=reason)


def pause_after(tries: int) -> float:
    """Seconds: the first failure may have been an accident of the moment."""
    return 0.0 if tries <= 1 else PAUSE_SECONDS


def reason_of(error: Exception) -> str:
    """For operators."""
    return f"{type(error).__name__}: {error}".strip()
