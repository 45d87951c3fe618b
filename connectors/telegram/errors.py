"""What Telegram's errors mean here. Translated once; no text of one has the token in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from aiogram import exceptions as telegram
from aiohttp import ClientConnectorError, ConnectionTimeoutError

from bot import errors

UNKNOWN_BOT = "Telegram does not know this bot: set TELEGRAM_TOKEN to the token that @BotFather gave you."
FAILURES = (telegram.TelegramAPIError, telegram.ClientDecodeError)
"""All that a request can raise; a proxy's error page in HTML is a ClientDecodeError."""

_LONGEST_PAUSE_SECONDS = 30.0
_CONFLICT_SECONDS = 5.0
_MOVED_SECONDS = 1.0
_LONGEST_TEXT = 500
_NEVER_SENT = (ClientConnectorError, ConnectionTimeoutError)
_CLOSED = (
    "bot was blocked",
    "bot was kicked",
    "not a member",
    "can't initiate conversation",
    "can't send messages to bots",
    "user is deactivated",
    "user_is_deactivated",
    "input_user_deactivated",
    "group chat was deactivated",
    "group chat was deleted",
    "chat not found",
    "peer_id_invalid",
)
"""Wordings, in small letters, of a chat that takes nothing from us any more."""


def says(error: telegram.TelegramAPIError, *wordings: str) -> bool:
    """Whether an error has one of these wordings, written in small letters."""
    told = error.message.lower()
    return any(wording in told for wording in wordings)


def seconds_to_wait(error: Exception, failures: int, *, jitter: float) -> float:
    """Before receiving again: what Telegram says, else 1, 2, 4, … 30 less up to a half by ``jitter``."""
    match error:
        case telegram.TelegramRetryAfter():
            return float(error.retry_after)
        case telegram.TelegramConflictError():  # another host still polls; Telegram lets the last one have it
            return _CONFLICT_SECONDS
        case _:
            return min(_LONGEST_PAUSE_SECONDS, 2.0 ** min(failures - 1, 5)) * (1 - jitter / 2)


def delivery_error(error: Exception, token: str) -> errors.DeliveryError:
    """What an error in delivering means to the gateway."""
    message = told(error, token)
    match error:
        case telegram.TelegramRetryAfter():
            return errors.DeliveryDelayed(message, float(error.retry_after))
        case telegram.TelegramMigrateToChat():
            return errors.DeliveryDelayed(message, _MOVED_SECONDS)
        case telegram.TelegramUnauthorizedError():  # the token was taken back: no message is to blame
            return errors.DeliveryDelayed(message, _LONGEST_PAUSE_SECONDS)
        case telegram.TelegramNotFound() | telegram.TelegramConflictError():
            # No message is to blame for these either: a Bot API server says so while it starts, or while another one
            # has the bot. A chat that is not there is a bad request.
            return errors.DeliveryDelayed(message, _CONFLICT_SECONDS)
        case telegram.TelegramForbiddenError() | telegram.TelegramBadRequest() if says(error, *_CLOSED):
            return errors.ChatClosed(message)
        case telegram.TelegramNetworkError() if isinstance(error.__cause__, _NEVER_SENT):
            return errors.DeliveryDelayed(message, 1.0)
        case telegram.TelegramEntityTooLarge():
            return errors.DeliveryRefused(message)
        case telegram.TelegramNetworkError() | telegram.TelegramServerError() | telegram.ClientDecodeError():
            return errors.DeliveryUncertain(message)
        case _:
            return errors.DeliveryRefused(message)


def unread(error: telegram.ClientDecodeError) -> Mapping[str, Any] | None:
    """The message that a call made although this aiogram cannot read all that the server says of it."""
    data = error.data
    result = data.get("result") if isinstance(data, dict) and data.get("ok") else None
    return result if isinstance(result, dict) and "message_id" in result else None


def told(error: Exception, token: str) -> str:
    """What an error says, at most 500 characters of it; addresses in it hold the token."""
    said = str(error).replace(token, "<token>").replace(quote(token, safe=""), "<token>")
    return said if len(said) <= _LONGEST_TEXT else f"{said[:_LONGEST_TEXT]}…"
