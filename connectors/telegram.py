"""Telegram, by long polling.

aiogram's own polling confirms an update before its handler is done, so this loop is our own: a batch is
stored, and only the next ``getUpdates`` carries the offset that lets Telegram forget it.
https://core.telegram.org/bots/api#getupdates
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from aiogram import Bot, types
from aiogram import exceptions as telegram
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import PRODUCTION, TelegramAPIServer
from aiogram.enums import ChatAction, ChatType
from aiogram.utils.token import TokenValidationError
from aiohttp import ClientConnectorError, ConnectionTimeoutError
from pydantic import ValidationError

from bot import errors
from bot.connector import Intake
from bot.messages import Address, Edit, Inbound, Outbound, React, Say, Typing
from connectors.text import shorten, split

LONGEST_TEXT = 4096
"""UTF-16 units of one message. https://core.telegram.org/bots/api#sendmessage"""
EMPTY_REPLY = "(empty reply)"
ONLY_TEXT = "I understand only text for now."
UNKNOWN_BOT = "Telegram does not know this bot: set TELEGRAM_TOKEN to the token that @BotFather gave you."
PROBES = 12
"""How many message ids :meth:`Telegram.find` looks at."""

_POLL_SECONDS = 25  # well within the 60 s after which aiogram gives a request up
_LONGEST_PAUSE_SECONDS = 30.0
_ADDRESSED_COMMAND = re.compile(r"(/\w+)@(\w+)(?!\S)")
_SAID_WITHOUT_TEXT = re.compile(
    "animation|audio|checklist|contact|dice|document|live_photo|location|paid_media|photo|poll|sticker|story|venue"
    "|video|video_note|voice"
)
"""What a person says otherwise than by text. Service messages (a pin, a new topic) say nothing."""
_FAILURES = (telegram.TelegramAPIError, telegram.ClientDecodeError)
"""All that a request can raise; a proxy's error page in HTML is a ClientDecodeError."""
_NEVER_SENT = (ClientConnectorError, ConnectionTimeoutError)

log = logging.getLogger(__name__)


class Telegram:
    """Private chats and text only. ``commands``, name to description, are what is offered after a slash.

    Raises ConfigurationError for a token that cannot be one.
    """

    name = "telegram"
    edit_every: float = 1.0

    def __init__(
        self,
        token: str,
        *,
        api_base: str | None = None,
        commands: Mapping[str, str],
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        server = TelegramAPIServer.from_base(api_base) if api_base else PRODUCTION
        try:
            self._bot = Bot(token, session=AiohttpSession(api=server))
        except TokenValidationError as error:
            raise errors.ConfigurationError(UNKNOWN_BOT) from error
        self._commands = [types.BotCommand(command=name, description=text) for name, text in commands.items()]
        self._sleep = sleep
        self._begun: dict[tuple[str, str], list[str]] = {}
        """By token and text: the parts that are out of a message whose other parts have to wait."""

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled; what waiting can heal is waited for, up to 30 s at a time.

        Raises ConfigurationError where Telegram does not know the token.
        """
        username, failures = "", 0
        offset: int | None = None
        while True:
            try:
                username = username or await self._start()
                if offset is None:
                    offset = int(await intake.cursor() or 0)
                offset = await self._receive(intake, offset, username)
                failures = 0
            except telegram.TelegramUnauthorizedError as error:
                raise errors.ConfigurationError(UNKNOWN_BOT) from error
            except (*_FAILURES, errors.StoreUnavailable) as error:
                failures += 1
                seconds = _seconds_to_wait(error, failures, jitter=random.random())
                if not isinstance(error, telegram.TelegramConflictError):
                    log.warning("not receiving for %.1f s: %s", seconds, _without(self._bot.token, error))
                await self._sleep(seconds)

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """Bring one outbound to its chat; the ids of the messages that it became.

        After a DeliveryError in the middle of a long text the same outbound goes on where it stopped.
        """
        chat = int(outbound.address.chat)
        try:
            match outbound:
                case Say():
                    return await self._write(outbound, ())
                case Edit(refs=refs):
                    return await self._write(outbound, refs)
                case Typing(address=address, on=True):
                    thread = _thread(address)
                    await self._bot.send_chat_action(chat, ChatAction.TYPING, message_thread_id=thread)
                case React(ref=ref, emoji=emoji):
                    mark = types.ReactionTypeEmoji(emoji=emoji)
                    with suppress(*_FAILURES):  # a mark is a courtesy, and a chat may not allow this one
                        await self._bot.set_message_reaction(chat, int(ref), reaction=[mark])
        except _FAILURES as error:
            raise _delivery_error(error, self._bot.token) from error
        return ()

    async def find(self, outbound: Outbound, after: str | None, known: frozenset[str]) -> tuple[str, ...] | None:
        """Look for a message that went out just before a crash, when its id was not written down yet.

        Telegram has no idempotency keys and does not let a bot read a chat. But ids in private chats are
        given out in order by one counter, and a bot can edit its own messages: so the text is put on each
        of the next 12 ids in turn. "Not modified" and success mean that it stands there; "not found" and
        "can't be edited" (no message, or a person's) mean the next id. Ids in ``known`` are not touched, so
        that no other message of ours is overwritten. The parts of a long text are looked for in order; once
        one is found, the missing ones are sent. None when nothing was found, for an edit (it can be done
        again), and without ``after``.

        The counter is the bot's and not the chat's, so with many chats a message may be farther away than
        12 ids; then it is sent twice, which is better than never. Raises DeliveryDelayed when Telegram
        wants the probing to slow down, and the other errors of :meth:`deliver`.
        """
        if not isinstance(outbound, Say) or after is None or not after.isdecimal():
            return None
        parts = _parts(outbound)
        found: list[str] = []
        for message_id in range(int(after) + 1, int(after) + 1 + PROBES):
            if str(message_id) in known:
                continue
            try:
                if await self._edit(outbound, message_id, parts, len(found)):
                    found.append(str(message_id))
            except _FAILURES as error:
                raise _delivery_error(error, self._bot.token) from error
            if len(found) == len(parts):
                return tuple(found)
        if not found:
            return None
        self._begun[outbound.token, outbound.text] = found
        return await self.deliver(outbound)

    async def close(self) -> None:
        """Let go of connections."""
        await self._bot.session.close()

    async def _start(self) -> str:
        """Make long polling possible; returns the bot's username."""
        try:
            me = await self._bot.get_me()
        except telegram.TelegramNotFound as error:  # the answer to a token that is not even of the right form
            raise errors.ConfigurationError(UNKNOWN_BOT) from error
        await self._bot.delete_webhook(drop_pending_updates=False)
        await self._bot.set_my_commands(self._commands)
        return me.username or ""

    async def _receive(self, intake: Intake, offset: int, username: str) -> int:
        """Store one batch; returns the offset that confirms it."""
        updates, offset = await self._updates(offset)
        if not updates:
            return offset
        for update in updates:
            with suppress(*_FAILURES):  # too old by now, or the network: what counts is that it is stored
                if update.callback_query:
                    await self._bot.answer_callback_query(update.callback_query.id)
        inbounds = [inbound for update in updates if (inbound := _inbound(update, username))]
        await intake.store(inbounds, cursor=str(offset))
        for address in {address for update in updates if (address := _said_without_text(update))}:
            with suppress(*_FAILURES):  # likewise a courtesy
                await self._bot.send_message(int(address.chat), ONLY_TEXT, message_thread_id=_thread(address))
        return offset

    async def _updates(self, offset: int) -> tuple[list[types.Update], int]:
        """The next updates in order, and the offset after them."""
        try:
            updates = await self._bot.get_updates(
                offset=offset, timeout=_POLL_SECONDS, allowed_updates=["message", "callback_query"]
            )
            ids = [update.update_id for update in updates]
        except telegram.ClientDecodeError as error:
            if not isinstance(error.data, dict) or "result" not in error.data:
                raise
            # One update that this aiogram cannot read must not hold up all others for ever.
            updates, ids = [], [raw["update_id"] for raw in error.data["result"]]
            for raw in error.data["result"]:
                try:
                    updates.append(types.Update.model_validate(raw, context={"bot": self._bot}))
                except ValidationError:
                    log.exception("update %s cannot be read and is left out", raw["update_id"])
        updates.sort(key=lambda update: update.update_id)
        return updates, max(ids) + 1 if ids else offset

    async def _write(self, outbound: Say | Edit, refs: Sequence[str]) -> tuple[str, ...]:
        """Make the messages ``refs``, and new ones after them or none of the last ones, show the text."""
        chat, parts = int(outbound.address.chat), _parts(outbound)
        done = self._begun.get((outbound.token, outbound.text), [])
        for part in range(len(done), len(parts)):
            ref = refs[part] if part < len(refs) else None
            if ref is None or not await self._edit(outbound, int(ref), parts, part):
                thread, keyboard = _thread(outbound.address), _keyboard(outbound, parts, part)
                sent = await self._bot.send_message(chat, parts[part], message_thread_id=thread, reply_markup=keyboard)
                ref = str(sent.message_id)
            done.append(ref)
            self._begun[outbound.token, outbound.text] = done
        for surplus in refs[len(parts) :]:
            with suppress(telegram.TelegramBadRequest):  # it is gone already
                await self._bot.delete_message(chat, int(surplus))
        del self._begun[outbound.token, outbound.text]
        return tuple(done)

    async def _edit(self, outbound: Say | Edit, message_id: int, parts: Sequence[str], part: int) -> bool:
        """Whether there is a message of ours with this id, and it now shows this part."""
        chat, keyboard = int(outbound.address.chat), _keyboard(outbound, parts, part)
        try:
            await self._bot.edit_message_text(parts[part], chat_id=chat, message_id=message_id, reply_markup=keyboard)
        except telegram.TelegramBadRequest as error:
            wording = error.message.lower()
            if "message is not modified" in wording:
                return True
            if "message to edit not found" in wording or "message can't be edited" in wording:
                return False
            raise
        return True


def _inbound(update: types.Update, username: str) -> Inbound | None:
    if update.callback_query:
        return _press(update.callback_query, update.update_id)
    message = update.message
    if not message or not message.text or not message.from_user or message.chat.type != ChatType.PRIVATE:
        return None
    text = message.text
    command = _ADDRESSED_COMMAND.match(text)
    if command and command[2].lower() == username.lower():
        text = command[1] + text[command.end() :]
    return Inbound(
        address=_address(message),
        key=f"message:{message.chat.id}:{message.message_id}",
        kind="message",
        order=update.update_id,
        person=str(message.from_user.id),
        person_name=message.from_user.full_name,
        text=text,
        sent_at=message.date,
    )


def _press(query: types.CallbackQuery, order: int) -> Inbound | None:
    message = query.message
    if not message or not query.data or message.chat.type != ChatType.PRIVATE:
        return None
    return Inbound(
        address=_address(message),
        key=f"press:{query.id}",
        kind="press",
        order=order,
        person=str(query.from_user.id),
        person_name=query.from_user.full_name,
        text=query.data,
    )


def _said_without_text(update: types.Update) -> Address | None:
    message = update.message
    if not message or message.chat.type != ChatType.PRIVATE:
        return None
    return _address(message) if _SAID_WITHOUT_TEXT.fullmatch(message.content_type) else None


def _address(message: types.Message | types.InaccessibleMessage) -> Address:
    if isinstance(message, types.Message) and message.is_topic_message and message.message_thread_id:
        return Address("telegram", str(message.chat.id), str(message.message_thread_id))
    return Address("telegram", str(message.chat.id))


def _thread(address: Address) -> int | None:
    return int(address.thread) if address.thread else None


def _parts(outbound: Say | Edit) -> list[str]:
    """The texts of the messages that it becomes: just one as long as it is being written."""
    # Half of a surrogate pair, which a model can utter, cannot be sent.
    text = outbound.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if outbound.partial and text.strip():
        return [shorten(text, LONGEST_TEXT)]
    return split(text, LONGEST_TEXT) or [EMPTY_REPLY]


def _keyboard(outbound: Say | Edit, parts: Sequence[str], part: int) -> types.InlineKeyboardMarkup | None:
    """The buttons, under the last part."""
    if not outbound.buttons or part < len(parts) - 1:
        return None
    row = [types.InlineKeyboardButton(text=one.label, callback_data=one.command) for one in outbound.buttons]
    return types.InlineKeyboardMarkup(inline_keyboard=[row])


def _seconds_to_wait(error: Exception, failures: int, *, jitter: float) -> float:
    """Before receiving again: what Telegram says, else 1, 2, 4, … 30 less up to a half by ``jitter``."""
    match error:
        case telegram.TelegramRetryAfter():
            return float(error.retry_after)
        case telegram.TelegramConflictError():  # another host still polls; Telegram lets the last one have it
            return 5.0
        case _:
            return min(_LONGEST_PAUSE_SECONDS, 2.0 ** min(failures - 1, 5)) * (1 - jitter / 2)


def _delivery_error(error: Exception, token: str) -> errors.DeliveryError:
    message = _without(token, error)
    match error:
        case telegram.TelegramRetryAfter():
            return errors.DeliveryDelayed(message, float(error.retry_after))
        case telegram.TelegramUnauthorizedError():  # the token was taken back: no message is to blame
            return errors.DeliveryDelayed(message, _LONGEST_PAUSE_SECONDS)
        case telegram.TelegramNetworkError() if isinstance(error.__cause__, _NEVER_SENT):
            return errors.DeliveryDelayed(message, 1.0)
        case telegram.TelegramNetworkError() | telegram.TelegramServerError() | telegram.ClientDecodeError():
            return errors.DeliveryUncertain(message)
        case _:
            return errors.DeliveryRefused(message)


def _without(token: str, error: Exception) -> str:
    """What an error says; addresses in it hold the token."""
    return str(error).replace(token, "<token>")
