"""An agent: the actor of one conversation. One turn at a time; commands are answered at once, whatever runs.

Set-up sees through what a crash left open; then the loop takes what waits in the inbox, in the platform's order,
until nothing has happened for a while. The host keeps the lease and cancels the agent when it is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

import structlog

from bot import access, commands
from bot.commands import DEFAULT, Command
from bot.compaction.plan import Plan, everything_but
from bot.compactor import Compactor, Outcome, Request
from bot.context import Context
from bot.errors import StaleEpoch, StoreUnavailable, StrategyFailed
from bot.gate import AHEAD_BELOW_WARNING, after_reply, is_automatic
from bot.memory import AgentMemory
from bot.recalling import answer_people
from bot.services import Services
from bot.store import inbox, people, runs, turns
from bot.store.agents import AgentRow
from bot.store.inbox import Waiting
from bot.store.turns import TurnState
from bot.turn import Turn

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 5.0
_OUTLOOK_SECONDS = 1.0
"""Nobody waits longer for what /context says of a compaction that was not asked for."""
IDLE_SECONDS = 120.0
BUSY = "Busy: I am still answering. Wait for the answer, or stop it with /abort."
_OF_THE_PAST = frozenset({"compact", "undo", "new"})
"""Commands about what was said before them."""
WAITS = "👀"
"""Put on a message that has to wait."""
COMPACTING = "Busy: a compaction is under way. Wait for it, or stop it with /abort."


class Agent:
    """One conversation, on the host that has it."""

    def __init__(self, services: Services, row: AgentRow) -> None:
        self._services = services
        self._context = Context(services, row)
        self._memory = AgentMemory(self._context)
        self._topic = f"inbox:{row.id}"
        self._turn: Turn | None = None
        self._fetching: int | None = None
        """The position of the first message whose files are on their way."""
        self._in_hand: set[int] = set()
        """Commands that are being answered, by their rows in the inbox."""

    async def run(self) -> None:
        """Live until idle. Raises StaleEpoch when another host took over, StoreUnavailable."""
        with structlog.contextvars.bound_contextvars(agent=self._context.agent_id):
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                self._compactor = Compactor(self._context, tasks)
                await self._set_up()
                await self._loop()

    async def _set_up(self) -> None:
        await self._context.load()
        await self._compactor.resume()
        async with self._services.database.read() as tx:
            cut_off = await turns.running(tx, self._context.agent_id)
        if cut_off:
            log.info("turn_resumed", turn=cut_off.id)
            self._start(Turn(self._context, self._compactor, cut_off))
        self._context.show_meter()

    async def _loop(self) -> None:
        clock = self._services.database.clock
        active = clock()
        async with self._services.bus.bell(self._topic) as bell:
            while self._busy or clock() - active < IDLE_SECONDS:
                await bell.wait(SWEEP_SECONDS)
                if await self._take_what_waits() or self._busy:
                    active = clock()

    @property
    def _busy(self) -> bool:
        return self._turn is not None or self._compactor.running

    async def _take_what_waits(self) -> bool:
        """Commands at once; messages into a turn when none runs, all that stand together into one."""
        async with self._services.database.read() as tx:
            waiting = await inbox.waiting(tx, self._context.agent_id)
            self._fetching = await inbox.fetching_since(tx, self._context.agent_id)
        collected: list[Waiting] = []
        for message in waiting:
            if message.id in self._in_hand:
                continue
            command = commands.parse(message.text) if not message.files else None
            if command is None:
                collected.append(message)
                continue
            if command.name in _OF_THE_PAST and self._fetching is not None and self._fetching < message.position:
                continue  # what was said before it is not complete yet
            await self._begin_turn(collected)
            collected = []
            await self._obey(command, message)
        await self._begin_turn(collected)
        return bool(waiting) or self._fetching is not None

    async def _begin_turn(self, messages: Sequence[Waiting]) -> None:
        """Answer these, unless something is under way, or files that belong to them: then they wait, visibly."""
        if not messages or (self._turn is None and self._fetching is not None):
            return
        turn, when_busy = self._turn, self._services.settings.agents.when_busy
        if turn is None:
            self._start(await Turn.begin(self._context, self._compactor, messages))
        elif when_busy == "interrupt":
            turn.abort()
        else:
            await self._mark(messages)
            if when_busy == "steer" and self._fetching is None:
                turn.steer([replace(message, marked=bool(message.ref)) for message in messages])

    async def _mark(self, messages: Sequence[Waiting]) -> None:
        new = [message for message in messages if message.ref and not message.marked]
        if new:
            async with self._context.step() as step:
                still_waiting = await inbox.mark(step.tx, [message.id for message in new], marked=True)
            for message in new:
                if message.id in still_waiting:
                    self._context.react(message.ref, WAITS)

    def _start(self, turn: Turn) -> None:
        self._turn = turn
        self._working = self._tasks.create_task(self._work(turn))

    async def _work(self, turn: Turn) -> None:
        try:
            await turn.run()
        except (StaleEpoch, StoreUnavailable):
            raise
        except Exception:
            log.exception("turn_crashed", turn=turn.id)
            await self._end_crashed(turn)
        finally:
            self._turn = None
        self._context.show_meter()
        self._tasks.create_task(self._remember())
        self._compact_ahead()
        self._services.bus.ring(self._topic)

    async def _end_crashed(self, turn: Turn) -> None:
        """A defect of this program ends the turn, and is told."""
        await self._context.reload()
        await turn.end_crashed()

    async def _remember(self, mode: str = "turn") -> None:
        """Take in what was said. A defect in there costs facts, and no answer."""
        try:
            await self._memory.refresh(mode)
        except (StaleEpoch, StoreUnavailable):
            raise
        except Exception:
            log.exception("memory_not_refreshed")

    def _compact_ahead(self) -> None:
        settings, context = self._services.settings.agents, self._context
        soon = context.strategy.level(context.meter.raised(AHEAD_BELOW_WARNING))
        automatic = settings.compact_ahead and is_automatic(settings.warning)
        if after_reply(soon, context.restraint, automatic=automatic) and not self._compactor.running:
            self._compactor.start(Request("ahead"))

    async def _obey(self, command: Command, message: Waiting) -> None:
        log.info("command", command=command.name)
        told = {"start": commands.hello, "help": commands.help_text, "status": self._status_text}
        if not command.known:
            await self._obey_unknown(command, message)
        elif command.name in told:
            await self._answer(message, told[command.name]())
        elif command.name == "context":
            self._aside(message, self._show_context(message))
        elif command.name == "recall":
            self._aside(message, self._recall(command, message))
        elif command.name == "memory":
            await self._answer(message, await self._memory.obey(command.argument, busy=self._busy))
        elif command.name == "strategy":
            await self._strategy(command, message)
        elif command.name == "abort":
            await self._answer(message, await self._abort())
        elif self._busy:
            await self._answer(message, BUSY if self._turn else COMPACTING)
        elif command.name == "compact":
            self._compactor.start(Request("manual", command.argument, closes=[message.id], answers=message.ref))
            self._aside(message, self._see_planned(message))
        elif command.name == "undo":
            await self._undo(command, message)
        elif command.name == "new":
            await self._new(message)

    async def _obey_unknown(self, command: Command, message: Waiting) -> None:
        """What admins alone can do; else nothing. In a group it may be meant for another bot."""
        if command.name == "pair" and self._is_admin(message):
            await self._pair(command, message)
        elif not message.speaker:
            await self._answer(message, commands.unknown(command.name))
        else:
            async with self._context.step() as step:
                await step.close([message.id])

    async def _answer(self, message: Waiting, text: str) -> None:
        async with self._context.step() as step:
            await step.say(text, answers=message.ref)
            await step.close([message.id])

    def _is_admin(self, message: Waiting) -> bool:
        return self._services.access.is_admin(self._context.address, message.person)

    async def _pair(self, command: Command, message: Waiting) -> None:
        """An admin lets somebody in."""
        async with self._context.step() as step:
            found = await people.approve(step.tx, command.argument.upper(), now=self._services.database.clock())
            if found is None:
                text = "I know no such code, or it has expired. /pair CODE lets somebody in."
                await step.say(text, answers=message.ref)
            else:
                await step.say(f"{found.name or found.person} is let in.", answers=message.ref)
                await step.say_to(found.address, access.welcome())
            await step.close([message.id])

    async def _abort(self) -> str:
        """Stop the compaction and the turn that run; neither waits for a worker or the model."""
        compacting = await self._compactor.abort()
        turn = self._turn
        if turn is None:
            return "Stopped the compaction." if compacting else "There is nothing to stop."
        turn.abort()
        await asyncio.wait({self._working})
        if turn.state is TurnState.ABORTED:
            what = "Stopped the compaction and the answer" if compacting else "Stopped"
            return f"{what}. Your message stays in the conversation."
        return "I was just done."

    def _aside(self, message: Waiting, answering: Coroutine[Any, Any, None]) -> None:
        """Answer a command that takes a moment, without keeping the next one waiting."""

        async def answer() -> None:
            try:
                await answering
            finally:
                self._in_hand.discard(message.id)

        self._in_hand.add(message.id)
        self._tasks.create_task(answer())

    async def _see_planned(self, message: Waiting) -> None:
        """A compaction that was asked for shows itself, unless it does not come to that."""
        if not await self._compactor.planned():
            outcome = await self._compactor.join()
            stopped = "Stopped." if outcome is Outcome.ABORTED else ""
            text = stopped or self._compactor.problem or "There is nothing to compact yet."
            await self._answer(message, text)

    async def _recall(self, command: Command, message: Waiting) -> None:
        text = await answer_people(self._services.database, self._context.agent_id, command.argument)
        await self._answer(message, text)

    async def _strategy(self, command: Command, message: Waiting) -> None:
        """Show how this conversation is compacted, or choose it; what runs goes on as it began."""
        context, strategies = self._context, self._services.strategies
        wanted = command.argument.lower()
        if wanted == DEFAULT:
            await context.choose_strategy("")
        elif strategies.get(wanted):
            await context.choose_strategy(wanted)
        elif wanted:
            await self._answer(message, commands.unknown_strategy(command.argument, strategies.names))
            return
        text = commands.strategy_text(context.strategy.name, strategies.names, chosen=bool(wanted))
        await self._answer(message, text)
        self._tasks.create_task(self._remember("catch_up"))
        context.show_meter()

    async def _undo(self, command: Command, message: Waiting) -> None:
        context = self._context
        if not context.history.layers:
            await self._answer(message, "There is nothing to undo.")
            return
        top, before = context.history.layers[-1], context.meter
        if command.argument and not (top.run or "").startswith(command.argument):
            await self._answer(message, "That is not the last compaction any more. /undo takes back the last one.")
            return
        async with context.step() as step:
            await step.take_off(top.number)
            step.restraint = step.restraint.undone()
            after = context.measured(step.history)
            level = context.strategy.level(after)
            await step.say(commands.undone_text(top.kind, before, after, level), answers=message.ref)
            await step.close([message.id])
        self._context.show_meter()

    async def _new(self, message: Waiting) -> None:
        upto = self._context.history.last_seq
        if not self._context.history.visible:
            await self._answer(message, "This is a fresh conversation already.")
            return
        async with self._context.step() as step:
            await step.put(Plan("new", upto, upto + 1, everything_but((), upto), kind="new"))
            text = "A fresh start: I no longer see what was said before. /undo brings it back."
            await step.say(text, answers=message.ref)
            await step.close([message.id])
        self._context.show_meter()

    async def _show_context(self, message: Waiting) -> None:
        context, settings = self._context, self._services.settings.agents
        async with self._services.database.read() as tx:
            last = await runs.latest(tx, context.agent_id)
        try:
            async with asyncio.timeout(_OUTLOOK_SECONDS):
                freed = await self._compactor.outlook()
        except (TimeoutError, StrategyFailed):
            freed = None
        text = commands.context_text(
            context.meter,
            context.strategy,
            context.restraint,
            last,
            automatic=is_automatic(settings.warning),
            freed=freed,
        )
        await self._answer(message, text if context.limit_is_known else f"{text}\n{commands.LIMIT_ASSUMED}")

    def _status_text(self) -> str:
        settings, context = self._services.settings, self._context
        doing = "answering" if self._turn else "compacting" if self._compactor.running else "waiting for you"
        lines = [
            f"Model: {self._services.model_name}" + (" (local)" if settings.uses_local_model else ""),
            f"Summaries by: {settings.compaction_model or self._services.model_name}",
            f"Strategy: {context.strategy.name}",
            f"Context: {context.meter.total:,} of {context.limit:,} tokens",
            f"Layers: {len(context.history.layers)}",
            f"Conversation: {context.agent_id}",
            f"Now: {doing}",
            *commands.servers_text(self._services.mcp.status(context.agent_id)),
        ]
        return "\n".join(lines)
