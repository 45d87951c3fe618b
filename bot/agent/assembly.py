"""The parts of one agent, put together from what its process shares: who needs what is seen here, and only here.

Each part gets what it needs and nothing through which it could reach the rest.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from bot.agent.abort import AbortSignal
from bot.agent.admin_notices import AdminNotices
from bot.agent.appointments.commands import AppointmentCommands
from bot.agent.appointments.due import DueAppointments
from bot.agent.appointments.keeping import Appointments
from bot.agent.appointments.tools import appointment_tools
from bot.agent.commands.answers import Answers
from bot.agent.commands.dispatch import CommandDispatcher
from bot.agent.commands.handlers import CommandHandlers
from bot.agent.compacting.compactor import Compactor
from bot.agent.compacting.extraction import FactExtraction
from bot.agent.compacting.planner import Planner
from bot.agent.compacting.quiet import QuietCompaction
from bot.agent.compacting.run_report import RunReport
from bot.agent.compacting.run_rows import RunRows
from bot.agent.compacting.running_summary import RunningSummary
from bot.agent.compacting.summary_job import SummaryJob
from bot.agent.context import Context
from bot.agent.inbox_loop import InboxLoop
from bot.agent.live_view import LiveView
from bot.agent.memory import AgentMemory
from bot.agent.memory_gate import MemoryGate
from bot.agent.model_choice import ModelChoice
from bot.agent.model_requests import ModelRequests
from bot.agent.money.allowance import Allowance
from bot.agent.money.bill import Bill
from bot.agent.money.commands import MoneyCommands
from bot.agent.money.thrift import Thrift
from bot.agent.quarantine import Quarantine
from bot.agent.retries import Retries
from bot.agent.services import Services
from bot.agent.standing_rules import StandingRules
from bot.agent.store_outage import StoreOutage
from bot.agent.tools.choosing import ToolChoice
from bot.agent.turn import Turn
from bot.agent.turns.beginning import Beginning
from bot.agent.turns.ending import Ending
from bot.agent.turns.incoming import Incoming
from bot.agent.turns.make_room import RoomMaker
from bot.agent.turns.patience import Patience
from bot.agent.turns.runner import TurnRunner
from bot.agent.turns.steering import Steering
from bot.agent.turns.timing import Timing
from bot.agent.turns.tool_use import ToolUse
from bot.agent.window import Window
from bot.bus import topics
from bot.runtime.zones import default_zone
from bot.store.agents import AgentRow
from bot.store.turns import TurnRow


@dataclass(frozen=True)
class Life:
    """What an agent has while it is awake."""

    loop: InboxLoop
    compactor: Compactor
    beginning: Beginning
    runner: TurnRunner


class Assembly:
    """One agent, by its row in the book. What lives in tasks is made when there is somebody who owns them."""

    def __init__(self, services: Services, row: AgentRow) -> None:
        settings, database, bus = services.settings, services.database, services.bus
        folder = services.folder(row.id)
        zone = default_zone(settings.timezone)
        self._appointments = Appointments(row.address, settings.appointments, zone)
        tools = ToolChoice(
            row.id,
            folder,
            settings=settings,
            database=database,
            mcp=services.mcp,
            parser=services.parser,
            own=appointment_tools(self._appointments, database, row.id),
        )
        window = Window(
            services.chain.first,
            tools,
            system_prompt=settings.system_prompt,
            chosen_limit=settings.agents.emergency_context_limit,
            tells_time=settings.agents.tell_time,
        )
        warning = settings.agents.warning
        self._services = services
        self._folder = folder
        self.context = Context(row, window, database, bus, services.strategies, warning=warning, zone=zone)
        self.model_choice = ModelChoice(self.context, services.chains, row.model)
        self.live = LiveView(self.context, bus)
        self._memory = AgentMemory(self.context, database, settings.memory_of_agents, settings.secrets)
        self._rules = StandingRules(self.context, database, services.access)
        self._incoming = Incoming(
            self.context, folder, services.parser, self.live, hide_deleted=settings.deleted_messages == "hide"
        )
        self.outage = StoreOutage(self.context, database, bus, self.live)
        self._notices = AdminNotices(self.context, services.access.admins, settings.secrets)
        self._retries = Retries(self.context, database, settings.secrets)
        self.quarantine = Quarantine(self.context, database, bus)

    def life(self, tasks: asyncio.TaskGroup) -> Life:
        """What lives in these tasks, from the set-up until it ends."""
        services, context = self._services, self.context
        settings, bus = services.settings, services.bus
        compactor = self.compactor(tasks)
        quiet = QuietCompaction(
            context,
            database=services.database,
            compactor=compactor,
            model_choice=self.model_choice,
            settings=settings.agents,
            tasks=tasks,
        )
        beginning = Beginning(context, self._incoming, partial(self._turn, compactor, quiet))
        runner = TurnRunner(
            context,
            compactor=compactor,
            memory=self._memory,
            rules=self._rules,
            live=self.live,
            wake=partial(bus.wake, topics.inbox(context.agent_id)),
            tasks=tasks,
            compact_ahead=settings.agents.compact_ahead,
        )
        loop = InboxLoop(
            context,
            database=services.database,
            bus=bus,
            live=self.live,
            incoming=self._incoming,
            retries=self._retries,
            beginning=beginning,
            runner=runner,
            compactor=compactor,
            commands=self._commands(compactor, runner, beginning, tasks),
            due=DueAppointments(context, services.database),
            quiet=quiet,
            tasks=tasks,
            when_busy=settings.agents.when_busy,
        )
        return Life(loop, compactor, beginning, runner)

    def _commands(
        self, compactor: Compactor, runner: TurnRunner, beginning: Beginning, tasks: asyncio.TaskGroup
    ) -> CommandDispatcher:
        services, context = self._services, self.context
        settings, bus = services.settings, services.bus
        answers = Answers(context, bus, self._retries, tasks)
        handlers = CommandHandlers(
            context,
            compactor=compactor,
            runner=runner,
            beginning=beginning,
            memory=self._memory,
            rules=self._rules,
            appointments=AppointmentCommands(context, services.database, self._appointments),
            money=MoneyCommands(context, services.database, services.limits, services.access),
            answers=answers,
            live=self.live,
            model_choice=self.model_choice,
            access=services.access,
            database=services.database,
            strategies=services.strategies,
            mcp=services.mcp,
            settings=settings,
            tasks=tasks,
        )
        return CommandDispatcher(
            context,
            access=services.access,
            retries=self._retries,
            runner=runner,
            answers=answers,
            handlers=handlers,
        )

    def compactor(self, tasks: asyncio.TaskGroup) -> Compactor:
        """What compacts, in these tasks."""
        services, context = self._services, self.context
        settings, database, bus = services.settings, services.database, services.bus
        rows = RunRows(context, database, lambda: self.model_choice.summaries.first.name)
        report = RunReport(context, database, bus, self._folder, settings.secrets)
        planner = Planner(context, database, self._memory, services.embedder, settings.compaction.must_keep)
        summary_job = partial(SummaryJob, context, rows, bus, services.jobs)
        allowance = Allowance(
            context, database, services.limits, services.access, lambda: self.model_choice.summaries.first
        )
        rolling = RunningSummary(
            context,
            rows=rows,
            report=report,
            planner=planner,
            summary_job=summary_job,
            tasks=tasks,
            allowance=allowance,
            share=settings.compaction.rolling,
        )
        extraction = FactExtraction(
            context,
            rows=rows,
            report=report,
            summary_job=summary_job,
            tasks=tasks,
            allowance=allowance,
            database=database,
            memory=self._memory,
            is_on=settings.memory.extractor == "model",
        )
        return Compactor(
            context,
            rows=rows,
            report=report,
            planner=planner,
            rolling=rolling,
            extraction=extraction,
            summary_job=summary_job,
            notices=self._notices,
            outage=self.outage,
            live=self.live,
            tasks=tasks,
            allowance=allowance,
        )

    def _turn(self, compactor: Compactor, quiet: QuietCompaction, row: TurnRow, steering: Steering) -> Turn:
        services, context = self._services, self.context
        settings, database = services.settings, services.database
        abort_signal, timing = AbortSignal(), Timing(row.received_at, row.started_at)
        passes = services.access.is_admin(context.address, row.person)
        bill = Bill(row, context, database, services.limits, passes=passes)
        requests = ModelRequests(context, self._folder, bill)
        thrift = Thrift(
            context,
            database,
            services.limits,
            services.chains,
            written=settings.budget.cheaper_model or "",
            person=row.person,
            passes=passes,
        )
        patience = Patience(
            row,
            context,
            self.model_choice.chain,
            live=self.live,
            abort_signal=abort_signal,
            seconds=settings.model_patience,
            thrift=thrift,
        )
        room = RoomMaker(row, context, requests=requests, compactor=compactor, abort_signal=abort_signal, timing=timing)
        ending = Ending(
            row,
            context,
            database=database,
            bus=services.bus,
            notices=self._notices,
            chain=lambda: patience.chain,
            timing=timing,
            bill=bill,
            secrets=settings.secrets,
            quiet_moment=quiet.moment,
        )

        def tools() -> ToolUse:
            return ToolUse(
                context,
                turn_id=row.id,
                slot=row.slot,
                database=database,
                access=services.access,
                gate=MemoryGate(context, self._memory, settings.memory, settings.secrets),
                live=self.live,
                secrets=settings.secrets,
            )

        return Turn(
            row,
            context,
            requests=requests,
            bill=bill,
            steering=steering,
            room=room,
            tools=tools,
            patience=patience,
            ending=ending,
            live=self.live,
            outage=self.outage,
            timing=timing,
            abort_signal=abort_signal,
            most_rounds=settings.tools.most_rounds,
        )
