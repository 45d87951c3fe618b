"""How a turn ends: answered, stopped, failed with a sentence, or put aside. Each is one fenced step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from functools import partial
from typing import Literal

import structlog

from bot.agent.admin_notices import AdminNotices
from bot.agent.context import Context
from bot.agent.money.bill import Bill
from bot.agent.step import Step
from bot.agent.tools.tool import INTERRUPTED, result_block
from bot.agent.turns.patience import in_words
from bot.agent.turns.timing import Timing
from bot.bus import topics
from bot.bus.bus import Bus
from bot.compaction import Plan
from bot.compaction.notices import STAYS, WAS_ON_ALL, aborted
from bot.compaction.plan import Inserted
from bot.errors import OF_PROVIDER, Cause, StaleEpoch, StoreUnavailable
from bot.history import PARKED, Entry, EntryKind, Usage, ranges_of
from bot.history.replies import closed, noted
from bot.messages import Button, text_block
from bot.model.chain import Chain
from bot.runtime.redact import redact
from bot.runtime.telemetry import TracedTurn, telemetry
from bot.runtime.turn_seconds import TurnSeconds
from bot.store import Database, inbox, outbox, runs, turns
from bot.store.operators import parked
from bot.store.turns import TurnRow, TurnState

log = structlog.get_logger(__name__)

MOST_TRIES = 3
"""Of a message; then it is put aside."""
PUT_ASIDE = (
    f"⚠️ Something in me broke {MOST_TRIES} times on this, so it was put aside. Whoever runs me sees it; "
    "you can go on. (If what you write next breaks me too, /new starts afresh.)"
)
TRY_AGAIN = "Try again"
TRIED_AGAIN = "⚠️ There was no answer to this; I try again."
ONE_BY_ONE = "⚠️ Something in me broke on these messages together, so I take them one by one."
_HIDDEN = "[Something that the person sent stood here. It could not be answered, and was put aside.]"


class Ending:
    """The end of one turn. ``chain``: who was asked; ``secrets``: what no reason may hold; ``quiet_moment``: when it is
    to be looked at again, if nobody says anything (:mod:`bot.agent.compacting.quiet`)."""

    def __init__(
        self,
        row: TurnRow,
        context: Context,
        *,
        database: Database,
        bus: Bus,
        notices: AdminNotices,
        chain: Callable[[], Chain],
        timing: Timing,
        bill: Bill,
        secrets: Collection[str],
        quiet_moment: Callable[[Step, Usage], float | None],
    ) -> None:
        self._context = context
        self._bill = bill
        self._database = database
        self._bus = bus
        self._notices = notices
        self._chain = chain
        self._secrets = secrets
        self._quiet_moment = quiet_moment
        self._id = row.id
        self._slot = row.slot
        self._again = row.reopened
        self._timing = timing
        self.state = TurnState.RUNNING
        self.said = False
        """Whether people see already, by the answer itself or in a status, that it was stopped."""

    async def write(self, step: Step, state: TurnState, text: str, usage: Usage) -> None:
        """The end, as part of a step: its inbox rows are answered, and its slot holds the text or nothing."""
        await inbox.close_turn(step.tx, self._id)
        if state is TurnState.DONE:
            await self._notices.answered(step, self._chain(), self._context.window.link)
            step.quiet_at = self._quiet_moment(step, usage)
        await self._close(step, state, text, usage)

    async def aborted(self, partial: str, usage: Usage, sentence: str = "") -> None:
        """What people saw of the answer stays, marked, and so they are told; what was asked stays in any case.
        ``sentence``: why it could not go on without what was stopped."""
        async with self._context.step() as step:
            for call in self._context.history.open_calls():
                block = result_block(call, INTERRUPTED, error=True)
                await step.append("user", [block], EntryKind.RESULT, turn=self._id)
            if partial:
                blocks = [text_block(f"{closed(partial)}\n[interrupted]")]
                await step.append("assistant", blocks, EntryKind.REPLY, turn=self._id, interrupted=True)
            shown = noted(partial, "(stopped)", cut=True) if partial else ""
            warning = f"⚠️ {sentence}" if sentence else ""
            await self.write(step, TurnState.ABORTED, "\n\n".join(filter(None, (shown, warning))), usage)
        self.said = self.said or bool(partial or sentence)

    async def failed(self, sentence: str, usage: Usage, cause: Cause, *, wait: float | None) -> None:
        """Without an answer; the sentence says why. ``wait``: the seconds for which no model wants to be asked (0: they
        do not say so), where it was one that gave none: then what the sentence says is for those who run the
        program, and a button asks again."""
        sentence = redact(sentence, self._secrets)
        log.warning("turn_failed", cause=cause.value, reason=sentence)
        async with self._context.step() as step:
            await inbox.close_turn(step.tx, self._id)
            shown = sentence
            if wait is not None:
                shown = await self._notices.failed(step, sentence, cause)
                shown += f" Try again {in_words(wait)}." if wait else ""
            buttons = [Button(TRY_AGAIN, f"/retry {self._id}")] if cause in OF_PROVIDER else []
            await self._close(step, TurnState.FAILED, f"⚠️ {shown}", usage, cause, buttons=buttons)

    async def put_aside(self, reason: str, usage: Usage) -> None:
        """It broke something again and again: its messages are not tried any more, and the model sees them no more.

        Of several messages that it took together each is first tried alone, unless more than asking came of them.
        """
        reason = redact(reason, self._secrets)
        try:
            await self._put_aside(reason, usage)
        except (StaleEpoch, StoreUnavailable):
            raise
        except Exception:  # what broke the turn may break even that: then without looking at the history
            log.exception("turn_not_hidden", turn=self._id)
            await end_unseen(self._context, self._database, self._bus, reason)
            self.state = TurnState.FAILED

    async def _put_aside(self, reason: str, usage: Usage) -> None:
        own = [entry for entry in self._context.history.entries if entry.turn == self._id]
        only_asked = not any(entry.kind in (EntryKind.REPLY, EntryKind.RESULT) for entry in own)
        async with self._context.step() as step:
            if own:
                await step.put(_hiding(own))
            several = len(await parked.taken_by(step.tx, self._id)) > 1
            if several and only_asked:
                await parked.release_turn(step.tx, self._id, tries=MOST_TRIES - 1)
                await self._close(step, TurnState.FAILED, ONE_BY_ONE, usage, Cause.BROKEN)
                return
            rows = await parked.park_turn(step.tx, self._id, reason, now=step.now)
            await self._close(step, TurnState.FAILED, PUT_ASIDE, usage, Cause.BROKEN)
        telemetry.parked(len(rows))
        log.error("message_parked", messages=rows, turn=self._id, tries=MOST_TRIES, reason=reason)

    async def _close(
        self,
        step: Step,
        state: TurnState,
        text: str,
        usage: Usage,
        cause: Cause | Literal[""] = "",
        *,
        buttons: Sequence[Button] = (),
    ) -> None:
        context = self._context
        await self._close_status(step, state)
        now, meter = step.now, step.weigh()
        timing = self._timing.ended(now)
        await turns.end(
            step.tx,
            self._id,
            state,
            usage,
            now=now,
            meter=meter,
            timing=timing,
            cause=cause,
            model=context.window.model_name,
        )
        if text:
            await step.change(self._slot, text, buttons=buttons)
        else:
            await step.void(self._slot)
        await outbox.release(step.tx, context.agent_id)
        await self._bill.close(step)
        step.rings.append(topics.settled(context.agent_id))
        self.state = state
        step.afterwards.append(partial(self._tell, state, usage, meter.share, timing, cause))

    async def _close_status(self, step: Step, state: TurnState) -> None:
        """The status of the compaction that a person stopped before this answer offers no more to stop the answer."""
        run_id = await turns.stopped_run(step.tx, self._id)
        run = await runs.get(step.tx, run_id) if run_id else None
        if run:
            became = {TurnState.DONE: WAS_ON_ALL, TurnState.ABORTED: STAYS}.get(state, "")
            await step.change(run.status_slot, aborted(became))
            self.said = state is TurnState.ABORTED

    def _tell(self, state: TurnState, usage: Usage, share: float, timing: TurnSeconds, cause: str) -> None:
        context = self._context
        telemetry.turn_ended(context.address.connector, state, share, timing)
        telemetry.traced(
            TracedTurn(
                self._id,
                agent=context.agent_id,
                connector=context.address.connector,
                state=state,
                seconds=timing.total,
                model=context.window.model_name,
                usage=usage,
                cause=cause,
                again=self._again,
            )
        )
        log.info(
            "turn_ended", turn=self._id, state=state.value, tokens=usage.context, output=usage.output, **asdict(timing)
        )


async def end_unseen(context: Context, database: Database, bus: Bus, reason: str) -> None:
    """Put aside what the running turn took, by its rows alone: nobody can look at the history."""
    now = database.clock()
    async with database.fenced(context.agent_id, context.epoch) as tx:
        ended = await parked.end_running(tx, context.agent_id, reason, now=now)
        if ended:
            await outbox.change(tx, ended.slot, PUT_ASIDE)
    if ended:
        telemetry.parked(len(ended.rows))
        log.error("message_parked", messages=ended.rows, turn=ended.turn, tries=MOST_TRIES, reason=reason)
        bus.ring(topics.outbox(context.address.connector), topics.settled(context.agent_id))


def _hiding(own: list[Entry]) -> Plan:
    """A layer without a floor: it says nothing of what lies around it, and may stay when others are taken off."""
    first, last = own[0].seq, own[-1].seq
    note = Inserted(place=first, kind=EntryKind.NOTE, text=_HIDDEN)
    return Plan(PARKED, last, 0, ranges_of(entry.seq for entry in own), inserted=(note,), kind=PARKED)
