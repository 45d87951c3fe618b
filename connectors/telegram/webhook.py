"""Telegram, by webhook: it calls us, and asks again until we answer 200.

https://core.telegram.org/bots/api#setwebhook
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from aiogram import Bot
from aiogram import exceptions as telegram

from bot import errors
from bot.connector import STARTING, Intake
from connectors.telegram.errors import FAILURES, UNKNOWN_BOT, seconds_to_wait, told
from connectors.telegram.incoming import ALLOWED_UPDATES
from connectors.telegram.receiver import Receiver

LOOK_SECONDS = 300.0
"""Between two looks at what Telegram thinks of the webhook."""
_QUIET_SECONDS = 60.0
"""Between two lines about calls that were refused."""
_HEADER = "x-telegram-bot-api-secret-token"
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")

log = logging.getLogger(__name__)


class Webhook:
    """``url`` is where Telegram calls us, ``secret`` what it says then; without one it is derived from the token.

    Raises ConfigurationError for a URL or a secret that Telegram would not take. ``is_own_server``: a Bot API
    server of one's own, which takes http too.
    """

    def __init__(
        self,
        bot: Bot,
        receiver: Receiver,
        *,
        url: str,
        secret: str | None,
        is_own_server: bool,
        sleep: Callable[[float], Awaitable[object]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bot = bot
        self._receiver = receiver
        self._url = url
        self._secret = _derived(bot.token) if secret is None else secret
        self._sleep = sleep
        self._clock = clock
        self._refused, self._quiet_until = 0, 0.0
        self._last_problem: str | None = None
        self.problem = STARTING
        """See :class:`bot.connector.Receiving`."""
        self.path = _checked_path(url, is_own_server=is_own_server)
        if not _SECRET.fullmatch(self._secret):
            raise errors.ConfigurationError(
                "TELEGRAM_WEBHOOK_SECRET may hold only A-Z, a-z, 0-9, _ and -, at most 256 of them."
            )

    async def run(self, intake: Intake) -> None:  # noqa: ARG002  # what comes in comes to `receive`
        """Keep the webhook set until cancelled; it then stays, so that Telegram keeps what comes meanwhile.

        Raises ConfigurationError where Telegram does not know the token.
        """
        failures, is_set = 0, False
        while True:
            try:
                if not is_set:
                    await self._set()
                    self.problem = ""
                    is_set, failures = True, 0
                    await self._sleep(LOOK_SECONDS)
                is_set, failures = await self._look(), 0
                self.problem = ""
                if is_set:
                    await self._sleep(LOOK_SECONDS)
            except telegram.TelegramUnauthorizedError as error:
                raise errors.ConfigurationError(UNKNOWN_BOT) from error
            except FAILURES as error:
                failures += 1
                seconds = seconds_to_wait(error, failures, jitter=random.random())
                self.problem = told(error, self._bot.token)
                log.warning("receiving_waits", extra={"seconds": round(seconds, 1), "reason": self.problem})
                await self._sleep(seconds)

    async def receive(self, intake: Intake, headers: Mapping[str, str], body: bytes) -> int:
        """Store the update that a call brings; returns the HTTP status."""
        given = headers.get(_HEADER, "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._secret.encode()):
            self._refuse("another secret came with it" if given else "no secret came with it")
            return HTTPStatus.UNAUTHORIZED
        raw = _json_of(body)
        try:
            update = await self._receiver.read(raw)
            if update is not None:  # else it would come again and again
                await self._receiver.take(intake, [update])
        except (*FAILURES, errors.StoreUnavailable, errors.ConfigurationError) as error:
            number = raw.get("update_id") if isinstance(raw, dict) else None
            log.warning("update_waits", extra={"update": number, "reason": told(error, self._bot.token)})
            return HTTPStatus.SERVICE_UNAVAILABLE
        return HTTPStatus.OK

    def _refuse(self, reason: str) -> None:
        """Tell it, once a minute: anybody can call, and what they send is not told."""
        self._refused += 1
        if self._clock() >= self._quiet_until:
            log.warning("webhook_refused", extra={"reason": reason, "calls": self._refused})
            self._quiet_until, self._refused = self._clock() + _QUIET_SECONDS, 0

    async def _set(self) -> None:
        await self._receiver.know_bot()
        await self._bot.set_webhook(
            self._url, secret_token=self._secret, allowed_updates=ALLOWED_UPDATES, drop_pending_updates=False
        )
        await self._receiver.offer_commands()

    async def _look(self) -> bool:
        """Whether the webhook is still ours; tells what Telegram has to say about it, once."""
        info = await self._bot.get_webhook_info()
        if info.last_error_message != self._last_problem:
            self._last_problem = info.last_error_message
            if self._last_problem:
                waiting = info.pending_update_count
                log.warning("webhook_not_reached", extra={"reason": self._last_problem, "messages": waiting})
        is_ours = info.url == self._url and set(info.allowed_updates or ()) == set(ALLOWED_UPDATES)
        if not is_ours:
            log.warning("webhook_changed")
        return is_ours


def _json_of(body: bytes) -> object:
    try:
        found: object = json.loads(body)
    except ValueError as problem:
        log.error("update_unreadable", extra={"update": "without an id", "reason": type(problem).__name__})  # noqa: TRY400
        return None
    return found


def _derived(token: str) -> str:
    return hmac.new(token.encode(), b"palimpsest webhook secret", hashlib.sha256).hexdigest()


def _checked_path(url: str, *, is_own_server: bool) -> str:
    """The path that Telegram calls. Raises ConfigurationError."""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme == "https" or (is_own_server and parts.scheme == "http")
        if is_good and parts.hostname:
            return parts.path or "/"
    except ValueError:
        pass
    raise errors.ConfigurationError(
        "TELEGRAM_WEBHOOK_URL must be an address that begins with https://, such as https://example.org/telegram."
    )
