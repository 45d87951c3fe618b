"""What arrives is stored here, one after the other, and nothing is skipped because storing fails."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence

import discord

from bot.connector import Intake
from bot.errors import StoreUnavailable
from bot.messages import Inbound
from connectors.discord.commands import Commands
from connectors.discord.failures import FAILURES
from connectors.discord.missed import Gap, Missed
from connectors.discord.places import Place, Places
from connectors.discord.reader import Reader, deletion, unread
from connectors.discord.receiver import MARGIN, Arrival, Deleted, Opened, Passed, Receiver, Said, Used

_CHATS = 200
_BATCH = 100
_TRIES = 5
_LONGEST_PAUSE_SECONDS = 30.0

log = logging.getLogger(__name__)


def pause(failures: int) -> float:
    """Seconds before another try: 1, 2, 4, … 30, less up to a half at random."""
    return min(_LONGEST_PAUSE_SECONDS, 2.0 ** min(failures - 1, 5)) * (1 - random.random() / 2)


class Arrivals:
    """A queue, and what is stored from it. The cursor is the newest snowflake before which nothing is missing."""

    most_queued = 10_000
    """What is said beyond that, while nothing can be stored, is read back later."""

    def __init__(
        self, intake: Intake, places: Places, commands: Commands, sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        self._intake = intake
        self._places = places
        self._commands = commands
        self._sleep = sleep
        self._queue: asyncio.Queue[Arrival] = asyncio.Queue()
        self._receiver: Receiver | None = None
        self._reader: Reader | None = None
        self._reached: int | None = None
        self._is_behind = False
        """Something is still to be read back: the cursor stays where it is."""
        self._is_cut_off = False
        """Something was said for which there was no room."""

    def put(self, arrival: Arrival) -> None:
        """It is stored after what came before it."""
        if isinstance(arrival, Said | Passed | Deleted) and self._queue.qsize() >= self.most_queued:
            self._is_cut_off = True
            return
        self._queue.put_nowait(arrival)

    async def run(self) -> None:
        """Store until cancelled."""
        while True:
            arrival = await self._queue.get()
            try:
                await self._take(arrival)
                if self._is_cut_off and self._receiver and self._queue.empty():
                    self._is_cut_off = False
                    await self._catch_up(self._receiver)
            except Exception:  # what cannot be read must not hold up all others for ever
                log.exception("update_unreadable")
                await self._tell_unread(arrival)

    async def _take(self, arrival: Arrival) -> None:
        match arrival:
            case Opened(receiver):
                self._receiver, self._reader = receiver, receiver.reader
                await self._catch_up(receiver)
            case Passed(id):
                await self._store([], id)
            case Said(message, edited):
                assert self._reader
                place = await self._place(message.channel)
                read = self._reader.edit if edited else self._reader.message
                inbound = read(message, place)
                if inbound:
                    await self._store([inbound], inbound.order)
            case Used(interaction, stored):
                if interaction.channel is None:
                    return
                inbound = self._commands.inbound_of(interaction, await self._place(interaction.channel))
                if inbound:
                    await self._store([inbound], inbound.order)
                stored.set()
            case Deleted(channel, ids):
                await self._store([deletion(channel, message_id) for message_id in ids], 0)

    async def _tell_unread(self, arrival: Arrival) -> None:
        """Who said what cannot be read is told so."""
        if not isinstance(arrival, Said) or arrival.edited or self._reader is None:
            return
        try:
            place = await self._place(arrival.message.channel)
            await self._store([unread(arrival.message, place)], arrival.message.id)
        except Exception:
            log.exception("update_unreadable")

    async def _place(self, channel: discord.abc.Snowflake) -> Place:
        """Where it was said. A channel that the gateway does not describe, such as an old thread, is looked up."""
        failures = 0
        while True:
            try:
                return self._places.learn(channel) or await self._places.find(channel.id)
            except (discord.Forbidden, discord.NotFound):
                return Place(channel.id)
            except FAILURES as error:
                failures += 1
                log.warning("channel_not_found", extra={"channel": channel.id, "reason": str(error)})
                await self._sleep(pause(failures))

    async def _store(self, inbounds: Sequence[Inbound], reached: int, *, behind: bool | None = None) -> None:
        """Store, as often as it takes; the cursor only grows."""
        is_behind = self._is_behind or self._is_cut_off if behind is None else behind
        cursor = None if is_behind else max(reached, self._reached or 0)
        await self._patiently(lambda: self._intake.store(inbounds, cursor=None if cursor is None else str(cursor)))
        self._reached = cursor or self._reached

    async def _patiently(self, do: Callable[[], Awaitable[object]]) -> None:
        failures = 0
        while True:
            try:
                await do()
                return
            except StoreUnavailable as error:
                failures += 1
                log.warning("update_waits", extra={"reason": str(error)})
                await self._intake.until_back(pause(failures))

    async def _catch_up(self, receiver: Receiver) -> None:
        """Read back what was said before this session and after what is stored."""
        if self._reached is None:
            await self._patiently(self._read_cursor)
        if self._reached is None:  # the very first start: nothing was said to us before
            await self._store([], discord.utils.time_snowflake(discord.utils.utcnow()))
            return
        self._is_behind = True
        await receiver.knows_guilds.wait()
        gap = Gap(self._reached, self._reached - MARGIN)
        missed = Missed(receiver, receiver.reader, self._places, gap, self._intake.heard)
        attempt, is_read = 1, True
        while attempt <= _TRIES:
            try:
                await missed.read(await self._intake.chats(_CHATS))
                break
            except StoreUnavailable as error:  # however long: what was missed is nowhere yet
                if receiver.is_closed():  # the next session reads it back
                    return
                log.warning("catching_up_waits", extra={"reason": str(error)})
                await self._intake.until_back(pause(attempt))
            except (*FAILURES, RuntimeError) as error:  # aiohttp's for a session that was closed
                if receiver.is_closed():
                    return
                log.warning("catching_up_waits", extra={"reason": str(error)})
                if attempt == _TRIES:
                    log.error("catching_up_failed", extra={"reason": str(error)})  # noqa: TRY400
                    is_read = False
                else:
                    await self._sleep(pause(attempt))
                attempt += 1
        found = missed.found
        for start in range(0, len(found), _BATCH):
            batch = found[start : start + _BATCH]
            await self._store(batch, batch[-1].order, behind=not is_read)
        self._is_behind = not is_read  # then the cursor stays, and the next session reads it back

    async def _read_cursor(self) -> None:
        cursor = await self._intake.cursor()
        self._reached = int(cursor) if cursor else None
