"""Runs the turn of an agent in a task of its own, and does what is to be done after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bot.agent.compacting.compactor import Compactor, Request
from bot.agent.context import Context
from bot.agent.live_view import LiveView
from bot.agent.memory import AgentMemory
from bot.agent.retries import hand_over, see_through
from bot.agent.standing_rules import StandingRules
from bot.agent.turn import Turn
from bot.compaction.gate import after_reply, ahead_margin
from bot.estimate import Level
from bot.store.turns import TurnState


class TurnRunner:
    """One at a time, in ``tasks``. ``wake``: lets the agent look for what waits; ``compact_ahead``: after a reply."""

    def __init__(
        self,
        context: Context,
        *,
        compactor: Compactor,
        memory: AgentMemory,
        rules: StandingRules,
        live: LiveView,
        wake: Callable[[], None],
        tasks: asyncio.TaskGroup,
        compact_ahead: bool,
    ) -> None:
        self._context = context
        self._compactor = compactor
        self._memory = memory
        self._rules = rules
        self._live = live
        self._wake = wake
        self._tasks = tasks
        self._compact_ahead = compact_ahead
        self.turn: Turn | None = None
        """The one that runs."""
        self.task: asyncio.Task[None] | None = None
        """Sees it through."""
        self._is_leaving = False
        self._is_crashing = False

    def start(self, turn: Turn) -> None:
        """Run it. The caller sees to it that none runs."""
        self.turn = turn
        self.task = self._tasks.create_task(self._run(turn))

    def leave(self) -> None:
        """This host gives the agent up: nothing more begins after the turn."""
        self._is_leaving = True

    def crash(self) -> None:
        """The agent breaks: what the turn was at may be why, and counts as a failure."""
        self._is_crashing = True

    async def settled(self) -> None:
        """Return when no turn is at its last steps: people see its answer a moment before they are done."""
        if self.turn is not None and self.turn.state is not TurnState.RUNNING and self.task is not None:
            await asyncio.wait({self.task})

    async def _run(self, turn: Turn) -> None:
        try:
            await see_through(turn)
        except asyncio.CancelledError:
            if not self._is_crashing:
                await hand_over(turn)
            raise
        finally:
            self.turn = None
        self._live.show_meter()
        self._tasks.create_task(self._remember())
        self._tasks.create_task(self._rules.settle(lambda: self.turn is not None))
        self._compact()
        self._wake()

    async def _remember(self) -> None:
        """Without a model, and then perhaps with one, which is shown what is known by then."""
        await self._memory.remember()
        if not self._is_leaving:
            self._compactor.extract()

    def _compact(self) -> None:
        """Before the next message comes, if it would be due soon."""
        if self._is_leaving:
            return
        context = self._context
        soon = context.strategy.level(context.meter.raised(ahead_margin(context.strategy)))
        automatic = self._compact_ahead and context.automatic
        if after_reply(soon, context.restraint, automatic=automatic) and not self._compactor.running:
            self._compactor.start(Request("ahead"))
        elif after_reply(Level.WARNING, context.restraint, automatic=automatic):
            self._compactor.fold()
