"""Discord, by its gateway and its REST API.

What happens comes over the gateway (``receiver``) into a queue that one task stores in order
(``arrivals``); what was said while nobody listened is read back (``missed``). What we say goes out by a
client of its own (``rest``, ``writer``), which does not care how the gateway is doing.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal, NoReturn

import discord
import yarl
from discord.gateway import DiscordWebSocket

from bot import errors
from bot.connector import STARTING, Guard, Intake, OfferedCommand
from bot.messages import Address, Attachment, Edit, Outbound, React, Say, Typing, Withdraw
from connectors.discord import files
from connectors.discord.arrivals import Arrivals, pause
from connectors.discord.commands import Commands
from connectors.discord.failures import FAILURES, NO_CONTENT, UNKNOWN_BOT, delivery_error, told
from connectors.discord.interactions import Interactions
from connectors.discord.places import NAME, Places, channel_of
from connectors.discord.reader import Groups
from connectors.discord.receiver import Arrival, Receiver, Used
from connectors.discord.rest import Rest
from connectors.discord.signals import Signals
from connectors.discord.writer import Writer

_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
_GATEWAY = "wss://gateway.discord.gg/"
_WRONG_TOKEN, _DISALLOWED_INTENTS = 4004, 4014
"""https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes"""

log = logging.getLogger(__name__)


class Discord:
    """Direct chats, channels and threads of guilds. ``commands`` are offered after a slash.

    ``api_base`` is everything up to and including ``/api/v10``; ``gateway`` begins with ``ws``. In ``groups`` it
    answers who mentions it or replies to it, or ``always``. Raises ConfigurationError for a token that cannot be one.
    """

    name = NAME
    recognizes: Literal[True] = True

    def __init__(
        self,
        token: str,
        *,
        api_base: str | None = None,
        gateway: str | None = None,
        commands: Sequence[OfferedCommand],
        groups: Groups = "mention",
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        if not _TOKEN.fullmatch(token):
            raise errors.ConfigurationError(UNKNOWN_BOT)
        _quieten()
        self._token = token
        self._gateway = yarl.URL(gateway or _GATEWAY)
        self._commands = Commands(commands)
        self._groups = groups
        self._sleep = sleep
        self._rest = Rest(token, api_base)
        self._places = Places(self._rest.channel)
        self._interactions = Interactions()
        self._writer = Writer(self._rest, self._places, self._interactions)
        self._signals = Signals(self._rest)
        self.problem = STARTING
        """See :class:`bot.connector.Receiving`."""

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled; what waiting can heal is waited for, up to 30 s at a time.

        Raises ConfigurationError where Discord does not know the token or does not let the bot read messages.
        """
        arrivals = Arrivals(intake, self._places, self._commands, self._sleep)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(arrivals.run())
                await self._receive(arrivals, tasks)
        except BaseExceptionGroup as group:
            refused = group.subgroup(errors.ConfigurationError)
            if refused is None:
                raise
            raise refused.exceptions[0] from None

    @property
    def guard(self) -> Guard:
        """See :class:`bot.connector.Guarded`."""
        return self._writer.guard

    @guard.setter
    def guard(self, guard: Guard) -> None:
        self._writer.guard = guard

    def pace(self, address: Address) -> float:
        """See :class:`bot.connector.Connector`."""
        place = self._places.known(channel_of(address))
        return 1.2 if place and place.direct else 1.5

    def drafts(self, address: Address) -> bool:  # noqa: ARG002
        """See :class:`bot.connector.Connector`."""
        return False

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """Bring one outbound to its chat; the ids of the messages that it became.

        After a DeliveryError in the middle of a long text the same outbound goes on where it stopped.
        """
        try:
            match outbound:
                case Say() | Edit():
                    refs = await self._writer.write(outbound, outbound.refs if isinstance(outbound, Edit) else ())
                    self._signals.written(outbound.address)
                    return refs
                case Withdraw():
                    await self._writer.withdraw(outbound)
                    self._signals.written(outbound.address)
                case Typing(address=address, on=True):
                    await self._signals.typing(address)
                case React(address=address, ref=ref, emoji=emoji):
                    await self._signals.react(address, ref, emoji)
        except FAILURES as error:
            raise delivery_error(error, self._token, outbound.address) from error
        return ()

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """See :class:`bot.connector.Connector`."""
        try:
            await files.fetch(self._rest, attachment, target, most_bytes)
        except FAILURES as error:
            raise delivery_error(error, self._token, Address(NAME, "")) from error

    async def find(self, outbound: Outbound, after: str | None, known: frozenset[str]) -> tuple[str, ...] | None:
        """Look among the newest messages for one that went out just before a crash; its missing parts are sent.

        None for an edit, which can be done again.
        """
        if not isinstance(outbound, Say):
            return None
        try:
            return await self._writer.find(outbound, after, known)
        except FAILURES as error:
            raise delivery_error(error, self._token, outbound.address) from error

    async def close(self) -> None:
        """Let go of connections."""
        await self._rest.close()

    async def _receive(self, arrivals: Arrivals, tasks: asyncio.TaskGroup) -> NoReturn:
        def arrived(arrival: Arrival) -> None:
            arrivals.put(arrival)
            if isinstance(arrival, Used):
                tasks.create_task(self._interactions.acknowledge(arrival.interaction, arrival.stored))

        failures = 0
        while True:
            receiver = Receiver(self._groups, arrived, self._sleep, self._is_listening)
            try:
                await self._listen(receiver)
            except discord.LoginFailure as error:
                raise errors.ConfigurationError(UNKNOWN_BOT) from error
            except Exception as error:  # one event that discord.py cannot read ends its client
                _raise_if_refused(error)
                is_strange = not isinstance(error, FAILURES)
                self.problem = told(error, self._token)
                log.warning("receiving_waits", extra={"reason": self.problem}, exc_info=is_strange)
            finally:
                await receiver.end()
            failures = 1 if receiver.has_opened else failures + 1
            await self._sleep(pause(failures))

    def _is_listening(self) -> None:
        self.problem = ""

    async def _listen(self, receiver: Receiver) -> None:
        """Until the session cannot be resumed. Its own reconnecting waits up to 17 minutes, which is too long."""
        self._rest.choose_server()
        DiscordWebSocket.DEFAULT_GATEWAY = self._gateway
        await receiver.login(self._token)
        await self._commands.register(receiver)
        await receiver.connect(reconnect=False)


def _quieten() -> None:
    """Let discord.py write no whole events and addresses, which hold tokens, and no advice about voice."""
    for name in ("discord.gateway", "discord.http", "discord.webhook.async_"):
        logging.getLogger(name).addFilter(_is_no_detail)
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False


def _is_no_detail(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.INFO


def _raise_if_refused(error: Exception) -> None:
    code = error.code if isinstance(error, discord.ConnectionClosed) else 0
    if code == _WRONG_TOKEN:
        raise errors.ConfigurationError(UNKNOWN_BOT) from error
    if code == _DISALLOWED_INTENTS or isinstance(error, discord.PrivilegedIntentsRequired):
        raise errors.ConfigurationError(NO_CONTENT) from error
