"""Telegram, by long polling.

aiogram's own polling confirms an update before its handler is done, so this loop is our own: a batch is
stored, and only the next ``getUpdates`` carries the offset that lets Telegram forget it.
https://core.telegram.org/bots/api#getupdates
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable

from aiogram import Bot, types
from aiogram import exceptions as telegram

from bot import errors
from bot.connector import STARTING, Intake
from bot.messages import Inbound
from connectors.telegram.errors import FAILURES, UNKNOWN_BOT, says, seconds_to_wait, told
from connectors.telegram.incoming import ALLOWED_UPDATES
from connectors.telegram.receiver import Receiver

_POLL_SECONDS = 25  # well within the 60 s after which aiogram gives a request up

log = logging.getLogger(__name__)


class Polling:
    """Asks for updates, again and again."""

    def __init__(self, bot: Bot, receiver: Receiver, *, sleep: Callable[[float], Awaitable[object]]) -> None:
        self._bot = bot
        self._receiver = receiver
        self._sleep = sleep
        self._is_started = False
        self._is_told = False
        self.problem = STARTING
        """See :class:`bot.connector.Receiving`."""

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled; what waiting can heal is waited for, up to 30 s at a time.

        Raises ConfigurationError where Telegram does not know the token.
        """
        failures, self._is_started = 0, False
        offset: int | None = None
        while True:
            try:
                await self._start()
                if offset is None:
                    offset = int(await intake.cursor() or 0)
                offset = await self._receive(intake, offset)
                failures, self._is_told, self.problem = 0, False, ""
            except telegram.TelegramUnauthorizedError as error:
                raise errors.ConfigurationError(UNKNOWN_BOT) from error
            except errors.StoreUnavailable as error:  # no fault of Telegram's
                failures, self.problem = failures + 1, ""
                seconds = seconds_to_wait(error, failures, jitter=random.random())
                log.warning("receiving_waits", extra={"seconds": round(seconds, 1), "reason": str(error)})
                await intake.until_back(seconds)
            except FAILURES as error:
                failures += 1
                self.problem = told(error, self._bot.token)
                seconds = seconds_to_wait(error, failures, jitter=random.random())
                if isinstance(error, telegram.TelegramConflictError):
                    self._tell_conflict(error)
                else:
                    log.warning("receiving_waits", extra={"seconds": round(seconds, 1), "reason": self.problem})
                await self._sleep(seconds)

    async def _start(self) -> None:
        """Make long polling possible."""
        if self._is_started:
            return
        await self._receiver.know_bot()
        await self._bot.delete_webhook(drop_pending_updates=False)
        await self._receiver.offer_commands()
        self._is_started, self.problem = True, ""

    def _tell_conflict(self, error: telegram.TelegramConflictError) -> None:
        """Once, until receiving worked in between."""
        if says(error, "webhook"):  # somebody set one: it is taken away again
            self._is_started = False
        if not self._is_told:
            self._is_told = True
            what = "has set a webhook" if says(error, "webhook") else "receives"
            note = f"Another program {what} with this bot's token: stop it, or give it a bot of its own."
            log.warning("token_used_elsewhere", extra={"note": note, "reason": self.problem})

    async def _receive(self, intake: Intake, offset: int) -> int:
        """Store one batch; returns the offset that confirms it."""
        updates, ids = await self._updates(offset)
        if not ids:
            return offset
        offset = max(ids) + 1
        await self._receiver.take(intake, updates, cursor=str(offset))
        return offset

    async def _updates(self, offset: int) -> tuple[list[types.Update | Inbound], list[int]]:
        """The next updates in order, or who is to be told that theirs cannot be read; and the ids of all there were."""
        try:
            updates = await self._bot.get_updates(offset=offset, timeout=_POLL_SECONDS, allowed_updates=ALLOWED_UPDATES)
        except telegram.ClientDecodeError as error:
            raws = error.data.get("result") if isinstance(error.data, dict) else None
            ids = [raw["update_id"] for raw in raws if _has_id(raw)] if isinstance(raws, list) else []
            if not ids:
                raise
            # One update that this aiogram cannot read must not hold up all others for ever.
            assert isinstance(raws, list)
            in_order = sorted(filter(_has_id, raws), key=lambda raw: int(raw["update_id"]))
            found = [await self._receiver.read(raw) for raw in in_order]
            return [one for one in found if one is not None], ids
        return [*sorted(updates, key=lambda update: update.update_id)], [update.update_id for update in updates]


def _has_id(raw: object) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("update_id"), int)
