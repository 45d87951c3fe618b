"""What can be made to go wrong with a call of the Bot API."""

import asyncio
from dataclasses import dataclass

from tests.servers.telegram.flood import FloodLimit
from tests.servers.telegram.wire import Json, Rejected, too_many_requests


@dataclass
class Fault:
    """Applies to a method (`*` is any) in a chat (`None` is any), `times` times."""

    method: str
    times: int | None
    chat: int | None
    error: Rejected | None = None
    seconds: float = 0.0
    released: asyncio.Event | None = None

    def takes(self, method: str, params: Json) -> bool:
        """Whether it applies now; if so, it is used up by one."""
        if self.times == 0 or self.method not in (method, "*"):
            return False
        if self.chat is not None and self.chat != params.get("chat_id"):
            return False
        if self.times is not None:
            self.times -= 1
        return True


class Faults:
    """The faults in force; mixed into the server, so that tests call them on it."""

    def __init__(self) -> None:
        super().__init__()
        self._errors: list[Fault] = []
        self._slow: list[Fault] = []
        self._lost: list[Fault] = []
        self._held: list[Fault] = []
        self._held_answers: list[Fault] = []
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

    def hold(self, method: str, times: int | None = 1, chat: int | None = None) -> asyncio.Event:
        """Do nothing about the call until the event is set."""
        return self._hold(self._held, method, times, chat)

    def hold_answer(self, method: str, times: int | None = 1, chat: int | None = None) -> asyncio.Event:
        """Do what is asked, but do not answer until the event is set."""
        return self._hold(self._held_answers, method, times, chat)

    def _hold(self, faults: list[Fault], method: str, times: int | None, chat: int | None) -> asyncio.Event:
        released = asyncio.Event()
        faults.append(Fault(method, times, chat, released=released))
        return released

    def flood_limit(self, messages: int, seconds: float) -> None:
        """Limit messages and edits to each chat, as the real one does (20 in 60 s for a group)."""
        self._flood = FloodLimit(messages, seconds)

    def clear_faults(self) -> None:
        """Behave from now on; what is held goes on."""
        for fault in (*self._held, *self._held_answers):
            if fault.released:
                fault.released.set()
        self._errors, self._slow, self._lost, self._held, self._held_answers = [], [], [], [], []
        self._flood = None


def first_match(faults: list[Fault], method: str, params: Json) -> Fault | None:
    """The first fault that applies to this call; it is used up by one."""
    return next((fault for fault in faults if fault.takes(method, params)), None)
