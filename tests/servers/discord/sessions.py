"""Sessions of the gateway: what happened for whom, in order, until the session ends."""

import asyncio
import secrets
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

from tests.servers.discord.wire import Json


class Intents(IntFlag):
    """What a session asks for: https://docs.discord.com/developers/events/gateway#gateway-intents"""

    NONE = 0
    GUILDS = 1 << 0
    GUILD_MEMBERS = 1 << 1
    GUILD_PRESENCES = 1 << 8
    GUILD_MESSAGES = 1 << 9
    GUILD_REACTIONS = 1 << 10
    DIRECT_MESSAGES = 1 << 12
    DIRECT_REACTIONS = 1 << 13
    MESSAGE_CONTENT = 1 << 15


KNOWN_INTENTS = 1 << 26


@dataclass(frozen=True)
class Event:
    """Something that happened: for sessions with this intent, where there is one.

    Sessions that may not read contents get `concealed` instead of `data`, where it is not `None`.
    """

    name: str
    data: Json
    intent: Intents = Intents.NONE
    concealed: Json | None = None


class Session:
    """A client's session; it outlives its connections unless the client ends it."""

    def __init__(self, intents: Intents) -> None:
        self.id = secrets.token_hex(16)
        self.intents = intents
        self.payloads: list[Json] = []
        self.forgotten = False
        self._arrived = asyncio.Event()

    def add(self, event: Event) -> None:
        """Number it and keep it, if the session asked for such."""
        if event.intent and event.intent not in self.intents:
            return
        concealed = event.concealed is not None and Intents.MESSAGE_CONTENT not in self.intents
        data: Any = event.concealed if concealed else event.data
        self.payloads.append({"op": 0, "t": event.name, "s": len(self.payloads) + 1, "d": data})
        self._arrived.set()

    async def wait_beyond(self, count: int) -> None:
        """Return once there are more than `count` payloads."""
        while len(self.payloads) <= count:
            self._arrived.clear()
            await self._arrived.wait()


class Sessions:
    """All sessions that can still be resumed, or are connected."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def open(self, intents: Intents) -> Session:
        """Begin a new one."""
        session = Session(intents)
        self._sessions[session.id] = session
        return session

    def resumable(self, id: object) -> Session | None:
        """The session of that id, unless it was forgotten."""
        session = self._sessions.get(str(id))
        return None if session is None or session.forgotten else session

    def publish(self, event: Event) -> None:
        """Let every session have it."""
        for session in self._sessions.values():
            session.add(event)

    def forget(self) -> None:
        """None of today's can be resumed; those that are connected go on."""
        for session in self._sessions.values():
            session.forgotten = True

    def end(self, session: Session) -> None:
        """Remove it."""
        self._sessions.pop(session.id, None)
