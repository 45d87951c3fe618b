"""The gateway: https://docs.discord.com/developers/events/gateway"""

import asyncio
import json
import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from aiohttp import ClientConnectionError, WSMsgType, web

from tests.servers.discord.sessions import KNOWN_INTENTS, Event, Intents, Session, Sessions
from tests.servers.discord.shapes import Shapes
from tests.servers.discord.terms import Terms
from tests.servers.discord.wire import Json
from tests.servers.discord.world import GUILD_ID

PRIVILEGED = Intents.GUILD_MEMBERS | Intents.GUILD_PRESENCES
ENDS_SESSION = (1000, 1001)


class Op(IntEnum):
    """What a payload is: https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway"""

    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    PRESENCE = 3
    RESUME = 6
    RECONNECT = 7
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11


class Connection:
    """One socket; it sends what its session has, and remembers how far it came."""

    def __init__(self, socket: web.WebSocketResponse, http: web.Request, changed: Callable[[], None]) -> None:
        self.socket = socket
        self.session: Session | None = None
        self.sent = 0
        self.dropped = False
        self._http = http
        self._changed = changed
        self._stream = zlib.compressobj() if http.query.get("compress") == "zlib-stream" else None
        self._sending = asyncio.Lock()
        self._pumping: asyncio.Task[None] | None = None

    @property
    def settled(self) -> bool:
        """Whether all that happened for its session was sent."""
        return self.session is None or self.socket.closed or self.sent >= len(self.session.payloads)

    async def send(self, op: Op, data: object = None) -> None:
        """Send a payload that is no event."""
        await self._send({"op": op, "d": data, "s": None, "t": None})

    async def _send(self, payload: Json) -> None:
        text = json.dumps(payload)
        async with self._sending:
            if self._stream is None:
                await self.socket.send_str(text)
            else:
                packed = self._stream.compress(text.encode()) + self._stream.flush(zlib.Z_SYNC_FLUSH)
                await self.socket.send_bytes(packed)

    def attach(self, session: Session, sent: int = 0, *, resumed: bool = False) -> None:
        """Send the session's events from the one after `sent` on, as long as the socket lasts."""
        self.session, self.sent = session, sent
        self._pumping = asyncio.create_task(self._pump(session, resumed=resumed))

    async def _pump(self, session: Session, *, resumed: bool) -> None:
        try:
            while True:
                while self.sent < len(session.payloads):
                    await self._send(session.payloads[self.sent])
                    self.sent += 1
                self._changed()
                if resumed:
                    await self._send({"op": Op.DISPATCH, "t": "RESUMED", "s": self.sent, "d": {}})
                    resumed = False
                await session.wait_beyond(self.sent)
        except ClientConnectionError:
            self.cut()

    async def drop(self, code: int | None) -> None:
        """Close the socket from this side, or cut the connection; the session stays."""
        self.dropped = True
        if code is None:
            self.cut()
        else:
            await self.socket.close(code=code)

    def cut(self) -> None:
        """End the connection without a word."""
        if self._http.transport is not None:
            self._http.transport.abort()

    async def end(self) -> None:
        """Stop sending."""
        if self._pumping is not None:
            self._pumping.cancel()
            await asyncio.gather(self._pumping, return_exceptions=True)


class Gateway:
    """Takes connections and opens or resumes their sessions."""

    def __init__(self, terms: Terms, shapes: Shapes, sessions: Sessions, changed: Callable[[], None]) -> None:
        self.terms = terms
        self.shapes = shapes
        self.sessions = sessions
        self.connections: set[Connection] = set()
        self.identifies = 0
        self.resumes = 0
        self.heartbeats = 0
        self.url = ""
        self._changed = changed

    @property
    def connected(self) -> list[Connection]:
        """The connections that have a session."""
        return [c for c in self.connections if c.session is not None and not c.socket.closed]

    @property
    def settled(self) -> bool:
        """Whether all that happened was sent to everyone who is connected."""
        return all(connection.settled for connection in self.connections)

    async def serve(self, http: web.Request) -> web.WebSocketResponse:
        """Hold one connection until it ends."""
        socket = web.WebSocketResponse(max_msg_size=0, timeout=1.0)
        await socket.prepare(http)
        connection = Connection(socket, http, self._changed)
        self.connections.add(connection)
        try:
            if http.query.get("v") != "10" or http.query.get("encoding") != "json":
                await connection.drop(4012)
                return socket
            await connection.send(Op.HELLO, {"heartbeat_interval": int(self.terms.heartbeat_interval * 1000)})
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    await self._take(connection, frame.data)
        except ClientConnectionError:
            pass  # it went while it was being answered
        finally:
            self.connections.discard(connection)
            self._leave(connection)
            self._changed()
            await connection.end()  # the last: a client that goes cancels this handler
        return socket

    def _leave(self, connection: Connection) -> None:
        session = connection.session
        if session is None:
            return
        ended = not connection.dropped and connection.socket.close_code in ENDS_SESSION
        if ended or session.forgotten:
            self.sessions.end(session)

    async def _take(self, connection: Connection, text: str) -> None:
        try:
            payload = json.loads(text)
        except ValueError:
            await connection.drop(4002)
            return
        data = payload.get("d")
        match payload.get("op"):
            case Op.HEARTBEAT:
                self.heartbeats += 1
                await connection.send(Op.HEARTBEAT_ACK)
            case Op.IDENTIFY:
                await self._identify(connection, data)
            case Op.RESUME:
                await self._resume(connection, data)
            case Op.PRESENCE:
                if connection.session is None:
                    await connection.drop(4003)
            case _:
                await connection.drop(4001)
        self._changed()

    async def _identify(self, connection: Connection, data: Any) -> None:
        if code := self._objection(connection, data):
            await connection.drop(code)
            return
        session = self.sessions.open(Intents(data["intents"]))
        self.identifies += 1
        for event in self._greeting(session):
            session.add(event)
        connection.attach(session)

    def _objection(self, connection: Connection, data: Any) -> int | None:
        if connection.session is not None:
            return 4005
        if not isinstance(data, dict) or not {"token", "properties", "intents"} <= data.keys():
            return 4002
        if data["token"] != self.terms.token:
            return 4004
        if not isinstance(data["intents"], int) or not 0 <= data["intents"] < KNOWN_INTENTS:
            return 4013
        intents = Intents(data["intents"])
        unread = Intents.MESSAGE_CONTENT in intents and not self.terms.message_content_allowed
        return 4014 if unread or intents & PRIVILEGED else None

    def _greeting(self, session: Session) -> list[Event]:
        ready = {
            "v": 10,
            "user": self.shapes.user(self.shapes.world.bot),
            "guilds": [{"id": str(GUILD_ID), "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "application": {key: self.shapes.application()[key] for key in ("id", "flags")},
            "private_channels": [],
        }
        return [Event("READY", ready), Event("GUILD_CREATE", self.shapes.guild(), Intents.GUILDS)]

    async def _resume(self, connection: Connection, data: Any) -> None:
        if connection.session is not None:
            await connection.drop(4005)
        elif not isinstance(data, dict) or data.get("token") != self.terms.token:
            await connection.drop(4004)
        elif (session := self.sessions.resumable(data.get("session_id"))) is None:
            await connection.send(Op.INVALID_SESSION, data=False)
        elif not isinstance(data.get("seq"), int) or not 0 <= data["seq"] <= len(session.payloads):
            await connection.drop(4007)
        else:
            for other in [c for c in self.connections if c.session is session]:
                await other.drop(4000)
            self.resumes += 1
            connection.attach(session, data["seq"], resumed=True)

    async def drop(self, code: int | None) -> None:
        """Close every socket; `None` cuts the connections."""
        for connection in list(self.connections):
            await connection.drop(code)

    async def ask_to_reconnect(self) -> None:
        """Ask every client to come back and resume."""
        for connection in self.connected:
            connection.dropped = True
            await connection.send(Op.RECONNECT)
