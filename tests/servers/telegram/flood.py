"""How much a bot may say, and how long it has to wait.

https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
"""

import math
from collections import defaultdict, deque
from dataclasses import dataclass

from tests.servers.telegram.wire import Json, too_many_requests

COUNTED = frozenset(
    {
        "sendMessage",
        "sendRichMessage",
        "sendDocument",
        "sendPhoto",
        "editMessageText",
        "editMessageCaption",
        "editMessageReplyMarkup",
    }
)
GROUP_MESSAGES = 20
GROUP_SECONDS = 60.0


@dataclass
class FloodLimit:
    """So many messages and edits to a chat within so many seconds."""

    messages: int
    seconds: float

    def __post_init__(self) -> None:
        self._times: dict[int, deque[float]] = defaultdict(deque)

    def check(self, method: str, params: Json, now: float) -> None:
        """Raise `Rejected` 429 for one too many; a rejected one does not count."""
        if method not in COUNTED or "chat_id" not in params:
            return
        times = self._times[params["chat_id"]]
        while times and times[0] <= now - self.seconds:
            times.popleft()
        if len(times) >= self.messages:
            raise too_many_requests(max(1, math.ceil(times[0] + self.seconds - now)))
        times.append(now)
