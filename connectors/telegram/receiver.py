"""What both ways of receiving share: who the bot is, and bringing updates to the intake."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

from aiogram import Bot, types
from aiogram import exceptions as telegram

from bot.connector import Intake, OfferedCommand
from bot.errors import ConfigurationError, StoreUnavailable
from bot.messages import Inbound
from connectors.telegram import unreadable
from connectors.telegram.errors import FAILURES, UNKNOWN_BOT
from connectors.telegram.incoming import Groups, Incoming, Moved, News, Reached

_ANSWER_SECONDS = 5

log = logging.getLogger(__name__)


class Receiver:
    """``commands`` are offered after a slash. Methods raise aiogram's errors and StoreUnavailable."""

    def __init__(self, bot: Bot, *, commands: Sequence[OfferedCommand], groups: Groups) -> None:
        self._bot = bot
        self._commands = [types.BotCommand(command=one.name, description=one.about) for one in commands]
        self._groups = groups
        self._incoming: Incoming | None = None
        self._intake: Intake | None = None
        self._moved: dict[str, str] = {}

    def attend(self, intake: Intake) -> None:
        """This is who gets to know what happens."""
        self._intake = intake

    async def offer_commands(self) -> None:
        """Show what stands after a slash, everywhere."""
        await self._bot.set_my_commands(self._commands)

    async def know_bot(self) -> Incoming:
        """Ask Telegram who the bot is, once. Raises ConfigurationError where it knows no such bot."""
        if self._incoming is None:
            try:
                self._incoming = Incoming(await self._bot.get_me(), self._groups)
            except (telegram.TelegramNotFound, telegram.TelegramUnauthorizedError) as error:
                raise ConfigurationError(UNKNOWN_BOT) from error  # 404 is for a token of a wrong form
        return self._incoming

    async def read(self, raw: object) -> types.Update | Inbound | None:
        """An update as it came over the wire: what can be read of it, or who is to be told that it cannot be read."""
        incoming = await self.know_bot()
        update, is_whole = unreadable.read(raw, self._bot)
        if update is not None and (is_whole or _read(incoming, update)):
            return update
        return unreadable.unread(raw, incoming.me)

    async def take(
        self, intake: Intake, updates: Sequence[types.Update | Inbound], *, cursor: str | None = None
    ) -> None:
        """Store what updates bring, and the cursor with it. News of chats first: what is said next relies on them."""
        incoming = await self.know_bot()
        news = [
            found for update in updates if (found := update if isinstance(update, Inbound) else _read(incoming, update))
        ]
        for one in news:
            match one:
                case Moved(chat, moved_to):
                    self._moved[chat] = moved_to
                    await intake.moved(chat, moved_to)
                case Reached(chat, yes) if yes or chat not in self._moved:
                    await intake.reachable(chat, yes=yes)
        inbounds = [one for one in news if isinstance(one, Inbound)]
        if inbounds or cursor is not None:
            await intake.store(inbounds, cursor=cursor)
        for update in updates:
            if isinstance(update, types.Update) and update.callback_query:
                with suppress(*FAILURES):  # too old by now, or the network: what counts is that it is stored
                    await self._bot.answer_callback_query(update.callback_query.id, request_timeout=_ANSWER_SECONDS)

    def where(self, chat: str) -> str:
        """The id that a chat has by now, as far as Telegram told us."""
        return self._moved.get(chat, chat)

    async def move(self, chat: str, moved_to: str) -> None:
        """Telegram told us when we wanted to say something."""
        self._moved[chat] = moved_to
        if self._intake:
            try:
                await self._intake.moved(chat, moved_to)
            except StoreUnavailable as error:  # it will be told again
                log.warning("move_not_stored", extra={"chat": chat, "reason": str(error)})


def _read(incoming: Incoming, update: types.Update) -> News | None:
    try:
        return incoming.read(update) or unreadable.new_kind(update, incoming.me)
    except Exception:  # it would come again and again, and hold up all others
        log.exception("update_unreadable", extra={"update": update.update_id})
        return unreadable.unread(update.model_dump(by_alias=True), incoming.me)
