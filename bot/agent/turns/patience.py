"""What a turn does while no model answers: it asks the next one of the chain, and where none is up it waits.

::

    ask the first that is up ─ outage ─▶ the next one, by its own window and rates (room is made for it first)
              ▲                              │ all are down
              └── one is up, or may be tried ◀┘ waiting: typing, after a while one line below what is seen of the reply

Who answers and whether it was another one than before is said to people once, below the answer, and to those who run
the program as any outage is. Waiting is only ever ended by an abort, an answer, or the end of patience; nothing of it
is written down, so that a turn that was cut off in it goes on as any.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from bot.agent.abort import AbortSignal
from bot.agent.admin_notices import SAYS_WHY
from bot.agent.context import Context
from bot.agent.live_view import LiveView
from bot.agent.money.thrift import Thrift
from bot.errors import Cause, ModelError
from bot.estimate.learned_windows import is_cut
from bot.history.replies import noted
from bot.model import Link
from bot.model.chain import Chain, Search, is_outage
from bot.runtime.access import TERMINAL
from bot.runtime.tasks import stop
from bot.store.turns import TurnRow

log = structlog.get_logger(__name__)

TELL_SECONDS = 10.0
"""Who has waited so long for a model is told."""
BUSY = "⏳ The model is overloaded; I keep trying."
AWAY = "⏳ The model does not answer just now; I keep trying."
_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0


class Patience:
    """Of one turn. ``seconds``: for how long it goes on where no model answers."""

    def __init__(
        self,
        row: TurnRow,
        context: Context,
        chain: Chain,
        *,
        live: LiveView,
        abort_signal: AbortSignal,
        seconds: float,
        thrift: Thrift,
    ) -> None:
        self._slot = row.slot
        self._context = context
        self.chain = chain
        """Who is asked: from the first question on those that are cheaper, where most of a budget is spent."""
        self._thrift = thrift
        self._is_settled = False
        self._saving = ""
        self._live = live
        self._abort_signal = abort_signal
        self._seconds = seconds
        self.wanted_wait = 0.0
        """Seconds for which nobody of the chain wants calls, where that ended it."""
        self.changed = ""
        """What people are told of who answers: that it is another model than before, what the first one is, or that its
        server cuts."""

    @property
    def has_others(self) -> bool:
        """Whether there is more than one model to ask."""
        return len(self.chain.links) > 1

    @asynccontextmanager
    async def question(self) -> AsyncIterator[Question]:
        """One question, which is asked in this block until there is an answer."""
        await self._settle()
        question = Question(self, Search(self.chain, self._seconds, self._context.agent_id))
        try:
            yield question
        finally:
            await question.hush()
            self.wanted_wait = question.search.wanted_wait

    async def _settle(self) -> None:
        """Who is asked in this turn: the same in all of it."""
        if self._is_settled:
            return
        if saving := await self._abort_signal.unless(self._thrift.saving(self.chain)):
            self.chain, self._saving = saving.chain, saving.why
        self._is_settled = True

    async def until_chosen(self, search: Search) -> None:
        """Wait until somebody may be asked; the context is measured for them from then on. Raises a ModelError where
        the patience is over before that."""
        while True:
            link = search.choose()
            if link is not None:
                break
            if search.is_over:
                raise search.error
            await self._abort_signal.unless(asyncio.sleep(search.pause))
        if link is not self._context.window.link:
            log.info("model_changed", model=link.name, before=self._context.window.model_name)
        await self._context.change_to(link)

    def answered_by(self, link: Link) -> None:
        """There is an answer of this one."""
        context = self._context
        before = context.answered_by
        if link.name != before:
            self.changed = self._change(link, before) or self.changed
        context.answered_by = link.name

    def _change(self, link: Link, before: str) -> str:
        first = self.chain.first
        if link is not first:
            why = self.chain.why(first) if self._context.address.connector == TERMINAL else None
            return f"Answering with {link.called}: {first.called} is down.{f' {why}' if why else ''}"
        if self._saving:
            return self._saving
        if link.introduction and self._context.address.connector != TERMINAL:  # there it is said before the first word
            return link.introduction
        is_back = before in {one.name for one in self.chain.links} or self._thrift.is_of_it(before)
        return f"{first.called} answers again." if is_back else ""

    async def look_whether_cut(self) -> None:
        """Whether the server of whoever answered cut what it was sent, which only whoever runs it can change."""
        window = self._context.window
        if self._context.address.connector == TERMINAL and not window.bound.cut:
            limits = await window.link.model.limits(window.model_name)
            self.changed = limits.refusal if is_cut(limits.refusal) else self.changed

    def start_telling(self, cause: Cause, written: str, after: float) -> asyncio.Task[None]:
        """Show it below what is ``written`` of the reply, in so many seconds, and until this is stopped."""
        is_here = self._context.address.connector == TERMINAL
        note = BUSY if cause is Cause.BUSY else AWAY
        if is_here:
            why = f" {SAYS_WHY}" if note == AWAY else ""
            note = f"{note.removesuffix('.')} for up to {self._seconds:,.0f} s (MODEL_PATIENCE).{why}"
        return self._live.start_telling(self._slot, noted(written.strip(), note), after=after)


class Question:
    """One question to the chain; see :meth:`Patience.question`."""

    def __init__(self, patience: Patience, search: Search) -> None:
        self._patience = patience
        self.search = search
        self._telling: asyncio.Task[None] | None = None
        self._began = asyncio.get_running_loop().time()

    async def take_up(self) -> None:
        """See :meth:`Patience.until_chosen`."""
        await self._patience.until_chosen(self.search)

    def answered(self) -> None:
        """There is an answer."""
        self.search.answered()
        if self.search.asked:
            self._patience.answered_by(self.search.asked.link)

    async def failed(self, error: ModelError, written: str) -> None:
        """Whoever was asked met this. Returns where it is worth it to ask again, and people are told in time; raises
        the error of the one that is wanted most where it is not. ``written``: what they see of the reply."""
        if not is_outage(error):
            raise error
        link, goes_on = self.search.asked, self.search.failed(error)
        log.warning("model_down", model=link.link.name if link else "", cause=error.cause.value, reason=str(error))
        if not goes_on:
            raise self.search.error
        await self.hush()
        after = max(0.0, self._began + TELL_SECONDS - asyncio.get_running_loop().time())
        self._telling = self._patience.start_telling(error.cause, written, after)

    def hearing(self, on_text: Callable[[str], None]) -> Callable[[str], None]:
        """``on_text``, which ends what people are told of the waiting."""

        def hear(text: str) -> None:
            if text and self._telling:
                self._telling.cancel()
            on_text(text)

        return hear

    async def hush(self) -> None:
        """There is nothing more to wait for."""
        if self._telling:
            await stop(self._telling)
            self._telling = None


def in_words(seconds: float) -> str:
    """When something may be tried again, in so many seconds."""
    for unit, name in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        count = round(seconds / unit)
        if seconds >= 0.95 * unit:
            return f"in {'an' if name == 'hour' else 'a'} {name}" if count <= 1 else f"in {count} {name}s"
    return "in a moment"
