"""What can go wrong between Discord and us, and what it means for a message on its way."""

from __future__ import annotations

import re

import aiohttp
import discord

from bot import errors
from bot.messages import Address

FAILURES = (discord.DiscordException, aiohttp.ClientError, OSError)
"""All that a call of Discord's API can raise; a TimeoutError is an OSError."""

UNKNOWN_BOT = (
    "Discord does not know this bot: set DISCORD_TOKEN to the token under Bot at "
    "https://discord.com/developers/applications."
)
NO_CONTENT = (
    "Discord does not let this bot read messages: switch on Message Content Intent under Bot at "
    "https://discord.com/developers/applications."
)

# https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
UNKNOWN_CHANNEL, UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION = 10003, 10008, 10015, 10062
TOO_MANY_EDITS, TOO_LARGE, ALREADY_ACKNOWLEDGED = 30046, 40005, 40060
NO_ACCESS, NOT_OURS, BLOCKED, NO_PERMISSION, INVALID_WEBHOOK = 50001, 50005, 50007, 50013, 50027
NO_COMMON_GUILD = 50278
_CLOSED = frozenset({UNKNOWN_CHANNEL, NO_ACCESS, BLOCKED, NO_COMMON_GUILD})
_EXPIRED = frozenset({UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, INVALID_WEBHOOK, UNKNOWN_MESSAGE})
_LONG_PAUSE_SECONDS = 30.0
_STARTING = frozenset({404, 409, 425})
"""Without a code of Discord's own: from a server that is starting, or from what stands before it."""
_STARTING_SECONDS = 5.0
_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
_SECRET = re.compile(r"(?<=/webhooks/)\d+/[\w-]+|(?<=/interactions/)\d+/[\w-]+")


def code_of(error: BaseException) -> int:
    """Discord's own number for an error; 0 for what has none."""
    return error.code if isinstance(error, discord.HTTPException) else 0


def has_expired(error: discord.HTTPException) -> bool:
    """Whether an interaction cannot be answered as such any more."""
    return error.code in _EXPIRED or error.status == 401  # noqa: PLR2004


def told(error: BaseException, token: str) -> str:
    """What an error says, without the bot's token or that of an interaction."""
    said = str(error) or type(error).__name__
    return _SECRET.sub("<token>", said.replace(token, "<token>"))


def delivery_error(error: BaseException, token: str, address: Address) -> errors.DeliveryError:
    """One of :data:`FAILURES` as what it means for a message on its way to ``address``."""
    message = told(error, token)
    match error:
        case discord.RateLimited():
            return errors.DeliveryDelayed(message, error.retry_after)
        case discord.LoginFailure() | discord.HTTPException(status=401):  # the token was taken back
            return errors.DeliveryDelayed(message, _LONG_PAUSE_SECONDS)
        case discord.HTTPException(status=429):  # so often that discord.py gave up, or refused before Discord's door
            return errors.DeliveryDelayed(message, _LONG_PAUSE_SECONDS)
        case discord.HTTPException(status=status, code=0) if status in _STARTING:  # no message is to blame
            return errors.DeliveryDelayed(message, _STARTING_SECONDS)
        case discord.HTTPException(status=status) if status >= 500:  # noqa: PLR2004
            return errors.DeliveryUncertain(message)
        case discord.HTTPException(code=code) if code in _CLOSED and not address.thread:
            return errors.ChatClosed(message)
        case discord.HTTPException():  # a closed thread leaves its channel open
            return errors.DeliveryRefused(message)
        case _ if isinstance(error, _NEVER_SENT):
            return errors.DeliveryDelayed(message, 1.0)
        case _:
            return errors.DeliveryUncertain(message)
