"""Pushing updates to a webhook, in order, until it takes each."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp

from tests.servers.telegram_updates import Updates
from tests.servers.telegram_wire import Json, bad_request

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"


def accepted_webhook(params: Json) -> Json | None:
    """The webhook to set, `None` for an empty URL; plain HTTP only on loopback."""
    url = str(params.get("url") or "")
    if not url:
        return None
    if not url.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    return {"url": url, "secret_token": params.get("secret_token")}


class WebhookPusher:
    """Runs for as long as the server does; statuses that the webhook gave are kept."""

    def __init__(
        self,
        updates: Updates,
        wait_for: Callable[[Callable[[], bool]], Coroutine[Any, Any, None]],
        retry_seconds: float = 0.1,
    ) -> None:
        self.updates = updates
        self.statuses: list[int] = []
        self._wait_for = wait_for
        self._retry_seconds = retry_seconds

    async def run(self) -> None:
        """Deliver what is pending whenever a webhook is set, until cancelled."""
        timeout = aiohttp.ClientTimeout(total=30)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                await self._wait_for(self._has_work)
                if not await self._push(session):
                    await asyncio.sleep(self._retry_seconds)

    def _has_work(self) -> bool:
        return self.updates.webhook is not None and bool(self._next())

    def _next(self) -> list[Json]:
        return [*self.updates.forced, *self.updates.pending][:1]

    async def _push(self, session: aiohttp.ClientSession) -> bool:
        webhook, (update,) = self.updates.webhook, self._next()
        assert webhook is not None
        secret = webhook["secret_token"]
        headers = {SECRET_HEADER: secret} if secret else {}
        try:
            async with session.post(webhook["url"], json=update, headers=headers) as answer:
                status = answer.status
        except (aiohttp.ClientError, TimeoutError):
            status = 0
        self.statuses.append(status)
        if status == 200:
            self.updates.confirm(update)
        return status == 200
