"""Room for the next request: before each one the gate, and after one that was too large whatever it takes."""

from __future__ import annotations

import structlog

from bot.agent.abort import AbortedError, AbortSignal
from bot.agent.compacting.compactor import Compactor, Outcome, Request
from bot.agent.context import Context
from bot.agent.model_requests import ModelRequests
from bot.agent.turns.timing import Timing
from bot.compaction.gate import Gate, before_request
from bot.compaction.oversize import Blame, blame, last_words
from bot.errors import Cause
from bot.runtime.telemetry import telemetry
from bot.store import turns
from bot.store.turns import TurnRow

log = structlog.get_logger(__name__)

MOST_COMPACTIONS = 3
STOPPED_AND_TOO_LARGE = (
    "The compaction was stopped, and the whole conversation does not fit into the model{}, so this was not answered. "
    "Your message stays in the conversation: write again, and I compact first. (/new starts afresh.)"
)
REACHED_MAXIMUM = "Reached maximum compaction attempts. Please start a new session to continue."
NEW_SESSION = "(/new starts one; /undo takes it back.)"


class CannotGoOnError(Exception):
    """The turn ends without an answer; the text tells people why, and ``cause`` operators in a word."""

    def __init__(self, message: str, *, cause: Cause = Cause.TOO_LARGE) -> None:
        super().__init__(message)
        self.cause = cause


class RoomMaker:
    """Makes room in one turn. ``abort_signal`` ends any waiting for a compaction."""

    def __init__(
        self,
        row: TurnRow,
        context: Context,
        *,
        requests: ModelRequests,
        compactor: Compactor,
        abort_signal: AbortSignal,
        timing: Timing,
    ) -> None:
        self._context = context
        self._requests = requests
        self._compactor = compactor
        self._abort_signal = abort_signal
        self._timing = timing
        self._turn = row.id
        self._compactions = row.recoveries
        self._stopped_upto = row.stopped_upto
        self._waits = False

    @property
    def waits(self) -> bool:
        """Whether the turn waits for a compaction just now; after a restart it will, before it asks anything."""
        return self._waits or self._compactor.is_of(self._turn)

    def leave_whole(self) -> None:
        """A person stopped the compaction: the answer is given without one."""
        self._stopped_upto = self._context.history.last_seq

    async def make(self) -> None:
        """The gate before every request."""
        context = self._context
        automatic = context.automatic
        while True:
            await self._abort_signal.unless(self._requests.count())
            meter = context.meter
            if meter.over and (found := self._blame()):
                await self._give_up_on(found)
            if self._is_left_whole():
                if meter.over:
                    raise AbortedError(self._too_large_whole())
                return
            if self._compactor.is_of(self._turn):  # a crash came in between
                await self._joined()
                continue
            running = self._compactor.running
            gate = before_request(meter, context.level, context.restraint, running=running, automatic=automatic)
            if gate is Gate.GO_ON:
                return
            if gate is Gate.COMPACT:
                self._compactor.start(Request("auto", turn=self._turn))
            outcome = await self._joined()
            if outcome is Outcome.ABORTED:
                continue
            if gate is Gate.COMPACT and (outcome is Outcome.NOTHING or context.meter.over):
                break
        if context.meter.over:
            await self.recover(f"{context.meter.total:,} of {context.meter.limit:,} tokens")

    async def recover(self, overflow: str) -> None:
        """The context does not fit: compact it whatever it takes, or say which part is to blame."""
        context = self._context
        log.warning("context_overflow", reason=overflow, compactions=self._compactions)
        if found := self._blame():
            await self._give_up_on(found)
        if self._is_left_whole():
            raise AbortedError(self._too_large_whole())
        if self._compactions >= MOST_COMPACTIONS:
            raise CannotGoOnError(f"{REACHED_MAXIMUM} {self._last_words()} {NEW_SESSION}")
        self._compactions += 1
        async with context.step() as step:
            await turns.count_recovery(step.tx, self._turn)
        outcome = await self._joined() if self._compactor.running else Outcome.UNCHANGED
        if outcome is Outcome.DONE:
            return
        if outcome is not Outcome.ABORTED:
            self._compactor.start(Request("recovery", turn=self._turn))
            outcome = await self._joined()
        if outcome is Outcome.ABORTED:
            raise AbortedError(self._too_large_whole())
        if problem := self._compactor.problem:
            raise CannotGoOnError(
                f"There is no room for an answer, and making some failed. {problem}", cause=Cause.BROKEN
            )
        if outcome is not Outcome.DONE:  # the same page again would be refused again
            await self._give_up_on(self._blame(surely=True))

    async def _joined(self) -> Outcome:
        self._waits = True
        try:
            with self._timing.of("compaction") as span:
                outcome = await self._abort_signal.unless(self._compactor.join())
        finally:
            self._waits = False
            telemetry.compaction_waited_for(span.seconds)
        if outcome is Outcome.ABORTED:
            self.leave_whole()
        return outcome

    def _is_left_whole(self) -> bool:
        """Whether a person stopped the compaction of this very context: it is not begun again for the same message,
        before that has made the context another one."""
        own = (entry.seq for entry in reversed(self._context.history.entries) if entry.turn == self._turn)
        return bool(self._stopped_upto) and next(own, 0) <= self._stopped_upto

    def _too_large_whole(self) -> str:
        meter = self._context.meter
        size = f" ({meter.total:,} of {meter.limit:,} tokens)" if meter.over else ""
        return STOPPED_AND_TOO_LARGE.format(size)

    def _blame(self, *, surely: bool = False) -> Blame | None:
        context = self._context
        history, meter = context.history, context.meter
        return blame(history, meter, context.head_tokens, context.factor, bound=context.window.bound, surely=surely)

    def _last_words(self) -> str:
        context = self._context
        return last_words(context.history, context.meter, context.head_tokens, context.factor, context.window.bound)

    async def _give_up_on(self, found: Blame | None) -> None:
        """One part alone is too large. It is shown to the model in part from now on, so that the next message fits."""
        if found and found.plan:
            async with self._context.step() as step:
                await step.put(found.plan)
        raise CannotGoOnError(found.sentence if found else REACHED_MAXIMUM)
