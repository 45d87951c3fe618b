"""The queue of updates between people and the bot, and who may read it."""

import asyncio
import copy
from collections.abc import Callable

from tests.servers.telegram.wire import Json, conflict

NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})


def chat_of(update: Json) -> int | None:
    """The chat that an update is about, `None` where it is about none."""
    for content in update.values():
        if isinstance(content, dict):
            about = content.get("message", content)
            return about.get("chat", content.get("from", {})).get("id")  # type: ignore[no-any-return]
    return None


class Updates:
    """Keeps each update until an offset beyond it confirms it; one poller at a time."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed
        self.pending: list[Json] = []
        self.forced: list[Json] = []
        self.confirmed_offset = 0
        self.allowed: frozenset[str] = frozenset()
        self.webhook_is_set = False
        self.polls = 0
        self._last_id = 100_000
        self._poller: asyncio.Future[None] | None = None

    def add(self, kind: str, content: Json) -> int:
        """Queue a new update and return its id; a kind that is not allowed is dropped."""
        self._last_id += 1
        allowed = kind in self.allowed if self.allowed else kind not in NOT_BY_DEFAULT
        if allowed:
            self.pending.append({"update_id": self._last_id, kind: copy.deepcopy(content)})
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
        if self.webhook_is_set:
            raise conflict(
                "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
            )
        self._end_poller("other getUpdates request; make sure that only one bot instance is running")
        self.allow(params)
        self._confirm(params.get("offset", 0))
        limit = min(max(int(params.get("limit", 100)), 1), 100)
        ends = asyncio.get_running_loop().time() + min(float(params.get("timeout", 0)), 50)
        return await self._wait(limit, ends)

    async def _wait(self, limit: int, ends: float) -> list[Json]:
        loop = asyncio.get_running_loop()
        self.polls += 1
        self.changed()
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

    def allow(self, params: Json) -> None:
        """From now on queue only the kinds in `allowed_updates`, if a call has it; an empty list is the default."""
        if isinstance(params.get("allowed_updates"), list):
            self.allowed = frozenset(params["allowed_updates"])

    def set_webhook(self, is_set: bool) -> None:
        """Whether updates go to a webhook, so that nobody may poll."""
        self.webhook_is_set = is_set
        if is_set:
            self._end_poller("setWebhook request")
        self.changed()

    def take(self, update: Json) -> None:
        """Forget one update, which a webhook took."""
        for queue in (self.forced, self.pending):
            if update in queue:
                queue.remove(update)
                break
        self.confirmed_offset = max(self.confirmed_offset, update["update_id"] + 1)
        self.changed()

    def _wake(self) -> None:
        self.changed()
        if self._poller is not None and not self._poller.done():
            self._poller.set_result(None)

    def _end_poller(self, by: str) -> None:
        if self._poller is not None and not self._poller.done():
            self._poller.set_exception(conflict(f"terminated by {by}"))
