"""The Telegram connector: private chats, groups and topics, by long polling or by webhook.

What comes in goes through ``polling`` or ``webhook``, ``receiver`` and
``incoming``; what goes out through ``looks``, ``writer`` and ``screen``; files
through ``files``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from aiogram import Bot, types
from aiogram import exceptions as telegram
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import PRODUCTION, TelegramAPIServer
from aiogram.enums import ChatAction
from aiogram.methods import Response
from aiogram.utils.token import TokenValidationError

from bot import errors
from bot.connector import Guard, Intake, OfferedCommand
from bot.messages import Address, Attachment, Edit, Outbound, React, Say, Typing, Withdraw
from connectors.telegram.errors import FAILURES, UNKNOWN_BOT, delivery_error
from connectors.telegram.files import Files
from connectors.telegram.incoming import Groups
from connectors.telegram.looks import draft_of
from connectors.telegram.polling import Polling
from connectors.telegram.receiver import Receiver
from connectors.telegram.screen import Place, Screen
from connectors.telegram.webhook import Webhook
from connectors.telegram.writer import Writer

_PACE_SECONDS = 1.0
_GROUP_PACE_SECONDS = 3.0
"""A group takes 20 messages and edits a minute. https://core.telegram.org/bots/faq#broadcasting-to-users"""

_LOWEST_BASIC_GROUP = -999_999_999_999

_ANSWERS = (Response[list[types.Update]], Response[types.Message], Response[types.Message | bool], Response[bool])
"""What Telegram answers all the time. pydantic forgets a generic class that nobody holds, and making one takes longer
than reading an answer."""


class Telegram:
    """``commands`` are what is offered after a slash; ``groups``: what is answered there.

    With a ``webhook_url`` Telegram calls us there, else we ask it. Raises ConfigurationError for a token, a URL or
    a secret that cannot be one.
    """

    name = "telegram"

    def __init__(
        self,
        token: str,
        *,
        api_base: str | None = None,
        commands: Sequence[OfferedCommand],
        groups: Groups = "mention",
        webhook_url: str | None = None,
        webhook_secret: str | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        server = TelegramAPIServer.from_base(api_base) if api_base else PRODUCTION
        try:
            self._bot = Bot(token, session=AiohttpSession(api=server))
        except TokenValidationError as error:
            raise errors.ConfigurationError(UNKNOWN_BOT) from error
        self._receiver = Receiver(self._bot, commands=commands, groups=groups)
        self._polling = Polling(self._bot, self._receiver, sleep=sleep)
        self._webhook: Webhook | None = None
        if webhook_url:
            self._webhook = Webhook(
                self._bot,
                self._receiver,
                url=webhook_url,
                secret=webhook_secret,
                is_own_server=bool(api_base),
                sleep=sleep,
            )
        self.hook_path = self._webhook.path if self._webhook else None
        self._screen = Screen(self._bot)
        self._writer = Writer(self._screen)
        self._files = Files(self._bot, self._writer, is_own_server=bool(api_base))

    @property
    def problem(self) -> str:
        """See :class:`bot.connector.Receiving`."""
        return (self._webhook or self._polling).problem

    async def run(self, intake: Intake) -> None:
        """See :class:`bot.connector.Connector`."""
        self._receiver.attend(intake)
        self._screen.forget()
        await (self._webhook or self._polling).run(intake)

    async def receive(self, intake: Intake, headers: Mapping[str, str], body: bytes) -> int:
        """See :class:`bot.connector.Hooked`."""
        assert self._webhook is not None
        return await self._webhook.receive(intake, headers, body)

    @property
    def guard(self) -> Guard:
        """See :class:`bot.connector.Guarded`."""
        return self._screen.guard

    @guard.setter
    def guard(self, guard: Guard) -> None:
        self._screen.guard = guard

    def pace(self, address: Address) -> float:
        """See :class:`bot.connector.Connector`."""
        return _PACE_SECONDS if _is_private(address) else _GROUP_PACE_SECONDS

    def drafts(self, address: Address) -> bool:
        """See :class:`bot.connector.Connector`."""
        return self._screen.knows_drafts and _is_private(address)

    def counts_with(self, chat: str, other: str) -> bool:
        """See :class:`bot.connector.Counting`: a bot's private chats and its basic groups have one counter, each
        supergroup has its own."""
        return chat == other or not (_is_supergroup(chat) or _is_supergroup(other))

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """Bring one outbound to its chat; the ids of the messages that it became.

        After a DeliveryError in the middle of a long text the same outbound goes on where it stopped.
        """
        outbound = replace(outbound, address=self._now(outbound.address))
        async with self._translated(outbound.address):
            match outbound:
                case Say(partial=True) if self.drafts(outbound.address):
                    await self._screen.show_draft(Place.of(outbound.address), outbound.token, draft_of(outbound.text))
                case Say(file=None):
                    return await self._writer.write(outbound, ())
                case Say():
                    return await self._files.say(outbound)
                case Edit(refs=refs):
                    return await self._writer.write(outbound, refs)
                case Withdraw(address=address, refs=refs):
                    for ref in refs:
                        await self._screen.delete(int(address.chat), int(ref))
                case Typing(address=address, on=True):
                    place = Place.of(address)
                    await self._bot.send_chat_action(place.chat, ChatAction.TYPING, message_thread_id=place.thread)
                case React():
                    await self._react(outbound)
        return ()

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """See :class:`bot.connector.Connector`."""
        await self._files.fetch(attachment, target, most_bytes=most_bytes)

    async def find(self, outbound: Outbound, after: str | None, known: frozenset[str]) -> tuple[str, ...] | None:
        """See :meth:`Writer.find <connectors.telegram.writer.Writer.find>`.

        None for an edit (it can be done again), for a file, and without ``after``. Raises DeliveryDelayed when
        Telegram wants the probing to slow down, and the other errors of :meth:`deliver`.
        """
        if not isinstance(outbound, Say) or outbound.file or after is None or not after.isdecimal():
            return None
        say = replace(outbound, address=self._now(outbound.address))
        async with self._translated(say.address):
            return await self._writer.find(say, int(after), known)

    async def close(self) -> None:
        """Let go of connections."""
        await self._bot.session.close()

    async def _react(self, react: React) -> None:
        marks = [types.ReactionTypeEmoji(emoji=react.emoji)] if react.emoji else []
        with suppress(*FAILURES):  # a mark is a courtesy, and a chat may not allow this one
            await self._bot.set_message_reaction(int(react.address.chat), int(react.ref), reaction=[*marks])

    def _now(self, address: Address) -> Address:
        """With the id that the chat has by now."""
        return replace(address, chat=self._receiver.where(address.chat))

    @asynccontextmanager
    async def _translated(self, address: Address) -> AsyncIterator[None]:
        """What Telegram says of a delivery, as a DeliveryError; a chat's new id is remembered."""
        try:
            yield
        except telegram.TelegramMigrateToChat as error:
            await self._receiver.move(address.chat, str(error.migrate_to_chat_id))
            raise delivery_error(error, self._bot.token) from error
        except FAILURES as error:
            if isinstance(error, telegram.TelegramNotFound):  # what is simplest is not known either
                self._screen.unlearn()
            raise delivery_error(error, self._bot.token) from error


def _is_supergroup(chat: str) -> bool:
    """https://core.telegram.org/api/bots/ids: those of basic groups are negative too, but never so low."""
    return int(chat) < _LOWEST_BASIC_GROUP


def _is_private(address: Address) -> bool:
    """Groups have negative ids."""
    return not address.chat.startswith("-")
