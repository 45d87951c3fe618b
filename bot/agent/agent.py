"""An agent: the actor of one conversation. One turn at a time; commands are answered at once, whatever runs.

Set-up sees through what a crash left open; then the loop takes what waits in the inbox, in the platform's order,
until nothing has happened for a while. The host keeps the lease and cancels the agent when it is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import structlog

from bot.agent.commands.dispatch import CommandDispatcher
from bot.agent.commands.handlers import CurrentTurn
from bot.agent.commands.parsing import command_in
from bot.agent.compacting.compactor import Compactor, Request
from bot.agent.context import Context
from bot.agent.memory import AgentMemory
from bot.agent.quarantine import MOST_STARTS, Quarantine
from bot.agent.retries import DIED, Retries, hand_over, see_through
from bot.agent.services import Services
from bot.agent.turn import NothingWaitsError, Turn
from bot.agent.turns.ending import MOST_TRIES
from bot.agent.turns.incoming import portion
from bot.bus import topics
from bot.bus.bells import SWEEP_SECONDS, Bell
from bot.compaction.gate import after_reply, ahead_margin
from bot.errors import StaleEpoch, StoreUnavailable
from bot.estimate import Level
from bot.files.blocks import remove_sent
from bot.store import agents, inbox, turns
from bot.store.agents import AgentRow
from bot.store.inbox import Waiting
from bot.store.turns import TurnState

log = structlog.get_logger(__name__)

_NAP_SECONDS = 0.1
"""At least so long it waits, whatever the clock says."""
IDLE_SECONDS = 120.0
_REST_SECONDS = 1.0
"""Before an agent that could not be set up is begun again: twice as long each time."""
WAITS = "👀"
"""Put on a message that has to wait."""


class Agent:
    """One conversation, on the host that has it."""

    def __init__(self, services: Services, row: AgentRow) -> None:
        self._services = services
        self._context = Context(services, row)
        self._memory = AgentMemory(self._context)
        self._retries = Retries(self._context)
        self._topic, self._epoch_topic = topics.inbox(row.id), topics.epoch(row.id)
        self._starts = row.starts
        self._under_way = CurrentTurn()
        self._rests = False
        """Messages wait a moment: what began with them has just failed."""
        self._is_crashing = False
        self._fetching: int | None = None
        """The position of the first message whose files are on their way."""
        self._bell: Bell | None = None
        self._leaving = False
        self._first_seen: dict[int, float] = {}
        """When messages that may go on were looked at first, on this host's own clock: by their rows."""
        self._is_held = False
        """Messages wait a moment for what belongs to them."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way here."""
        return self._bell is not None and not self._busy and not self._commands.in_hand and not self._is_held

    def leave(self) -> None:
        """Begin nothing more, and end as soon as the turn has that runs. What else there is waits for the next host."""
        self._leaving = True
        if self._bell:
            self._bell.strike(None)

    async def run(self) -> None:
        """Live until idle. Raises StaleEpoch when another host took over, StoreUnavailable."""
        with structlog.contextvars.bound_contextvars(agent=self._context.agent_id):
            if self._starts > MOST_STARTS:
                await Quarantine(self._context).run()
                return
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                self._compactor = Compactor(self._context, tasks)
                self._commands = CommandDispatcher(self._context, self._compactor, self._memory, self._under_way, tasks)
                await self._begin()
                try:
                    await self._loop()
                except Exception:
                    self._is_crashing = True
                    raise

    async def _begin(self) -> None:
        """Set up. What keeps an agent from that will do so again: it is let rest before another start."""
        try:
            await self._set_up()
        except StoreUnavailable:
            raise
        except (StaleEpoch, asyncio.CancelledError):
            with suppress(StoreUnavailable):
                async with self._services.database.write() as tx:
                    await agents.no_failure(tx, self._context.agent_id)
            raise
        except Exception:
            log.exception("agent_crashed", starts=self._starts)
            await asyncio.sleep(_REST_SECONDS * 2 ** min(self._starts, MOST_STARTS))
            raise

    async def _set_up(self) -> None:
        await self._context.load()
        await self._compactor.resume()
        async with self._services.database.read() as tx:
            cut_off = await turns.running(tx, self._context.agent_id)
        if cut_off:
            await self._resume(Turn(self._context, self._compactor, cut_off))
        if self._starts > 1:
            async with self._context.step():
                pass  # any step says that it could be set up
        self._context.show_meter()

    async def _resume(self, turn: Turn) -> None:
        """Go on with a turn that was cut off, unless that happened too often."""
        if turn.tries >= MOST_TRIES:
            await turn.put_aside(DIED)
            return
        await turn.again()
        log.info("turn_resumed", turn=turn.id, tries=turn.tries)
        self._start(turn)

    async def _loop(self) -> None:
        clock = self._services.database.clock
        active = clock()
        async with self._services.bus.bell(self._topic, self._epoch_topic) as bell:
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
        async with self._services.database.glance() as tx:
            if await agents.epoch(tx, self._context.agent_id) != self._context.epoch:
                raise StaleEpoch(f"{self._context.agent_id} was taken away")

    def _patience(self, quiet: float) -> float:
        """An idle agent does not look into the book by itself: its host looks for all, and rings."""
        return SWEEP_SECONDS if self._busy else max(_NAP_SECONDS, IDLE_SECONDS - quiet)

    def _stays(self, quiet: float) -> bool:
        """``quiet``: seconds for which nothing has happened."""
        if self._leaving:
            return self._under_way.turn is not None or bool(self._commands.in_hand)
        return self._busy or quiet < IDLE_SECONDS

    @property
    def _busy(self) -> bool:
        return self._under_way.turn is not None or self._compactor.running

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
        async with self._services.database.glance() as tx:
            queue = await inbox.queue(tx, self._context.agent_id)
        self._fetching = queue.fetching_since
        collected: list[Waiting] = []
        is_first = True
        for message in queue.waiting:
            if message.id in self._commands.in_hand:
                continue
            if message.kind == "delete":
                await self._withdraw(message)
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
        seconds = self._seconds_for_more(collected)
        if not seconds or not self._wait_for_more(collected, seconds):
            await self._begin_turn(collected, is_first=is_first)
        return bool(queue.waiting) or self._fetching is not None

    async def _withdraw(self, deletion: Waiting) -> None:
        """People may take back what they said, whatever runs."""
        async with self._context.step() as step:
            hide = self._services.settings.deleted_messages == "hide"
            files = await step.withdraw(deletion.text, hide=hide)
            await step.close([deletion.id])
        await asyncio.to_thread(remove_sent, self._context.folder, files)
        log.info("message_deleted_by_its_author", hidden=hide)

    def _seconds_for_more(self, messages: Sequence[Waiting]) -> float:
        """For how long what these people say may still go on: a text that the platform has cut, things that are
        forwarded, an album. Whoever says something whole after that has come to an end."""
        loop_time = asyncio.get_running_loop().time()
        pieces = [message for message in messages if message.expects]
        self._first_seen = {one.id: self._first_seen.get(one.id, loop_time) for one in pieces}
        if not pieces:
            return 0.0
        newest = {message.person: message for message in messages}
        now = self._services.database.clock()
        left = (
            one.expects - max(loop_time - self._first_seen[one.id], now - one.received_at)  # a clock may be ahead
            for one in newest.values()
            if one.expects
        )
        return max(0.0, *left, 0.0)

    def _wait_for_more(self, messages: Sequence[Waiting], seconds: float) -> bool:
        """Look again then; False where something else is under way that they wait for anyhow."""
        if self._leaving or self._rests or self._fetching is not None or self._under_way.turn is not None:
            return False
        if not self._is_held:
            self._is_held = True
            self._tasks.create_task(self._look_again(seconds))
        return bool(messages)

    async def _look_again(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._is_held = False
        self._services.bus.wake(self._topic)

    async def _begin_turn(self, messages: Sequence[Waiting], *, is_first: bool) -> None:
        """Answer these, unless something is under way, or files that belong to them: then they wait, visibly.

        What stands behind a command waits behind what stands before it, also when the turn has ended meanwhile that
        kept both of them waiting: its end rings, and then both are looked at again.
        """
        if not messages or self._leaving or self._rests:
            return
        turn, when_busy = self._under_way.turn, self._services.settings.agents.when_busy
        if turn is None and (self._fetching is not None or not is_first):
            return
        if turn is None:
            await self._take(portion(messages, self._context))
        elif self._fetching is None and turn.may_take_along(messages):
            turn.take_along(messages, self._seconds_for_more(messages))
        elif when_busy == "interrupt":
            turn.abort()
        else:
            await self._mark(messages)
            if when_busy == "steer" and self._fetching is None:
                turn.steer([replace(message, marked=bool(message.ref)) for message in messages])

    async def _take(self, messages: Sequence[Waiting]) -> None:
        """Begin a turn with these. Whoever fails at that fails before there is a turn that could count it."""
        if self._retries.is_over(messages[0]):
            await self._retries.park(messages[0], DIED)
            self._services.bus.wake(self._topic)  # what stands behind it
            return
        counted = any(message.files for message in messages)  # to open one is to run a parser on whatever came
        if counted:
            await self._retries.count(messages)
        try:
            turn = await Turn.begin(self._context, self._compactor, messages)
        except NothingWaitsError:  # all of it was deleted in this moment
            self._services.bus.wake(self._topic)
            return
        except (StaleEpoch, StoreUnavailable):
            raise
        except Exception as error:  # noqa: BLE001  # logged, counted and told there
            self._rests = True
            seconds = await self._retries.failed(messages, error, counted=counted)
            self._tasks.create_task(self._rest(seconds))
            return
        if turn.state is TurnState.RUNNING:
            self._start(turn)
        else:
            self._context.show_meter()
            self._services.bus.wake(self._topic)  # what waits behind it

    async def _rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._rests = False
        self._services.bus.wake(self._topic)

    async def _mark(self, messages: Sequence[Waiting]) -> None:
        new = [message for message in messages if message.ref and not message.marked]
        if new:
            async with self._context.step() as step:
                still_waiting = await inbox.mark(step.tx, [message.id for message in new], marked=True)
            for message in new:
                if message.id in still_waiting:
                    self._context.react(message.ref, WAITS)

    def _start(self, turn: Turn) -> None:
        self._under_way.turn = turn
        self._under_way.task = self._tasks.create_task(self._work(turn))

    async def _work(self, turn: Turn) -> None:
        try:
            await see_through(turn)
        except asyncio.CancelledError:
            if not self._is_crashing:
                await hand_over(turn)
            raise
        finally:
            self._under_way.turn = None
        self._context.show_meter()
        self._tasks.create_task(self._memory.remember())
        self._compact_ahead()
        self._services.bus.wake(self._topic)

    def _compact_ahead(self) -> None:
        if self._leaving:
            return
        settings, context = self._services.settings.agents, self._context
        soon = context.strategy.level(context.meter.raised(ahead_margin(context.strategy)))
        automatic = settings.compact_ahead and context.automatic
        if after_reply(soon, context.restraint, automatic=automatic) and not self._compactor.running:
            self._compactor.start(Request("ahead"))
        elif after_reply(Level.WARNING, context.restraint, automatic=automatic):
            self._compactor.fold()
