"""What can be made to go wrong with a call of the Bot API."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass

from tests.servers.telegram_wire import Json, Rejected, too_many_requests


@dataclass
class Fault:
    """Applies to a method (`*` is any) in a chat (`None` is any), `times` times."""

    method: str
    times: int | None
    chat: int | None
    error: Rejected | None = None
    seconds: float = 0.0

    def takes(self, method: str, params: Json) -> bool:
        """Whether it applies now; if so, it is used up by one."""
        if self.times == 0 or self.method not in (method, "*"):
            return False
        if self.chat is not None and self.chat != params.get("chat_id"):
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass
class FloodLimit:
    """So many messages and edits to a chat within so many seconds."""

    messages: int
    seconds: float

    def __post_init__(self) -> None:
        self._times: dict[int, deque[float]] = defaultdict(deque)

    def check(self, method: str, params: Json, now: float) -> None:
        """Raise `Rejected` 429 for one too many; a rejected one does not count."""
        if method not in ("sendMessage", "editMessageText") or "chat_id" not in params:
            return
        times = self._times[params["chat_id"]]
        while times and times[0] <= now - self.seconds:
            times.popleft()
        if len(times) >= self.messages:
            raise too_many_requests(max(1, math.ceil(times[0] + self.seconds - now)))
        times.append(now)


class Faults:
    """The faults in force; mixed into the server, so that tests call them on it."""

    def __init__(self) -> None:
        super().__init__()
        self._errors: list[Fault] = []
        self._slow: list[Fault] = []
        self._lost: list[Fault] = []
        self._flood: FloodLimit | None = None

    def limit(self, method: str, retry_after: int, times: int | None = 1, chat: int | None = None) -> None:
        """Answer with 429 and this `retry_after` (seconds)."""
        self._errors.append(Fault(method, times, chat, too_many_requests(retry_after)))

    def fail(self, method: str, code: int, description: str, times: int | None = 1, chat: int | None = None) -> None:
        """Answer with this error; nothing is done."""
        self._errors.append(Fault(method, times, chat, Rejected(code, description)))

    def lose_answer(self, method: str, times: int | None = 1, chat: int | None = None) -> None:
        """Do what is asked and then close the connection without an answer."""
        self._lost.append(Fault(method, times, chat))

    def slow(self, method: str, seconds: float, times: int | None = None, chat: int | None = None) -> None:
        """Wait that long before doing anything; the newest matching call holds."""
        self._slow.insert(0, Fault(method, times, chat, seconds=seconds))

    def flood_limit(self, messages: int, seconds: float) -> None:
        """Limit messages and edits to each chat, as the real one does (20 in 60 s for a group)."""
        self._flood = FloodLimit(messages, seconds)

    def clear_faults(self) -> None:
        """Behave from now on."""
        self._errors, self._slow, self._lost, self._flood = [], [], [], None


def first_match(faults: list[Fault], method: str, params: Json) -> Fault | None:
    """The first fault that applies to this call; it is used up by one."""
    return next((fault for fault in faults if fault.takes(method, params)), None)
