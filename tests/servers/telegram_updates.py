"""The queue of updates between people and the bot, and who may read it."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.servers.telegram_wire import Json, conflict

NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})


class Updates:
    """Keeps each update until an offset beyond it confirms it; one poller at a time."""

    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify = notify
        self.pending: list[Json] = []
        self.forced: list[Json] = []
        self.confirmed_offset = 0
        self.allowed: frozenset[str] = frozenset()
        self.webhook: Json | None = None
        self.polls = 0
        self._last_id = 100_000
        self._poller: asyncio.Future[None] | None = None

    def add(self, kind: str, content: Json) -> int:
        """Queue a new update and return its id; a kind that is not allowed is dropped."""
        self._last_id += 1
        allowed = kind in self.allowed if self.allowed else kind not in NOT_BY_DEFAULT
        if allowed:
            self.pending.append({"update_id": self._last_id, kind: content})
        self._wake()
        return self._last_id

    def redeliver(self, update: Json) -> int:
        """Hand out this update once more whatever was confirmed, or as new if it has no id."""
        if "update_id" not in update:
            ((kind, content),) = update.items()
            return self.add(kind, content)
        self.forced.append(update)
        self._wake()
        return int(update["update_id"])

    async def poll(self, params: Json) -> list[Json]:
        """Answer getUpdates; `Rejected` where another call or a webhook is in the way.

        https://core.telegram.org/bots/api#getupdates
        """
        if self.webhook is not None:
            raise conflict(
                "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
            )
        self._end_poller()
        if isinstance(params.get("allowed_updates"), list):
            self.allowed = frozenset(params["allowed_updates"])
        self._confirm(params.get("offset", 0))
        limit = min(max(int(params.get("limit", 100)), 1), 100)
        ends = asyncio.get_running_loop().time() + min(float(params.get("timeout", 0)), 50)
        return await self._wait(limit, ends)

    async def _wait(self, limit: int, ends: float) -> list[Json]:
        loop = asyncio.get_running_loop()
        self.polls += 1
        self._notify()
        try:
            while not (self.pending or self.forced):
                self._poller = waiting = loop.create_future()
                try:
                    async with asyncio.timeout_at(ends):
                        await waiting
                except TimeoutError:
                    return []
                finally:
                    if self._poller is waiting:  # and not that of the call that ended this one
                        self._poller = None
            taken = [*self.forced, *self.pending][:limit]
            del self.forced[:limit]
            return taken
        finally:
            self.polls -= 1

    def _confirm(self, offset: int) -> None:
        if offset < 0:  # counted from the end; all earlier ones are forgotten
            kept = self.pending[offset:]
            offset = kept[0]["update_id"] if kept else 0
        self.confirmed_offset = max(self.confirmed_offset, offset)
        self.pending = [update for update in self.pending if update["update_id"] >= offset]

    def confirm(self, update: Json) -> None:
        """Forget an update that a webhook took."""
        if update in self.forced:
            self.forced.remove(update)
        else:
            self._confirm(update["update_id"] + 1)
        self._notify()

    def _wake(self) -> None:
        self._notify()
        if self._poller is not None and not self._poller.done():
            self._poller.set_result(None)

    def _end_poller(self) -> None:
        if self._poller is not None and not self._poller.done():
            self._poller.set_exception(
                conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
            )

    def webhook_info(self) -> dict[str, Any]:
        """Answer getWebhookInfo."""
        webhook = self.webhook or {}
        return {
            "url": webhook.get("url", ""),
            "has_custom_certificate": False,
            "pending_update_count": len(self.pending),
        }
