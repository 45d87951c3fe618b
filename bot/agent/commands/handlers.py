"""What each command does.

A handler returns what is to be said of it: nothing (empty) where people see already what came of it, None where it has
answered by itself, or will.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import ClassVar

from bot.agent.appointments.commands import AppointmentCommands
from bot.agent.commands import texts
from bot.agent.commands.answers import Answers
from bot.agent.commands.arguments import DEFAULT, compact_arguments
from bot.agent.commands.recalling import answer_people
from bot.agent.compacting.compactor import Compactor, Outcome, Request, Stopped
from bot.agent.context import Context
from bot.agent.live_view import LiveView
from bot.agent.memory import AgentMemory
from bot.agent.model_choice import ModelChoice
from bot.agent.money.commands import MoneyCommands
from bot.agent.standing_rules import StandingRules
from bot.agent.step import Step
from bot.agent.tools.mcp.servers import McpServers
from bot.agent.turn import Turn
from bot.agent.turns.beginning import Beginning
from bot.agent.turns.runner import TurnRunner
from bot.compaction.notices import taken_back
from bot.compaction.plan import away_again, fresh_start
from bot.compaction.standing_rules import out_of_view, pinned
from bot.errors import ConfigurationError, ModelError, StrategyFailed
from bot.history import IMPORTED, LASTING
from bot.messages import ANSWER, COMPACTION
from bot.runtime import access
from bot.runtime.access import Access
from bot.runtime.settings import Settings
from bot.runtime.strategies import Strategies
from bot.runtime.telemetry import telemetry
from bot.runtime.zones import UnknownZoneError, understood
from bot.store import Database, people, runs, turns, zones
from bot.store.inbox import Waiting
from bot.store.turns import TurnState

_OUTLOOK_SECONDS = 1.0
"""Nobody waits longer for what /context says of a compaction that was not asked for."""


class CommandHandlers:
    """Carries out the commands of one agent; :attr:`BY_NAME` has one for each row of the table."""

    def __init__(
        self,
        context: Context,
        *,
        compactor: Compactor,
        runner: TurnRunner,
        beginning: Beginning,
        memory: AgentMemory,
        rules: StandingRules,
        appointments: AppointmentCommands,
        money: MoneyCommands,
        answers: Answers,
        live: LiveView,
        model_choice: ModelChoice,
        access: Access,
        database: Database,
        strategies: Strategies,
        mcp: McpServers,
        settings: Settings,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._context = context
        self._compactor = compactor
        self._runner = runner
        self._beginning = beginning
        self._memory = memory
        self._rules = rules
        self._appointments = appointments
        self._money = money
        self._answers = answers
        self._live = live
        self._model_choice = model_choice
        self._access = access
        self._database = database
        self._strategies = strategies
        self._mcp = mcp
        self._settings = settings
        self._tasks = tasks

    @property
    def is_busy(self) -> bool:
        """Whether an answer or a compaction is under way."""
        return self._runner.turn is not None or self._compactor.running

    async def carry_out(self, name: str, argument: str, message: Waiting) -> str | None:
        """Do what the command of this name does; what is to be said of it."""
        return await self.BY_NAME[name](self, argument, message)

    async def _usage(self, _argument: str, message: Waiting) -> str:
        return await self._money.usage(message)

    async def _budget(self, argument: str, message: Waiting) -> str:
        return await self._money.budget(argument, message)

    async def _help(self, _argument: str, _message: Waiting) -> str:
        return texts.help_text()

    async def _start(self, _argument: str, _message: Waiting) -> str:
        return texts.hello()

    async def _compact(self, argument: str, message: Waiting) -> str | None:
        """Begin, with the options that stand there for this one run."""
        try:
            asked = compact_arguments(argument, self._strategies, self._context.strategy)
        except ValueError as error:
            return str(error)
        request = Request(
            "manual", asked.focus, closes=[message.id], answers=message.ref, strategy=asked.strategy, given=asked.given
        )
        self._compactor.start(request)
        by = f" by {asked.strategy.name}" if asked.strategy else ""
        self._answers.aside(message, partial(self._unplanned, by))
        return None

    async def _unplanned(self, by: str) -> str | None:
        """A compaction that was asked for shows itself, unless it does not come to that. ``by``: how it was to be."""
        if await self._compactor.planned():
            return None
        outcome = await self._compactor.join()
        stopped = "Stopped." if outcome is Outcome.ABORTED else ""
        return stopped or self._compactor.problem or f"There is nothing to compact yet{by}."

    async def _abort(self, argument: str, message: Waiting) -> str:
        """Stop what runs; nothing of it waits for a worker or the model. Of an answer that waits for a compaction only
        that is stopped: it is given on the whole context, unless a second `/abort` stops it too. ``argument``: where
        one of both alone is meant. That something was stopped is said in one place, and that may be the answer or the
        compaction that was stopped."""
        what, turn = argument.lower(), self._runner.turn
        waits = turn is not None and turn.waits_for_compaction and self._compactor.is_announced
        if what == COMPACTION or (waits and what != ANSWER):
            return await self._abort_compaction(turn, message)
        if what == ANSWER and (turn is not None or not self._compactor.is_planning):
            return await self._abort_turn(Stopped.NOTHING, message)
        return await self._abort_turn(await self._compactor.abort(with_turn=turn is not None), message)

    async def _abort_compaction(self, turn: Turn | None, message: Waiting) -> str:
        waiting = turn if turn and turn.waits_for_compaction else None
        stopped = await self._compactor.abort(waiting=waiting.id if waiting else None)
        if waiting and stopped is Stopped.SAID:
            waiting.leave_whole()
        telemetry.aborted(turn=False, compaction=stopped is not Stopped.NOTHING)
        if stopped is Stopped.NOTHING:
            return await self._nothing_to_stop(message, "The compaction is over already.")
        return "" if stopped is Stopped.SAID else "Stopped the compaction."

    async def _abort_turn(self, compaction: Stopped, message: Waiting) -> str:
        """``compaction``: what was stopped of one."""
        turn, task = self._runner.turn, self._runner.task
        compacting, said = compaction is not Stopped.NOTHING, compaction is Stopped.SAID
        if turn is None or task is None:
            telemetry.aborted(turn=False, compaction=compacting)
            if said:
                return ""
            return "Stopped the compaction." if compacting else await self._nothing_to_stop(message)
        turn.abort()
        await asyncio.wait({task})
        telemetry.aborted(turn=turn.state is TurnState.ABORTED, compaction=compacting)
        if turn.state is not TurnState.ABORTED:
            return "I was just done."
        if said or turn.said_stopped:
            return ""
        return texts.STOPPED_BOTH if compacting else texts.STOPPED

    async def _nothing_to_stop(self, message: Waiting, sentence: str = "There is nothing to stop.") -> str:
        """What is stopped already, since this came, was stopped by this very command before a crash, or by another one
        that came with it: that is said once."""
        async with self._database.glance() as tx:
            answer = await turns.stopped_since(tx, self._context.agent_id, message.received_at)
            run = await runs.latest(tx, self._context.agent_id)
        if answer is not None:
            return "" if answer.strip() else texts.STOPPED
        ended = run.finished_at if run and run.state is runs.RunState.ABORTED else None
        return "" if ended is not None and ended >= message.received_at else sentence

    async def _show_context(self, _argument: str, _message: Waiting) -> str:
        context = self._context
        async with self._database.read() as tx:
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
            ahead=self._settings.agents.compact_ahead,
            freed=freed,
            rules=(len(pinned(context.rules)), len(out_of_view(context.rules, context.history))),
            window=texts.window_text(context.window.link, context.window.bound, context.meter.total),
        )
        about = context.window.bound.told if context.window.limit_is_known else texts.LIMIT_ASSUMED
        return f"{text}\n{about}".rstrip()

    async def _undo(self, argument: str, message: Waiting) -> str | None:
        context = self._context
        layers = [layer for layer in context.history.layers if layer.kind not in LASTING]
        if not layers:
            return "There is nothing to undo."
        top, before = layers[-1], context.meter
        if argument and not (top.run or "").startswith(argument):
            return "That is not the last compaction any more. /undo takes back the last one."
        async with context.step() as step:
            if top.kind == IMPORTED:
                await step.put(away_again(top))  # before it goes: what it hides is not for a memory
            await step.take_off(top.number)
            step.restraint = step.restraint.undone()
            after = context.measured(step.history)
            level = context.strategy.level(after)
            await self._no_undo_any_more(step, top.run)
            await step.say(texts.undone_text(top.kind, before, after, level), answers=message.ref)
            await step.close([message.id])
            step.afterwards.append(partial(telemetry.undone, top.kind))
        self._live.show_meter()
        return None

    async def _no_undo_any_more(self, step: Step, run_id: str | None) -> None:
        """The status message of what was taken back says so, and its button is gone."""
        run = await runs.get(step.tx, run_id) if run_id else None
        if run and run.meter_after:
            await step.change(run.status_slot, taken_back(run.meter_before.total, run.meter_after.total))

    async def _new(self, _argument: str, message: Waiting) -> str | None:
        upto = self._context.history.last_seq
        if self._is_fresh():
            return "This is a fresh conversation already."
        async with self._context.step() as step:
            await step.put(fresh_start(upto))
            step.restraint = step.restraint.begun_afresh()
            text = "A fresh start: I no longer see what was said before. /undo brings it back."
            if count := len(pinned(step.rules)):
                text += f" {count} pinned {'rule stays' if count == 1 else 'rules stay'}: /rules."
            await step.say(text, answers=message.ref)
            await step.close([message.id])
        self._live.show_meter()
        return None

    def _is_fresh(self) -> bool:
        history = self._context.history
        new = next((layer for layer in reversed(history.layers) if layer.kind not in LASTING), None)
        return history.last_seq == 0 or (new is not None and new.kind == "new" and new.upto == history.last_seq)

    async def _recall(self, argument: str, _message: Waiting) -> str:
        return await answer_people(self._database, self._context.agent_id, argument, self._context.zone)

    async def _remember(self, argument: str, message: Waiting) -> str:
        return await self._memory.obey(argument, busy=self.is_busy, speaker=message.speaker)

    async def _obey_rules(self, argument: str, message: Waiting) -> str | None:
        return await self._rules.obey(argument, message, lambda: self._runner.turn is not None)

    async def _remind(self, argument: str, message: Waiting) -> str | None:
        return await self._appointments.remind(argument, message)

    async def _reminders(self, argument: str, message: Waiting) -> str | None:
        return await self._appointments.reminders(argument, message)

    async def _quiet(self, argument: str, message: Waiting) -> str | None:
        return await self._appointments.quiet(argument, message)

    async def _choose_strategy(self, argument: str, message: Waiting) -> str | None:
        """Show how this conversation is compacted, or choose it; what runs goes on as it began."""
        context, strategies = self._context, self._strategies
        wanted = argument.lower()
        if wanted == DEFAULT:
            await context.choose_strategy("")
        elif strategies.get(wanted):
            await context.choose_strategy(wanted)
        elif wanted:
            return texts.unknown_strategy(argument, strategies.names)
        by_local_model = self._model_choice.summaries.first.is_local
        text = texts.strategy_text(
            context.strategy.name, strategies.names, chosen=bool(wanted), by_local_model=by_local_model
        )
        await self._answers.give(message, text)
        self._tasks.create_task(self._memory.remember("catch_up"))
        self._live.show_meter()
        return None

    async def _choose_model(self, argument: str, message: Waiting) -> str | None:
        """Show who answers this conversation, or choose it; that is for those who run the program."""
        choice, settings = self._model_choice, self._settings
        may_choose = self._access.is_admin(self._context.address, message.person)
        if not argument:
            listed = await choice.listed() if may_choose else ""
            return texts.model_text(choice, settings, self._context.window.link, listed, may_choose=may_choose)
        if not may_choose:
            return texts.MODEL_IS_NOT_YOURS
        if self._runner.turn or self._compactor.running:
            return texts.BUSY if self._runner.turn else texts.COMPACTING
        try:
            await choice.choose("" if argument.lower() == DEFAULT else argument)
        except (ConfigurationError, ModelError) as error:
            return texts.unknown_model(argument, str(error))
        self._live.show_meter()
        return texts.model_chosen(choice, self._context.meter)

    async def _choose_zone(self, argument: str, message: Waiting) -> str:
        """Show by which time zone this conversation and this person go, or choose it: in a private chat it is one,
        and among several people everybody has their own besides the chat's."""
        context, private = self._context, not message.speaker
        word, _, rest = argument.partition(" ")
        of_chat, written = (True, rest.strip()) if word.lower() == texts.OF_CHAT else (False, argument)
        try:
            zone = understood(written) if written and written.lower() != DEFAULT else ""
        except UnknownZoneError as error:
            return f"{error} {texts.ZONE_UNCHANGED}"
        if written and of_chat and not private and not self._access.is_admin(context.address, message.person):
            return texts.ZONE_IS_NOT_YOURS
        async with context.step() as step:
            if written and (private or of_chat):
                await step.choose_zone(zone, message.person if private else "")
                await self._appointments.follow_zone(step, message.person if private else "")
            elif written:
                await zones.choose_for_person(step.tx, context.address.connector, message.person, zone)
                await self._appointments.follow_zone(step, message.person)
            else:
                await step.look_for_zone(message.person if private else "")
            own = "" if private else await zones.of_person(step.tx, context.address.connector, message.person)
            now = step.now
        chosen = texts.ChosenZones(context.zone, bool(context.chosen_zone), "" if private else own or context.zone)
        return texts.zone_text(chosen, now, setting=self._settings.timezone or "", changed=bool(written))

    async def _status(self, _argument: str, _message: Waiting) -> str:
        context = self._context
        doing = "answering" if self._runner.turn else "compacting" if self._compactor.running else "waiting for you"
        lines = [
            *texts.models_text(self._model_choice.chain, self._model_choice.summaries),
            f"Strategy: {context.strategy.name}",
            f"Context: {context.meter.total:,} of {context.window.limit:,} tokens",
            *([context.window.bound.told] if context.window.bound.told else []),
            f"Layers: {len(context.history.layers)}",
            f"Conversation: {context.agent_id}",
            f"Now: {doing}",
            *texts.servers_text(self._mcp.status(context.agent_id)),
        ]
        return "\n".join(lines)

    async def _retry(self, argument: str, message: Waiting) -> str | None:
        """Answer what no model has answered, in a turn that goes on from its last step."""
        turn = await self._beginning.retry(argument, message)
        if turn is None:
            return "There is nothing to try again: it has its answer, or was not left without one by a model."
        self._runner.start(turn)
        return None

    async def _pair(self, argument: str, message: Waiting) -> None:
        """An admin lets somebody in, by a code or, as a button does, by who it is; or asks who waits."""
        async with self._context.step() as step:
            if not argument and message.speaker:
                await step.say(texts.ASK_IN_PRIVATE, answers=message.ref)
            elif argument:
                await step.say(await self._let_in(step, argument), answers=message.ref)
            else:
                found = [one for one in await people.everybody(step.tx, now=step.now) if one.state == "pending"]
                await step.say(texts.who_waits(found), buttons=texts.let_in_buttons(found), answers=message.ref)
            await step.close([message.id])

    async def _let_in(self, step: Step, argument: str) -> str:
        connector, colon, person = argument.strip().partition(":")
        if colon:
            found = await people.approve_person(step.tx, connector.lower(), person, now=step.now)
        else:
            found = await people.approve(step.tx, argument, now=step.now)
        if found is None and colon:
            return f"{argument} does not wait. Whoever writes to me gets a code; /pair lists who waits."
        if found is None:
            return "I know no such code, or it has expired. /pair CODE lets somebody in."
        name = found.name or found.person
        if found.changed_at != step.now:
            return f"{name} was let in before."
        await step.say_to(found.address, access.welcome())
        return f"{name} is let in."

    BY_NAME: ClassVar[Mapping[str, Callable[[CommandHandlers, str, Waiting], Awaitable[str | None]]]] = {
        "help": _help,
        "compact": _compact,
        "abort": _abort,
        "usage": _usage,
        "budget": _budget,
        "context": _show_context,
        "undo": _undo,
        "new": _new,
        "recall": _recall,
        "memory": _remember,
        "rules": _obey_rules,
        "remind": _remind,
        "reminders": _reminders,
        "quiet": _quiet,
        "strategy": _choose_strategy,
        "model": _choose_model,
        "timezone": _choose_zone,
        "status": _status,
        "retry": _retry,
        "start": _start,
        "pair": _pair,
    }
    """What carries out the command of this name."""
