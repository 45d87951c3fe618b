"""How a turn begins: what waits in the inbox is taken, and is in the history from then on, in one fenced step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import uuid4

from bot.agent.context import Context
from bot.agent.turn import Turn
from bot.agent.turns.incoming import Incoming
from bot.agent.turns.steering import Steering
from bot.store import turns
from bot.store.inbox import Waiting
from bot.store.turns import TurnRow


class NothingWaitsError(Exception):
    """What was to be answered waits no more."""


class Beginning:
    """Begins the turns of one agent, and goes on with those that were cut off. ``turn``: makes one of its row."""

    def __init__(self, context: Context, incoming: Incoming, turn: Callable[[TurnRow, Steering], Turn]) -> None:
        self._context = context
        self._incoming = incoming
        self._turn = turn

    async def take(self, messages: Sequence[Waiting]) -> Turn:
        """Take inbox rows: from here on they belong to a turn, and what they say is in the history. Where that is
        nothing (a broken picture without a word), the turn ends at once, with a sentence about it.

        Raises NothingWaitsError where nobody waits for an answer any more; then nothing has begun."""
        turn_id, context = uuid4().hex, self._context
        tries = 1 + max(message.tries for message in messages)
        came = [message.received_at for message in messages]
        people = frozenset(message.person for message in messages)
        opened = await self._incoming.open(messages)
        async with context.step() as step:
            slot = await step.open_slot(answers=messages[-1].ref)
            row = await turns.begin(
                step.tx, turn_id, context.agent_id, slot, now=step.now, tries=tries, received_at=min(came)
            )
            turn = self._turn(row, Steering(context, self._incoming, max(came), people))
            appended = await opened.append_to(step, turn_id, begins=True)
            if not appended.messages:
                raise NothingWaitsError
            if appended.apology:
                await turn.end_with(step, appended.apology)
        self._incoming.unmark(messages)
        return turn

    def again(self, row: TurnRow) -> Turn:
        """A turn that a crash or a move cut off."""
        return self._turn(row, Steering(self._context, self._incoming, row.received_at))
