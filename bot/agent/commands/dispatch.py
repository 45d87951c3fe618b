"""Control: the commands of people. They are answered at once, whatever runs, and only touch what came before them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from bot.agent.commands import compact, texts
from bot.agent.commands.recalling import answer_people
from bot.agent.commands.texts import DEFAULT, Command
from bot.agent.compacting.compactor import Compactor, Outcome, Request, Stopped
from bot.agent.context import Context
from bot.agent.memory import AgentMemory
from bot.agent.retries import DIED, Retries
from bot.agent.step import Step
from bot.agent.turn import Turn
from bot.agent.turns.ending import PARKED
from bot.bus import topics
from bot.compaction.notices import taken_back
from bot.compaction.plan import Plan, everything_but
from bot.errors import StaleEpoch, StoreUnavailable, StrategyFailed
from bot.messages import ANSWER, COMPACTION
from bot.runtime import access
from bot.runtime.telemetry import telemetry
from bot.store import people, runs
from bot.store.inbox import Waiting
from bot.store.turns import TurnState

log = structlog.get_logger(__name__)

_OUTLOOK_SECONDS = 1.0
"""Nobody waits longer for what /context says of a compaction that was not asked for."""
BUSY = "Busy: I am still answering. Wait for the answer, or stop it with /abort."
COMPACTING = "Busy: a compaction is under way. Wait for it, or stop it with /abort."
MOST_ASIDE = 4
"""Commands that take a moment, answered at once for one conversation."""
_ASIDE = frozenset({"context", "recall"})


@dataclass
class UnderWay:
    """The turn that runs, and the task that sees it through."""

    turn: Turn | None = None
    task: asyncio.Task[None] | None = None


class Control:
    """Obeys the commands of one agent. ``tasks`` owns what is answered aside."""

    def __init__(
        self, context: Context, compactor: Compactor, memory: AgentMemory, under_way: UnderWay, tasks: asyncio.TaskGroup
    ) -> None:
        self._context = context
        self._services = context.services
        self._compactor = compactor
        self._memory = memory
        self._under_way = under_way
        self._tasks = tasks
        self._retries = Retries(context)
        self.in_hand: set[int] = set()
        """Commands that are being answered, or rest before another try, by their rows in the inbox."""

    async def obey(self, command: Command, message: Waiting) -> None:
        """Answer one command. One that crashes is tried again, and then put aside."""
        if self._retries.is_over(message):
            await self._retries.park(message, DIED)
            return
        if command.name in _ASIDE and len(self.in_hand) >= MOST_ASIDE:
            return  # it comes when one of them is answered
        counted = command.name != "abort"  # which must not wait for anything, nor does it do anything that could kill
        if counted:
            await self._retries.count([message])
        try:
            await self._obey(command, message)
        except (StaleEpoch, StoreUnavailable):
            raise
        except Exception as error:  # noqa: BLE001  # logged, counted and told there
            await self._crashed(message, error, counted=counted)

    async def _crashed(self, message: Waiting, error: Exception, *, counted: bool) -> None:
        self.in_hand.add(message.id)
        seconds = await self._retries.failed([message], error, counted=counted)
        self._tasks.create_task(self._rest(message, seconds))

    async def _rest(self, message: Waiting, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._let_go(message)

    def _let_go(self, message: Waiting) -> None:
        self.in_hand.discard(message.id)
        self._services.bus.ring(topics.inbox(self._context.agent_id))

    @property
    def _is_busy(self) -> bool:
        return self._under_way.turn is not None or self._compactor.running

    async def _obey(self, command: Command, message: Waiting) -> None:
        telemetry.commanded(command.name, known=command.known)
        log.info("command", command=command.name)
        told = {"start": texts.hello, "help": texts.help_text, "status": self._status_text}
        if not command.known:
            await self._obey_unknown(command, message)
        elif command.name in told:
            await self._answer(message, told[command.name]())
        elif command.name == "context":
            self._aside(message, self._show_context(message))
        elif command.name == "recall":
            self._aside(message, self._recall(command, message))
        elif command.name == "memory":
            await self._answer(message, await self._memory.obey(command.argument, busy=self._is_busy))
        elif command.name == "strategy":
            await self._strategy(command, message)
        elif command.name == "abort":
            await self._answer(message, await self._abort(command.argument.lower()))
        elif self._is_busy:
            await self._answer(message, BUSY if self._under_way.turn else COMPACTING)
        elif command.name == "compact":
            await self._compact(command, message)
        elif command.name == "undo":
            await self._undo(command, message)
        elif command.name == "new":
            await self._new(message)

    async def _obey_unknown(self, command: Command, message: Waiting) -> None:
        """What admins alone can do; else nothing. In a group it may be meant for another bot."""
        if command.name == "pair" and self._is_admin(message):
            await self._pair(command, message)
        elif not message.speaker or message.kind == "press":  # a button is under a message of ours
            await self._answer(message, texts.unknown(command.name))
        else:
            async with self._context.step() as step:
                await step.close([message.id])

    async def _answer(self, message: Waiting, text: str) -> None:
        """Nothing is said where people see already what came of it."""
        async with self._context.step() as step:
            if text:
                await step.say(text, answers=message.ref)
            else:
                await step.leave_unsaid(message.ref)
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

    async def _abort(self, what: str) -> str:
        """Stop what runs; nothing of it waits for a worker or the model. Of an answer that waits for a compaction only
        that is stopped: it is given on the whole context, unless a second `/abort` stops it too. ``what``: where one
        of both alone is meant. Returns what is still to be said of it: it is said in one place, and that may be the
        answer or the compaction that was stopped."""
        turn = self._under_way.turn
        waits = turn is not None and turn.waits_for_compaction and self._compactor.is_announced
        if what == COMPACTION or (waits and what != ANSWER):
            return await self._abort_compaction(turn)
        if what == ANSWER and (turn is not None or not self._compactor.is_planning):
            return await self._abort_turn(Stopped.NOTHING)
        return await self._abort_turn(await self._compactor.abort(with_turn=turn is not None))

    async def _abort_compaction(self, turn: Turn | None) -> str:
        waiting = turn if turn and turn.waits_for_compaction else None
        stopped = await self._compactor.abort(waiting=waiting.id if waiting else None)
        if waiting and stopped is Stopped.SAID:
            waiting.leave_whole()
        telemetry.aborted(turn=False, compaction=stopped is not Stopped.NOTHING)
        told = {Stopped.SAID: "", Stopped.UNSAID: "Stopped the compaction."}
        return told.get(stopped, "The compaction is over already.")

    async def _abort_turn(self, compaction: Stopped) -> str:
        """``compaction``: what was stopped of one."""
        turn, task = self._under_way.turn, self._under_way.task
        compacting, said = compaction is not Stopped.NOTHING, compaction is Stopped.SAID
        if turn is None or task is None:
            telemetry.aborted(turn=False, compaction=compacting)
            if said:
                return ""
            return "Stopped the compaction." if compacting else "There is nothing to stop."
        turn.abort()
        await asyncio.wait({task})
        telemetry.aborted(turn=turn.state is TurnState.ABORTED, compaction=compacting)
        if turn.state is not TurnState.ABORTED:
            return "I was just done."
        if said or turn.said_stopped:
            return ""
        what = "Stopped the compaction and the answer" if compacting else "Stopped"
        return f"{what}. Your message stays in the conversation."

    def _aside(self, message: Waiting, answering: Coroutine[Any, Any, None]) -> None:
        """Answer a command that takes a moment, without keeping the next one waiting."""

        async def answer() -> None:
            try:
                await answering
            except StaleEpoch:
                raise
            except StoreUnavailable as error:  # it waits in the inbox, and is looked at again
                log.warning("command_waits", reason=str(error))
                self.in_hand.discard(message.id)
            except Exception as error:  # noqa: BLE001  # logged, counted and told there
                await self._crashed(message, error, counted=True)
            else:
                self._let_go(message)

        self.in_hand.add(message.id)
        self._tasks.create_task(answer())

    async def _compact(self, command: Command, message: Waiting) -> None:
        """Begin, with the options that stand there for this one run."""
        try:
            asked = compact.asked(command.argument, self._services.strategies, self._context.strategy)
        except ValueError as error:
            await self._answer(message, str(error))
            return
        request = Request(
            "manual", asked.focus, closes=[message.id], answers=message.ref, strategy=asked.strategy, given=asked.given
        )
        self._compactor.start(request)
        by = f" by {asked.strategy.name}" if asked.strategy else ""
        self._aside(message, self._see_planned(message, by))

    async def _see_planned(self, message: Waiting, by: str) -> None:
        """A compaction that was asked for shows itself, unless it does not come to that. ``by``: how it was to be."""
        if not await self._compactor.planned():
            outcome = await self._compactor.join()
            stopped = "Stopped." if outcome is Outcome.ABORTED else ""
            text = stopped or self._compactor.problem or f"There is nothing to compact yet{by}."
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
            await self._answer(message, texts.unknown_strategy(command.argument, strategies.names))
            return
        text = texts.strategy_text(context.strategy.name, strategies.names, chosen=bool(wanted))
        await self._answer(message, text)
        self._tasks.create_task(self._memory.remember("catch_up"))
        context.show_meter()

    async def _undo(self, command: Command, message: Waiting) -> None:
        context = self._context
        layers = [layer for layer in context.history.layers if layer.kind != PARKED]  # that would break it again
        if not layers:
            await self._answer(message, "There is nothing to undo.")
            return
        top, before = layers[-1], context.meter
        if command.argument and not (top.run or "").startswith(command.argument):
            await self._answer(message, "That is not the last compaction any more. /undo takes back the last one.")
            return
        async with context.step() as step:
            await step.take_off(top.number)
            step.restraint = step.restraint.undone()
            after = context.measured(step.history)
            level = context.strategy.level(after)
            await self._no_undo_any_more(step, top.run)
            await step.say(texts.undone_text(top.kind, before, after, level), answers=message.ref)
            await step.close([message.id])
            step.afterwards.append(partial(telemetry.undone, top.kind))
        self._context.show_meter()

    async def _no_undo_any_more(self, step: Step, run_id: str | None) -> None:
        """The status message of what was taken back says so, and its button is gone."""
        run = await runs.get(step.tx, run_id) if run_id else None
        if run and run.meter_after:
            await step.change(run.status_slot, taken_back(run.meter_before["total"], run.meter_after["total"]))

    async def _new(self, message: Waiting) -> None:
        upto = self._context.history.last_seq
        if self._is_fresh():
            await self._answer(message, "This is a fresh conversation already.")
            return
        async with self._context.step() as step:
            await step.put(Plan("new", upto, upto + 1, everything_but((), upto), kind="new"))
            text = "A fresh start: I no longer see what was said before. /undo brings it back."
            await step.say(text, answers=message.ref)
            await step.close([message.id])
        self._context.show_meter()

    def _is_fresh(self) -> bool:
        history = self._context.history
        new = next((layer for layer in reversed(history.layers) if layer.kind != PARKED), None)
        return history.last_seq == 0 or (new is not None and new.kind == "new" and new.upto == history.last_seq)

    async def _show_context(self, message: Waiting) -> None:
        context = self._context
        async with self._services.database.read() as tx:
            last = await runs.latest(tx, context.agent_id)
            there = await runs.latest(tx, context.agent_id, done=True)
        taken_back = last is not None and last.state is runs.RunState.DONE and (there is None or there.id != last.id)
        try:
            async with asyncio.timeout(_OUTLOOK_SECONDS):
                freed = await self._compactor.outlook()
        except (TimeoutError, StrategyFailed):
            freed = None
        text = texts.context_text(
            context.meter,
            context.strategy,
            context.restraint,
            last,
            taken_back=taken_back,
            automatic=context.automatic,
            ahead=self._services.settings.agents.compact_ahead,
            freed=freed,
        )
        about = context.bound.told if context.limit_is_known else texts.LIMIT_ASSUMED
        await self._answer(message, f"{text}\n{about}".rstrip())

    def _status_text(self) -> str:
        settings, context = self._services.settings, self._context
        apart = " (at an endpoint of its own)" if settings.has_own_summary_endpoint else ""
        doing = "answering" if self._under_way.turn else "compacting" if self._compactor.running else "waiting for you"
        lines = [
            f"Model: {self._services.model_name}" + (" (local)" if settings.uses_local_model else ""),
            f"Summaries by: {self._services.summary_model_name}" + apart,
            f"Strategy: {context.strategy.name}",
            f"Context: {context.meter.total:,} of {context.limit:,} tokens",
            *([context.bound.told] if context.bound.told else []),
            f"Layers: {len(context.history.layers)}",
            f"Conversation: {context.agent_id}",
            f"Now: {doing}",
            *texts.servers_text(self._services.mcp.status(context.agent_id)),
        ]
        return "\n".join(lines)
