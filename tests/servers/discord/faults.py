"""What can be made to go wrong with a call of the API."""

import time
from collections import defaultdict, deque
from dataclasses import dataclass

from tests.servers.discord.wire import Refused, rate_limited

FLOODED = frozenset({"create_message", "edit_message"})


@dataclass
class Fault:
    """Applies to a method (`*` is any) in a channel (`None` is any), `times` times; not to a message that reads
    `unless`."""

    method: str
    times: int | None
    channel: int | None
    error: Refused | None = None
    seconds: float = 0.0
    unless: str | None = None

    def takes(self, method: str, channel: int | None, said: object = None) -> bool:
        """Whether it applies now; if so, it is used up by one."""
        if self.times == 0 or self.method not in (method, "*"):
            return False
        if self.unless is not None and said == self.unless:
            return False
        if self.channel is not None and self.channel != channel:
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass
class Window:
    """So many calls of a method in a channel within a window of so many seconds, which the answers tell of."""

    method: str
    calls: int
    seconds: float

    def __post_init__(self) -> None:
        self._begun: dict[int | None, tuple[float, int]] = {}

    def count(self, channel: int | None, now: float) -> dict[str, str]:
        """The headers of one more call; raise `Refused` 429 where it is one too many."""
        began, made = self._begun.get(channel, (now, 0))
        if now >= began + self.seconds:
            began, made = now, 0
        if made >= self.calls:
            raise rate_limited(round(began + self.seconds - now, 3) + 0.001)
        self._begun[channel] = began, made + 1
        return {
            "X-RateLimit-Bucket": f"{self.method}-bucket",
            "X-RateLimit-Limit": str(self.calls),
            "X-RateLimit-Remaining": str(self.calls - made - 1),
            "X-RateLimit-Reset-After": f"{began + self.seconds - now:.3f}",
            "X-RateLimit-Reset": f"{time.time() + began + self.seconds - now:.3f}",
        }


@dataclass
class FloodLimit:
    """So many messages and edits in a channel within so many seconds."""

    messages: int
    seconds: float

    def __post_init__(self) -> None:
        self._times: dict[int, deque[float]] = defaultdict(deque)

    def check(self, method: str, channel: int | None, now: float) -> None:
        """Raise `Refused` 429 for one too many; a refused one does not count."""
        if method not in FLOODED or channel is None:
            return
        times = self._times[channel]
        while times and times[0] <= now - self.seconds:
            times.popleft()
        if len(times) >= self.messages:
            raise rate_limited(round(times[0] + self.seconds - now, 3) + 0.001)
        times.append(now)


class Faults:
    """The faults in force; mixed into the server, so that tests call them on it."""

    def __init__(self) -> None:
        super().__init__()
        self._errors: list[Fault] = []
        self._slow: list[Fault] = []
        self._lost: list[Fault] = []
        self._flood: FloodLimit | None = None
        self._windows: list[Window] = []

    def limit(
        self,
        method: str,
        retry_after: float,
        times: int | None = 1,
        channel: int | None = None,
        scope: str = "user",
    ) -> None:
        """Answer with 429 and this `retry_after` (seconds); the scope is `user`, `shared` or `global`."""
        self._errors.append(Fault(method, times, channel, rate_limited(retry_after, scope)))

    def fail(
        self,
        method: str,
        status: int,
        message: str,
        times: int | None = 1,
        *,
        channel: int | None = None,
        code: int = 0,
        unless: str | None = None,
    ) -> None:
        """Answer with this error; nothing is done. ``unless``: a message that reads so is taken."""
        self._errors.append(Fault(method, times, channel, Refused(status, code, message), unless=unless))

    def lose_answer(self, method: str, times: int | None = 1, channel: int | None = None) -> None:
        """Do what is asked and then cut the connection without an answer."""
        self._lost.append(Fault(method, times, channel))

    def slow(self, method: str, seconds: float, times: int | None = None, channel: int | None = None) -> None:
        """Wait that long before doing anything; the newest matching call holds."""
        self._slow.insert(0, Fault(method, times, channel, seconds=seconds))

    def window(self, method: str, calls: int, seconds: float) -> None:
        """Allow so many calls in each channel within that long, as the headers of each answer say."""
        self._windows.append(Window(method, calls, seconds))

    def flood_limit(self, messages: int, seconds: float) -> None:
        """Limit messages and edits in each channel (the real one: about 5 in 5 s)."""
        self._flood = FloodLimit(messages, seconds)

    @property
    def flood_control(self) -> float | None:
        """The seconds between two messages or edits in a channel; set it to have such a limit."""
        return self._flood.seconds / self._flood.messages if self._flood else None

    @flood_control.setter
    def flood_control(self, seconds: float | None) -> None:
        self._flood = FloodLimit(1, seconds) if seconds else None

    def clear_faults(self) -> None:
        """Behave from now on."""
        self._errors, self._slow, self._lost, self._flood, self._windows = [], [], [], None, []


def first_match(faults: list[Fault], method: str, channel: int | None, said: object = None) -> Fault | None:
    """The first fault that applies to this call; it is used up by one."""
    return next((fault for fault in faults if fault.takes(method, channel, said)), None)
