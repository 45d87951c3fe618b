"""Takes what waits in the inbox of one agent, in the platform's order, until nothing has happened for a while: commands
at once, whatever runs; messages into a turn, one turn at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import structlog

from bot.agent.appointments.due import DueAppointments
from bot.agent.commands.dispatch import CommandDispatcher
from bot.agent.commands.parsing import command_in
from bot.agent.compacting.compactor import Compactor
from bot.agent.compacting.quiet import QuietCompaction
from bot.agent.context import Context
from bot.agent.live_view import LiveView
from bot.agent.retries import DIED, Retries
from bot.agent.turns.beginning import Beginning, NothingWaitsError
from bot.agent.turns.incoming import Incoming
from bot.agent.turns.runner import TurnRunner
from bot.bus import topics
from bot.bus.bells import SWEEP_SECONDS, Bell
from bot.bus.bus import Bus
from bot.errors import StaleEpoch, StoreUnavailable
from bot.store import Database, agents, inbox
from bot.store.inbox import Waiting
from bot.store.turns import TurnState

log = structlog.get_logger(__name__)

_NAP_SECONDS = 0.1
"""At least so long it waits, whatever the clock says."""
IDLE_SECONDS = 120.0
WhenBusy = Literal["collect", "steer", "interrupt"]


class InboxLoop:
    """Of one agent. ``when_busy``: what becomes of messages while a turn runs."""

    def __init__(
        self,
        context: Context,
        *,
        database: Database,
        bus: Bus,
        live: LiveView,
        incoming: Incoming,
        retries: Retries,
        beginning: Beginning,
        runner: TurnRunner,
        compactor: Compactor,
        commands: CommandDispatcher,
        due: DueAppointments,
        quiet: QuietCompaction,
        tasks: asyncio.TaskGroup,
        when_busy: WhenBusy,
    ) -> None:
        self._context = context
        self._database = database
        self._bus = bus
        self._live = live
        self._incoming = incoming
        self._retries = retries
        self._beginning = beginning
        self._runner = runner
        self._compactor = compactor
        self._commands = commands
        self._due = due
        self._quiet = quiet
        self._tasks = tasks
        self._when_busy = when_busy
        self._pieces = _Pieces(database.clock)
        self._topic, self._epoch_topic = topics.inbox(context.agent_id), topics.epoch(context.agent_id)
        self._bell: Bell | None = None
        """Once it has looked for the first time."""
        self._leaving = False
        self._rests = False
        """Messages wait a moment: what began with them has just failed."""
        self._fetching: int | None = None
        """The position of the first message whose files are on their way."""
        self._is_held = False
        """Messages wait a moment for what belongs to them."""
        self._may_be_due = True
        """Appointments are to be looked at, and whether its quiet moment has come: nobody has, or the host says so."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way here."""
        return self._bell is not None and not self._busy and not self._commands.in_hand and not self._is_held

    def leave(self) -> None:
        """Begin nothing more, and end as soon as the turn has that runs. What else there is waits for the next host."""
        self._leaving = True
        self._runner.leave()
        self._quiet.leave()
        if self._bell:
            self._bell.strike(None)

    def take_due(self) -> None:
        """An appointment may be due, or the quiet moment have come."""
        self._may_be_due = True
        self._bus.wake(self._topic)

    async def run(self) -> None:
        """Until idle, or until it is to leave. Raises StaleEpoch when another host took over, StoreUnavailable."""
        clock = self._database.clock
        active = clock()
        async with self._bus.bell(self._topic, self._epoch_topic) as bell:
            while self._stays(clock() - active):
                rung = await bell.wait(self._patience(clock() - active))
                if self._epoch_topic in rung:
                    await self._look_at_epoch()
                if ((rung or self._busy) and await self._looked()) or self._busy:
                    active = clock()
                self._bell = bell
        if self._leaving:
            self._compactor.leave()

    async def _look_at_epoch(self) -> None:
        """Somebody raised it who wants us to end at once, and not with the next thing that we write."""
        async with self._database.glance() as tx:
            if await agents.epoch(tx, self._context.agent_id) != self._context.epoch:
                raise StaleEpoch(f"{self._context.agent_id} was taken away")

    def _patience(self, quiet: float) -> float:
        """An idle agent does not look into the book by itself: its host looks for all, and rings."""
        return SWEEP_SECONDS if self._busy else max(_NAP_SECONDS, IDLE_SECONDS - quiet)

    def _stays(self, quiet: float) -> bool:
        """``quiet``: seconds for which nothing has happened."""
        if self._leaving:
            return self._runner.turn is not None or bool(self._commands.in_hand)
        return self._busy or quiet < IDLE_SECONDS

    @property
    def _busy(self) -> bool:
        return self._runner.turn is not None or self._compactor.running

    async def _looked(self) -> bool:
        """Whether anything waited. While something is under way, a book that is away does not end it."""
        try:
            return await self._take_what_waits()
        except StoreUnavailable as error:
            if not self._busy:
                raise
            log.warning("store_unavailable", reason=str(error))
            return False

    async def _take_what_waits(self) -> bool:
        """Commands at once; messages into a turn when none runs, all that stand together into one."""
        may_be_due = self._may_be_due and not self._leaving
        if may_be_due:
            self._may_be_due = False
            await self._due.take()
        async with self._database.glance() as tx:
            queue = await inbox.queue(tx, self._context.agent_id)
        self._fetching = queue.fetching_since
        collected: list[Waiting] = []
        is_first = True
        for message in queue.waiting:
            if message.id in self._commands.in_hand:
                continue
            if message.kind == "delete":
                await self._incoming.withdraw(message)
                continue
            command = command_in(message)
            if command is None:
                collected.append(message)
                continue
            if command.is_of_the_past and self._fetching is not None and self._fetching < message.position:
                continue  # what was said before it is not complete yet
            await self._begin_turn(collected, is_first=is_first)  # what stands before a command is complete
            is_first, collected = is_first and not collected, []
            await self._commands.obey(command, message)
        seconds = self._pieces.seconds_left(collected)
        if not seconds or not self._wait_for_more(collected, seconds):
            await self._begin_turn(collected, is_first=is_first)
        if may_be_due and not queue.waiting and self._fetching is None and self._runner.turn is None:
            self._quiet.take_due()
        return bool(queue.waiting) or self._fetching is not None

    def _wait_for_more(self, messages: Sequence[Waiting], seconds: float) -> bool:
        """Look again then; False where something else is under way that they wait for anyhow."""
        if self._leaving or self._rests or self._fetching is not None or self._runner.turn is not None:
            return False
        if not self._is_held:
            self._is_held = True
            self._tasks.create_task(self._look_again(seconds))
        return bool(messages)

    async def _look_again(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._is_held = False
        self._bus.wake(self._topic)

    async def _begin_turn(self, messages: Sequence[Waiting], *, is_first: bool) -> None:
        """Answer these, unless something is under way, or files that belong to them: then they wait, visibly.

        What stands behind a command waits behind what stands before it, also when the turn has ended meanwhile that
        kept both of them waiting: its end rings, and then both are looked at again.
        """
        if not messages or self._leaving or self._rests:
            return
        turn = self._runner.turn
        if turn is None and (self._fetching is not None or not is_first):
            return
        if turn is None:
            await self._take(self._incoming.portion(messages))
        elif self._fetching is None and turn.may_take_along(messages):
            turn.take_along(messages, self._pieces.seconds_left(messages))
        elif not (said := [message for message in messages if message.kind != inbox.WAKE]):
            return  # an appointment waits for the end of an answer
        elif self._when_busy == "interrupt":
            turn.abort()
        else:
            await self._incoming.mark(said)
            if self._when_busy == "steer" and self._fetching is None:
                turn.steer([replace(message, marked=bool(message.ref)) for message in said])

    async def _take(self, messages: Sequence[Waiting]) -> None:
        """Begin a turn with these. Whoever fails at that fails before there is a turn that could count it."""
        if self._retries.is_over(messages[0]):
            await self._retries.park(messages[0], DIED)
            self._bus.wake(self._topic)  # what stands behind it
            return
        counted = any(message.files for message in messages)  # to open one is to run a parser on whatever came
        if counted:
            await self._retries.count(messages)
        try:
            turn = await self._beginning.take(messages)
        except NothingWaitsError:  # all of it was deleted in this moment
            self._bus.wake(self._topic)
            return
        except StaleEpoch:
            raise
        except StoreUnavailable:
            if counted:
                await self._retries.interrupted(messages)
            raise
        except Exception as error:  # noqa: BLE001  # logged, counted and told there
            self._rests = True
            seconds = await self._retries.failed(messages, error, counted=counted)
            self._tasks.create_task(self._rest(seconds))
            return
        if turn.state is TurnState.RUNNING:
            self._runner.start(turn)
        else:
            self._live.show_meter()
            self._bus.wake(self._topic)  # what waits behind it

    async def _rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._rests = False
        self._bus.wake(self._topic)


class _Pieces:
    """For how long what people say may still go on: a text that was cut, things that are forwarded, an album.
    ``clock``: the book's."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first_seen: dict[int, float] = {}
        """When messages that may go on were looked at first, on this host's own clock: by their rows."""

    def seconds_left(self, messages: Sequence[Waiting]) -> float:
        """Until what these people say is taken to be whole. Whoever says something whole after a piece has come to an
        end."""
        loop_time = asyncio.get_running_loop().time()
        pieces = [message for message in messages if message.expects]
        self._first_seen = {one.id: self._first_seen.get(one.id, loop_time) for one in pieces}
        if not pieces:
            return 0.0
        newest = {message.person: message for message in messages}
        now = self._clock()
        left = (
            one.expects - max(loop_time - self._first_seen[one.id], now - one.received_at)  # a clock may be ahead
            for one in newest.values()
            if one.expects
        )
        return max(0.0, *left, 0.0)
