"""Single messages of ours in a chat: put there, changed, taken away. What each shows is remembered."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable
from dataclasses import dataclass
from zlib import crc32

from aiogram import Bot, types
from aiogram import exceptions as telegram

from bot.connector import Guard, unguarded
from bot.messages import Address
from connectors.telegram.errors import says, told, unread
from connectors.telegram.looks import Look, entities_of, keyboard_of

_MOST_REMEMBERED = 1000
_NO_PREVIEW = types.LinkPreviewOptions(is_disabled=True)
_NOT_MODIFIED = "message is not modified"
_NOT_OURS = (
    "message to edit not found",
    "message can't be edited",
    "there is no text in the message to edit",
    "message_id_invalid",
    "message_author_required",
)
"""Wordings for a message that is gone, that is somebody else's, or that is a file."""

log = logging.getLogger(__name__)


class RichRefused(Exception):
    """Telegram, or this server, does not take this rich message."""


@dataclass(frozen=True)
class Place:
    """Where a message goes: the chat, its topic, and the message that it answers."""

    chat: int
    thread: int | None = None
    answers: int | None = None

    @classmethod
    def of(cls, address: Address, answers: str = "") -> Place:
        """The place of a conversation; only in groups is said what a message answers."""
        chat = int(address.chat)
        answered = int(answers) if chat < 0 and answers.isdecimal() else None
        return cls(chat, int(address.thread) if address.thread else None, answered)

    @property
    def reply(self) -> types.ReplyParameters | None:
        """Telegram's word for what it answers, which may be gone by now."""
        if self.answers is None:
            return None
        return types.ReplyParameters(message_id=self.answers, allow_sending_without_reply=True)


async def id_of(sending: Awaitable[types.Message]) -> int:
    """The id of the message that is being sent, also where the server says more of it than can be read here."""
    try:
        return (await sending).message_id
    except telegram.ClientDecodeError as error:
        sent = unread(error)
        if sent is None:
            raise
        return int(sent["message_id"])


class Screen:
    """All methods raise aiogram's errors, and RichRefused where a look is rich."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self.guard: Guard = unguarded
        """See :class:`bot.connector.Guarded`."""
        self._shown: OrderedDict[tuple[int, int], Look] = OrderedDict()
        self.knows_rich = True
        """Whether the server has rich messages, as far as we know."""
        self.knows_drafts = True
        """Likewise drafts."""

    def forget(self) -> None:
        """Somebody else may have changed our messages."""
        self._shown.clear()

    def unlearn(self) -> None:
        """It was no sign of a server that knows less, but of one that is starting."""
        self.knows_rich = self.knows_drafts = True

    def forget_message(self, chat: int, message_id: int) -> None:
        """Somebody else may have changed this one."""
        self._shown.pop((chat, message_id), None)

    async def send(self, place: Place, look: Look) -> int:
        """Say it in a new message; returns its id. Without its marks where Telegram does not take them."""
        await self.guard()
        if look.rich:
            return await self._send_rich(place, look)
        try:
            return await self._send(place, look)
        except telegram.TelegramBadRequest as error:
            if not look.entities:
                raise
            log.warning("said_without_marks", extra={"reason": told(error, self._bot.token)})
            return await self._send(place, look.plain)

    async def edit(self, chat: int, message_id: int, look: Look) -> bool:
        """Whether there is a message of ours with this id, and it now shows this."""
        if self._shown.get((chat, message_id)) == look:
            return True
        self._shown.pop((chat, message_id), None)
        try:
            await self._edit(chat, message_id, look)
        except telegram.TelegramBadRequest as error:
            if says(error, *_NOT_OURS):
                return False
            if look.rich and not says(error, _NOT_MODIFIED):
                raise RichRefused from error
            if not says(error, _NOT_MODIFIED):
                if not look.entities:
                    raise
                log.warning("said_without_marks", extra={"reason": told(error, self._bot.token)})
                return await self.edit(chat, message_id, look.plain)
        except telegram.ClientDecodeError as error:
            if not unread(error):
                raise
        self._remember(chat, message_id, look)
        return True

    async def delete(self, chat: int, message_id: int) -> None:
        """Take it away, if it is still there."""
        self._shown.pop((chat, message_id), None)
        try:
            await self._bot.delete_message(chat, message_id)
        except telegram.TelegramBadRequest as error:
            log.debug("message_not_deleted", extra={"reason": told(error, self._bot.token)})

    async def show_draft(self, place: Place, token: str, look: Look) -> None:
        """Show what is being written; where the server knows no drafts this is noted, and nothing happens."""
        try:
            await self._draft(place, token, look)
        except telegram.TelegramNotFound:
            self.knows_drafts = False
        except telegram.TelegramBadRequest:
            if not look.entities:
                raise
            await self._draft(place, token, look.plain)

    async def _draft(self, place: Place, token: str, look: Look) -> None:
        await self._bot.send_message_draft(
            place.chat,
            (crc32(token.encode()) & 0x7FFFFFFF) or 1,
            message_thread_id=place.thread,
            text=look.text,
            entities=entities_of(look),
            can_stop=True,
            keep_on_stop=False,
        )

    async def _send(self, place: Place, look: Look) -> int:
        sending = self._bot.send_message(
            place.chat,
            look.text,
            message_thread_id=place.thread,
            entities=entities_of(look),
            link_preview_options=_NO_PREVIEW,
            reply_parameters=place.reply,
            reply_markup=keyboard_of(look),
        )
        message_id = await id_of(sending)
        self._remember(place.chat, message_id, look)
        return message_id

    async def _send_rich(self, place: Place, look: Look) -> int:
        try:
            sending = self._bot.send_rich_message(
                place.chat,
                types.InputRichMessage(markdown=look.rich),
                message_thread_id=place.thread,
                reply_parameters=place.reply,
                reply_markup=keyboard_of(look),
            )
            message_id = await id_of(sending)
        except telegram.TelegramNotFound as error:
            self.knows_rich = False
            raise RichRefused from error
        except telegram.TelegramBadRequest as error:
            raise RichRefused from error
        self._remember(place.chat, message_id, look)
        return message_id

    async def _edit(self, chat: int, message_id: int, look: Look) -> None:
        if look.rich:
            rich = types.InputRichMessage(markdown=look.rich)
            await self._bot.edit_message_text(
                chat_id=chat, message_id=message_id, rich_message=rich, reply_markup=keyboard_of(look)
            )
            return
        await self._bot.edit_message_text(
            look.text,
            chat_id=chat,
            message_id=message_id,
            entities=entities_of(look),
            link_preview_options=_NO_PREVIEW,
            reply_markup=keyboard_of(look),
        )

    def _remember(self, chat: int, message_id: int, look: Look) -> None:
        self._shown[chat, message_id] = look
        self._shown.move_to_end((chat, message_id))
        while len(self._shown) > _MOST_REMEMBERED:
            self._shown.popitem(last=False)
