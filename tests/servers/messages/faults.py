"""What can be made to go wrong with a model's answer, and when."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tests.servers.messages.wire import MessagesRequest, Refused

When = Callable[[MessagesRequest], bool]


@dataclass
class Fault:
    """Applies to requests that match `when`, `times` times (`None`: always)."""

    when: When | None = None
    times: int | None = None

    def takes(self, request: MessagesRequest) -> bool:
        """Whether it applies now; if so, it is used up by one."""
        if self.times == 0 or (self.when is not None and not self.when(request)):
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass
class Hang(Fault):
    """Falls silent: before anything (`after` is `None`) or after that many deltas."""

    after: int | None = None
    released: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Fail(Fault):
    """Answers with an error."""

    error: Refused = field(default_factory=lambda: Refused("", type="api_error"))


@dataclass
class Cut(Fault):
    """Closes the socket after that many deltas."""

    after: int = 1


@dataclass
class ErrorEvent(Fault):
    """Sends an `error` event after that many deltas, and ends the stream."""

    after: int = 1
    error: Refused = field(default_factory=lambda: Refused("", type="api_error"))


@dataclass
class Slow(Fault):
    """Waits that many seconds before it answers."""

    seconds: float = 0.0


@dataclass
class Garbage(Fault):
    """Answers something that is no message. ``kind``: its content type, where it is not that of an answer."""

    body: bytes = b""
    status: int = 200
    kind: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamFaults:
    """Those that strike while an answer is on its way."""

    hang: Hang | None = None
    cut: Cut | None = None
    error: ErrorEvent | None = None


F = TypeVar("F", bound=Fault)


class Faults:
    """The faults in force; mixed into the server, so that tests call them on it."""

    def __init__(self) -> None:
        super().__init__()
        self._faults: list[Fault] = []

    def hang(
        self,
        when: When | None = None,
        *,
        after: int | None = None,
        times: int | None = None,
    ) -> None:
        """Accept, then send nothing (more), until `release()` or the client hangs up."""
        self._faults.append(Hang(when, times, after))

    def release(self) -> None:
        """Let what hangs go on to its end, and hang no further request."""
        for fault in self._faults:
            if isinstance(fault, Hang):
                fault.released.set()
        self._faults = [f for f in self._faults if not isinstance(f, Hang)]

    def fail(
        self,
        status: int,
        type: str,
        message: str,
        *,
        retry_after: float | None = None,
        times: int | None = 1,
        when: When | None = None,
    ) -> None:
        """Answer with an error; `times=None` goes on until `clear_faults()`."""
        error = Refused(message, type=type, status=status, retry_after=retry_after)
        self._faults.append(Fail(when, times, error))

    def cut_stream(self, when: When | None = None, *, after: int = 1, times: int | None = 1) -> None:
        """Close the socket after `after` deltas; at once where nothing is streamed."""
        self._faults.append(Cut(when, times, after))

    def error_in_stream(
        self,
        type: str,
        message: str,
        after: int = 1,
        *,
        when: When | None = None,
        times: int | None = 1,
    ) -> None:
        """Send an `error` event after `after` deltas; a status where nothing is streamed."""
        error = Refused(message, type=type)
        self._faults.append(ErrorEvent(when, times, after, error))

    def garbage(self, body: bytes, *, times: int | None = 1, when: When | None = None) -> None:
        """Answer 200 with these bytes, as a stream where one was asked for."""
        self._faults.append(Garbage(when, times, body))

    def page(self, status: int, html: str, *, retry_after: float = 0.0) -> None:
        """Answer like a proxy whose server is away, until `clear_faults()`."""
        self._faults.append(
            Garbage(None, None, html.encode(), status, "text/html", {"retry-after": f"{retry_after:g}"})
        )

    def slow(self, seconds: float, when: When | None = None) -> None:
        """Wait that long before each answer; the newest matching call holds."""
        self._faults.insert(0, Slow(when, None, seconds))

    def clear_faults(self) -> None:
        """Behave from now on."""
        self.release()
        self._faults.clear()

    def _fault(self, kind: type[F], request: MessagesRequest) -> F | None:
        for fault in self._faults:
            if isinstance(fault, kind) and fault.takes(request):
                return fault
        return None
