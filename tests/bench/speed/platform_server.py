"""A Telegram Bot API server for benches: hands updates out, takes what the bot sends, and notes when.

`python -m tests.bench.speed.platform_server` prints its port. It checks nothing (`tests/servers` does that). Beside
the methods of the Bot API it answers `/bench/say` (a person writes), `/bench/answered` (once messages are), and with
what it noted.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile

from tests.bench.speed.marks import END, numbers_in
from tests.bench.speed.wire import Connection, Json, serve_until_told

_CHAT = re.compile(rb"chat_id\W+?(-?\d+)")
_EDITED = re.compile(rb"message_id\W+?(\d+)")
_OFFSET = re.compile(rb"offset\W+?(\d+)")
_TRUE = b'{"ok":true,"result":true}'
_ME = json.dumps({"ok": True, "result": {"id": 1, "is_bot": True, "first_name": "Bench", "username": "benchbot"}})
_SPEAKS = frozenset({"sendMessage", "sendRichMessage", "editMessageText"})
_MOST_UPDATES = 100
_POLL_SECONDS = 25.0
_FIRST_WORDS = 300


@dataclass
class Platform:
    """All of it. Times are seconds of the system-wide monotonic clock."""

    updates: list[tuple[int, Json]] = field(default_factory=list)
    handed: dict[int, float] = field(default_factory=dict)
    """When each update was given to a poll, by its id."""
    people: list[tuple[int, int, list[int]]] = field(default_factory=list)
    """What people wrote: the update, the chat, the messages that it names."""
    calls: list[tuple[float, str, int, list[int], bool, int, str]] = field(default_factory=list)
    """When, method, chat, messages that it names, whether it is final, the bot's message, the first words (of others).
    """
    shown: set[int] = field(default_factory=set)
    """Messages of whose answers anything was shown, and below those whose answers are final."""
    finals: set[int] = field(default_factory=set)
    said: int = 0
    sent: int = 0
    polls: int = 0
    _wanted: list[tuple[set[int], Connection]] = field(default_factory=list)
    """Who waits for the final answers of which messages."""
    _waiting: Connection | None = None
    _later: asyncio.TimerHandle | None = None

    def serve(self, client: Connection, path: str, body: bytes) -> None:
        """One request."""
        if path == "/bench/answered":
            self._wanted.append((set(json.loads(body)["numbers"]) - self.finals, client))
            self._tell_answered()
            return
        if path.startswith("/bench/"):
            answer = getattr(self, path.removeprefix("/bench/"))(**json.loads(body or b"{}"))
            client.answer(json.dumps(answer).encode())
            return
        method = path.rsplit("/", 1)[1]
        if method == "getUpdates":
            self._poll(client, body)
        elif method == "getMe":
            client.answer(_ME.encode())
        elif method in _SPEAKS:
            client.answer(self._speak(method, body))
        else:
            self._note(method, body)
            client.answer(_TRUE)

    def say(self, chat: int, text: str) -> int:
        """A person writes in their private chat; returns the update's id."""
        self.said += 1
        person = {"id": chat, "is_bot": False, "first_name": "Ada"}
        message = {
            "message_id": self.said,
            "date": int(time.time()),
            "chat": {"id": chat, "type": "private", "first_name": "Ada"},
            "from": person,
            "text": text,
        }
        if text.startswith("/"):
            length = len(text.split(maxsplit=1)[0])
            message["entities"] = [{"type": "bot_command", "offset": 0, "length": length}]
        self.updates.append((self.said, {"update_id": self.said, "message": message}))
        self.people.append((self.said, chat, numbers_in(text.encode())))
        self._hand_out()
        return self.said

    def status(self) -> Json:
        """How many messages were answered, and whether anybody has polled."""
        return {"answered": len(self.finals), "polls": self.polls}

    def polled(self, before: int) -> bool:
        """Whether there were more polls than before."""
        return self.polls > before

    def seen(self, number: int) -> bool:
        """Whether anything of the answer to this message has been shown."""
        return number in self.shown

    def told(self, chat: int, words: str, update: int) -> bool:
        """Whether the bot has said this in the chat since the update was handed out."""
        since = self.handed.get(update, math.inf)
        recent = takewhile(lambda call: call[0] >= since, reversed(self.calls))
        return any(to == chat and words in said for _, _, to, _, _, _, said in recent)

    def records(self, since: int = 0) -> Json:
        """What was noted: what people ``said`` and when the program got it, and the calls from number ``since`` on."""
        said = [(self.handed.get(update, 0.0), update, chat, named) for update, chat, named in self.people]
        return {"said": said, "calls": self.calls[since:], "next": len(self.calls)}

    def forget(self) -> None:
        """Start the notes anew."""
        self.calls, self.people, self.handed = [], [], {}

    def _poll(self, client: Connection, body: bytes) -> None:
        self.polls += 1
        found = _OFFSET.search(body)
        offset = int(found[1]) if found else 0
        self.updates = [(number, update) for number, update in self.updates if number >= offset]
        if self._waiting and self._waiting is not client and self._waiting.is_open:
            self._waiting.answer(b'{"ok":false,"error_code":409,"description":"Conflict"}', b"409 Conflict")
        self._waiting = client
        if self._later:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(_POLL_SECONDS, self._hand_out, True)
        if self.updates:
            self._hand_out()

    def _hand_out(self, even_nothing: bool = False) -> None:
        if self._waiting is None or not (self.updates or even_nothing) or not self._waiting.is_open:
            return
        batch = self.updates[:_MOST_UPDATES]
        now = time.monotonic()
        for number, _ in batch:
            self.handed.setdefault(number, now)
        waiting, self._waiting = self._waiting, None
        waiting.answer(json.dumps({"ok": True, "result": [update for _, update in batch]}).encode())

    def _tell_answered(self, answered: Iterable[int] = ()) -> None:
        for wanted, client in self._wanted:
            wanted.difference_update(answered)
            if not wanted:
                client.answer(b"true")
        self._wanted = [(wanted, client) for wanted, client in self._wanted if wanted and client.is_open]

    def _speak(self, method: str, body: bytes) -> bytes:
        edited = _EDITED.search(body) if method == "editMessageText" else None
        if edited is None:
            self.sent += 1
        number = int(edited[1]) if edited else 10_000_000 + self.sent
        chat = self._note(method, body, number)
        message = {"message_id": number, "date": int(time.time()), "chat": {"id": chat, "type": "private"}}
        return json.dumps({"ok": True, "result": {**message, "text": "…"}}).encode()

    def _note(self, method: str, body: bytes, number: int = 0) -> int:
        now = time.monotonic()
        found = _CHAT.search(body)
        chat = int(found[1]) if found else 0
        named = numbers_in(body)
        is_final = method in _SPEAKS and END in body
        self.shown.update(named)
        if is_final:
            self.finals.update(named)
            self._tell_answered(named)
        words = "" if named or method not in _SPEAKS else body.decode(errors="replace")[:_FIRST_WORDS]
        self.calls.append((now, method, chat, named, is_final, number, words))
        return chat


if __name__ == "__main__":
    asyncio.run(serve_until_told(Platform().serve))
