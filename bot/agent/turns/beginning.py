"""How a turn begins: what waits in the inbox is taken, and is in the history from then on, in one fenced step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import uuid4

from bot.agent.appointments.texts import came_note
from bot.agent.context import Context
from bot.agent.turn import Turn
from bot.agent.turns.ending import TRIED_AGAIN
from bot.agent.turns.incoming import Incoming
from bot.agent.turns.steering import Steering
from bot.errors import OF_PROVIDER
from bot.history import EntryKind, History
from bot.messages import Audience, as_quoted, text_block, text_of
from bot.store import appointments, turns
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
        last = messages[-1]
        people = frozenset(message.person for message in messages)
        opened = await self._incoming.open(messages)
        async with context.step() as step:
            slot = await step.open_slot(answers=last.ref)
            row = await turns.begin(
                step.tx,
                turn_id,
                context.agent_id,
                slot,
                now=step.now,
                tries=tries,
                received_at=min(came),
                person=last.person,
            )
            step.quiet_at = None
            turn = self._turn(row, Steering(context, self._incoming, max(came), people))
            if reminded := await appointments.unread(step.tx, context.agent_id):
                note = [text_block(came_note(reminded))]
                await step.append("user", note, EntryKind.NOTE, turn=turn_id, audience=Audience.MODEL)
                await appointments.read(step.tx, context.agent_id)
            appended = await opened.append_to(step, turn_id, begins=True)
            if not appended.messages:
                raise NothingWaitsError
            if appended.apology:
                await turn.end_with(step, appended.apology)
        self._incoming.taken(messages)
        return turn

    async def retry(self, turn_id: str, message: Waiting) -> Turn | None:
        """A turn that failed since no model answered is tried again, from its last step, by the press or command that
        asks for it; None where there is no such turn (any more). ``turn_id``: empty for the last one."""
        context = self._context
        async with context.step() as step:
            failed = await turns.failed(step.tx, context.agent_id, turn_id, OF_PROVIDER)
            if failed is None:
                return None
            step.quiet_at = None
            row = await turns.reopen(step.tx, failed, await step.open_slot(answers=message.ref))
            if note := _asked_again(context.history, row.id):
                await step.append("user", [text_block(note)], EntryKind.NOTE, turn=row.id, audience=Audience.MODEL)
            await step.change(failed.slot, TRIED_AGAIN)
            await step.close([message.id])
        return self.again(row)

    def again(self, row: TurnRow) -> Turn:
        """A turn that a crash or a move cut off."""
        return self._turn(row, Steering(self._context, self._incoming, row.received_at))


def _asked_again(history: History, turn_id: str) -> str:
    """What tells the model which message is meant, where more was said since; empty where it is the last."""
    last = next((entry for entry in reversed(history.entries) if entry.layer is None), None)
    if last is None or last.turn == turn_id:
        return ""
    said = [
        text_of(entry.blocks) for entry in history.entries if entry.turn == turn_id and entry.kind is EntryKind.SAID
    ]
    quoted = as_quoted("\n".join(said))
    return f"[The answer to something said before is asked for again; there was none.]\n{quoted}".strip()
