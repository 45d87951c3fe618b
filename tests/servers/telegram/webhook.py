"""Pushing updates to a webhook, in order within each chat, until it takes each.

https://core.telegram.org/bots/api#setwebhook
"""

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tests.servers.telegram.updates import Updates, chat_of
from tests.servers.telegram.wire import Json, bad_request

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
PORTS = frozenset({80, 88, 443, 8443})
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_SECRET = re.compile(r"[A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Webhook:
    """Where updates go, and how many of them at once."""

    url: str
    secret_token: str = ""
    max_connections: int = 40


def accepted_webhook(params: Json) -> Webhook | None:
    """The webhook to set, `None` for an empty URL; plain HTTP and any port only on loopback."""
    url, secret = str(params.get("url") or ""), str(params.get("secret_token") or "")
    if not url:
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise bad_request("invalid webhook URL specified") from None
    if not parts.hostname:
        raise bad_request("invalid webhook URL specified")
    if parts.hostname not in _LOOPBACK:
        if parts.scheme != "https":
            raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
        if port is not None and port not in PORTS:
            raise bad_request("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
    if len(secret) > 256:
        raise bad_request("secret token is too long")
    if not _SECRET.fullmatch(secret):
        raise bad_request("secret token contains unallowed characters")
    connections = params.get("max_connections", 40)
    return Webhook(url, secret, min(max(connections, 1), 100))


class WebhookPusher:
    """Runs for as long as the server does; statuses that the webhook gave are kept."""

    def __init__(
        self,
        updates: Updates,
        wait_for: Callable[[Callable[[], bool]], Coroutine[Any, Any, None]],
        retry_seconds: float = 0.1,
    ) -> None:
        self.updates = updates
        self.webhook: Webhook | None = None
        self.statuses: list[int] = []
        self.most_at_once = 0
        self._busy: set[int | None] = set()
        self._wait_for = wait_for
        self._retry_seconds = retry_seconds
        self._last_error: tuple[int, str] | None = None

    def set(self, webhook: Webhook | None) -> None:
        """Use this webhook from now on, or none; a waiting getUpdates ends."""
        if webhook != self.webhook:
            self._last_error = None
        self.webhook = webhook
        self.updates.set_webhook(webhook is not None)

    def info(self) -> Json:
        """Answer getWebhookInfo."""
        body: dict[str, Any] = {
            "url": self.webhook.url if self.webhook else "",
            "has_custom_certificate": False,
            "pending_update_count": len(self.updates.pending),
        }
        if self.webhook:
            body |= {"max_connections": self.webhook.max_connections, "ip_address": "127.0.0.1"}
        if self._last_error:
            body["last_error_date"], body["last_error_message"] = self._last_error
        if self.updates.allowed:
            body["allowed_updates"] = sorted(self.updates.allowed)
        return body

    async def run(self) -> None:
        """Deliver what is pending whenever a webhook is set, until cancelled."""
        timeout = aiohttp.ClientTimeout(total=30)
        async with aiohttp.ClientSession(timeout=timeout) as session, asyncio.TaskGroup() as tasks:
            while True:
                await self._wait_for(lambda: self._next() is not None)
                webhook, update = self.webhook, self._next()
                assert webhook is not None
                assert update is not None
                self._busy.add(chat_of(update))
                self.most_at_once = max(self.most_at_once, len(self._busy))
                tasks.create_task(self._deliver(session, webhook, update))

    def _next(self) -> Json | None:
        """The oldest update of a chat for which none is under way."""
        if self.webhook is None or len(self._busy) >= self.webhook.max_connections:
            return None
        waiting = (*self.updates.forced, *self.updates.pending)
        return next((update for update in waiting if chat_of(update) not in self._busy), None)

    async def _deliver(self, session: aiohttp.ClientSession, webhook: Webhook, update: Json) -> None:
        try:
            problem = await self._push(session, webhook, update)
            if not problem:
                self.updates.take(update)
            else:
                self._last_error = (int(time.time()), problem)
                self.updates.changed()
                await asyncio.sleep(self._retry_seconds)
        finally:
            self._busy.discard(chat_of(update))
            self.updates.changed()

    async def _push(self, session: aiohttp.ClientSession, webhook: Webhook, update: Json) -> str:
        """What went wrong; empty where the webhook took it."""
        headers = {SECRET_HEADER: webhook.secret_token} if webhook.secret_token else {}
        try:
            async with session.post(webhook.url, json=update, headers=headers, allow_redirects=False) as answer:
                self.statuses.append(answer.status)
                if 200 <= answer.status <= 299:
                    return ""
                return f"Wrong response from the webhook: {answer.status} {answer.reason}"
        except aiohttp.ClientConnectorError:
            self.statuses.append(0)
            return "Connection refused"
        except (aiohttp.ClientError, TimeoutError) as error:
            self.statuses.append(0)
            return "Read timeout expired" if isinstance(error, TimeoutError) else "Webhook connection closed"
