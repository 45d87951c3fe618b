"""A strict Discord for tests, on loopback: REST API v10 and gateway on one port.

It lives in the test's process, so channels, messages and sessions outlive a bot that dies. Point discord.py at it
before a login: `discord.http.Route.BASE = server.api_base` and
`discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(server.gateway)`, with `server.token`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Self

from aiohttp import web
from typing_extensions import override

from tests.servers.discord.application import Application
from tests.servers.discord.channels import Channels
from tests.servers.discord.events import Events
from tests.servers.discord.faults import Faults, first_match
from tests.servers.discord.gateway import Gateway
from tests.servers.discord.interactions import Interactions
from tests.servers.discord.person import Person
from tests.servers.discord.posts import Posts
from tests.servers.discord.records import Ack, Attachment, Channel, ChannelKind, Interaction, Message
from tests.servers.discord.routes import Route
from tests.servers.discord.sessions import Sessions
from tests.servers.discord.shapes import Shapes
from tests.servers.discord.terms import Terms
from tests.servers.discord.wire import Call, Json, Refused, Request, json_answer, read_body, unauthorized
from tests.servers.discord.world import OWNER_ID, World
from tests.servers.watched import Watched

__all__ = ["Ack", "Attachment", "Call", "Channel", "DiscordServer", "Interaction", "Message", "Person"]

TOKEN = "test-token.of.no-real-bot"
API = "/api/v10"


class DiscordServer(Terms, Faults, Watched):
    """The server; `async with DiscordServer() as server`, then talk to `server.api_base` and `server.gateway`."""

    def __init__(self, *, token: str = TOKEN, port: int = 0) -> None:
        super().__init__(token)
        self.port = port
        self.calls: list[Call] = []
        self.unknown_calls: list[Call] = []
        self.world = World()
        self.strange_messages: set[int] = set()
        """Messages that come in a form that no library knows when they are read back."""
        self.shapes = Shapes(self.world, self)
        self.sessions = Sessions()
        self.sockets = Gateway(self, self.shapes, self.sessions, self.changed)
        self.events = Events(self.shapes, self.sessions)
        posts = Posts(self.world, self.events, self)
        self._channels = Channels(posts, self.shapes)
        self._interactions = Interactions(posts, self.shapes, self)
        self._application = Application(self.shapes, lambda: self.gateway)
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        """Start listening."""
        app = web.Application(client_max_size=120 * 1024 * 1024)
        for part in (self._application, self._channels, self._interactions):
            for route in part.routes():
                app.router.add_route(route.verb, API + route.path, self._served(route))
        app.router.add_get("/gateway", self._socket)
        app.router.add_get("/gateway/", self._socket)
        app.router.add_get("/attachments/{channel}/{file}/{name}", self._file)
        app.router.add_route("*", "/{path:.*}", self._unknown)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        self.shapes.origin = f"http://127.0.0.1:{self.port}"
        self.sockets.url = self.gateway
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening."""
        assert self._runner is not None
        await self.sockets.drop(None)
        await self._runner.cleanup()

    @property
    def api_base(self) -> str:
        """The base URL of the REST API."""
        return f"http://127.0.0.1:{self.port}{API}"

    @property
    def gateway(self) -> str:
        """The URL of the gateway."""
        return f"ws://127.0.0.1:{self.port}/gateway"

    # --- the human's side ---

    def stands_behind(self, address: str) -> None:
        """Clients reach it at this host:port; what it says of itself names that."""
        self.shapes.origin = f"http://{address}"
        self.sockets.url = f"ws://{address}/gateway"

    def person(self, id: int = 1001, name: str = "Ada") -> Person:
        """Someone who shares the guild with the bot, and has a direct channel with it."""
        user = self.world.person(id, name)
        return Person(user.id, user.name, self.world, self.events, self._settled)

    def channel(self, name: str = "general") -> Channel:
        """A channel of the guild; pass it to what a person does."""
        if found := self.world.channel_named(name):
            return found
        made = self.world.add_channel(Channel(self.world.ids.next(), ChannelKind.TEXT, name))
        self.events.channel_created(made)
        return made

    async def thread(self, parent: Channel, name: str) -> Channel:
        """A new thread in a channel of the guild."""
        thread = Channel(self.world.ids.next(), ChannelKind.THREAD, name, parent_id=parent.id, owner_id=OWNER_ID)
        self.events.channel_created(self.world.add_channel(thread))
        await self._settled()
        return thread

    async def purge(self, channel: Channel, ids: Sequence[int]) -> None:
        """A moderator takes these messages of a guild's channel away."""
        for one in ids:
            self.world.messages[one].deleted = True
        self.events.messages_deleted(channel, ids)
        await self._settled()

    def blocks(self, person: Person) -> None:
        """The person takes no more direct messages of the bot: 50007."""
        person.blocks()

    def deny(self, channel_id: int, what: Literal["access", "permissions"] = "access") -> None:
        """Hide a channel from the bot (50001), or let it only look (50013)."""
        self.world.channels[channel_id].denied = what

    def allow(self, channel_id: int) -> None:
        """Take that back."""
        self.world.channels[channel_id].denied = None

    async def deliver_again(self, message_id: int) -> None:
        """Bring the event of a message once more."""
        self.events.message_created(self.world.messages[message_id])
        await self._settled()

    # --- the platform's side ---

    async def drop(self, code: int | None = 4000) -> None:
        """Close all sockets of the gateway (`None` cuts them without a word); sessions can be resumed."""
        await self.sockets.drop(code)

    async def ask_to_reconnect(self) -> None:
        """Ask all clients to reconnect and resume (op 7)."""
        await self.sockets.ask_to_reconnect()

    def forget_sessions(self) -> None:
        """No session of now can be resumed (op 9)."""
        self.sessions.forget()

    def expire_tokens(self) -> None:
        """The tokens of all interactions of now are too old: 50027, or 10062 if none was acknowledged."""
        for interaction in self.world.interactions:
            interaction.expired = True

    def expire_links(self) -> None:
        """Links to files that were given until now lead nowhere."""
        self.world.link_generation += 1

    async def _settled(self) -> None:
        self.changed()
        await self.wait_for(lambda s: s.sockets.settled)

    # --- what the bot did ---

    @property
    def connected(self) -> int:
        """How many clients have a session on the gateway now."""
        return len(self.sockets.connected)

    @property
    def interactions(self) -> list[Interaction]:
        """The commands that people used and the buttons that they pressed."""
        return self.world.interactions

    @property
    def commands(self) -> list[Json]:
        """The global commands that are registered."""
        return self.world.commands.get(None, [])

    @property
    def files(self) -> dict[int, Attachment]:
        """The files of all messages by their ids."""
        return self.world.files

    def message(self, message_id: int) -> Message:
        """A message of anyone, deleted or not."""
        return self.world.messages[message_id]

    def messages(self, channel_id: int) -> list[Message]:
        """What the bot has sent to a channel and not deleted, in order."""
        return [message for message in self.world.in_channel(channel_id) if message.author == self.world.bot]

    def texts(self, channel_id: int) -> list[str]:
        """What people read of the bot's now; that it is thinking is no text."""
        return [message.text for message in self.messages(channel_id) if not message.loading]

    def conversation(self, channel_id: int) -> list[Message]:
        """What anyone has sent to a channel and not deleted, in order."""
        return self.world.in_channel(channel_id)

    def typing(self, channel_id: int) -> list[float]:
        """When (`time.monotonic()`) the bot said that it is typing."""
        return [at for channel, at in self.world.typing if channel == channel_id]

    def reactions(self, message_id: int) -> list[str]:
        """The emoji that the bot has put on a message."""
        return self.world.messages[message_id].reactions

    def calls_of(self, method: str) -> list[Call]:
        """The calls of one method; the tables of routes have the names."""
        return [call for call in self.calls if call.method == method]

    @override
    def describe(self) -> str:
        """The last calls and what the channels show, for a wait that timed out."""
        calls = [(call.method, call.status) for call in self.calls]
        shown = {channel: self.texts(channel) for channel in self.world.channels}
        return f"{self.connected} connected; {len(calls)} calls, the last {calls[-20:]}; channels show {shown}"

    # --- the bot's side ---

    def _served(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def serve(http: web.Request) -> web.StreamResponse:
            return await self._serve(route, http)

        return serve

    async def _serve(self, route: Route, http: web.Request) -> web.StreamResponse:
        if self.down:
            return _cut(http)
        params: Any = dict(http.query)
        status = 0
        try:
            if route.needs_token:
                self._authorize(http)
            payload, uploads = await read_body(http)
            params = {**params, **payload} if isinstance(payload, dict) else payload
            request = Request(route.method, http.match_info, http.query, payload, uploads)
            channel = self._channel_of(request)
            said = params.get("content") if isinstance(params, dict) else None
            headers = await self._go_wrong(route.method, channel, said)
            result = route.handle(request)
            if route.method == "get_messages" and isinstance(result, list):
                result = [{**one, "author": None} if int(one["id"]) in self.strange_messages else one for one in result]
            if first_match(self._lost, route.method, channel):
                return _cut(http)
            status = 204 if result is None else 200
            answer = web.Response(status=204) if result is None else json_answer(result)
            answer.headers.update(headers)
            return answer
        except Refused as refusal:
            status = refusal.status
            return refusal.answer()
        finally:
            self.calls.append(Call(route.method, http.method, http.path.removeprefix(API), params, status))
            self.changed()

    def _authorize(self, http: web.Request) -> None:
        if http.headers.get("Authorization") != f"Bot {self.token}":
            raise unauthorized()

    def _channel_of(self, request: Request) -> int | None:
        if request.ids.get("channel", "").isdigit():
            return int(request.ids["channel"])
        interaction = self._interactions.of_token(request.ids.get("token", ""))
        return interaction.channel_id if interaction else None

    async def _go_wrong(self, method: str, channel: int | None, said: object) -> Mapping[str, str]:
        """Raise what is to go wrong; returns what the answer tells of limits."""
        if slow := first_match(self._slow, method, channel):
            await asyncio.sleep(slow.seconds)
        failing = first_match(self._errors, method, channel, said)
        if failing and failing.error:
            raise failing.error
        if self._flood:
            self._flood.check(method, channel, time.monotonic())
        windows = [window for window in self._windows if window.method == method]
        return {name: value for window in windows for name, value in window.count(channel, time.monotonic()).items()}

    async def _socket(self, http: web.Request) -> web.StreamResponse:
        return _cut(http) if self.down else await self.sockets.serve(http)

    async def _file(self, http: web.Request) -> web.StreamResponse:
        if self.down:
            return _cut(http)
        file = self.files.get(int(http.match_info["file"])) if http.match_info["file"].isdigit() else None
        if file is None or http.query.get("hm") != str(self.world.link_generation):
            return web.Response(status=404, text="This content is no longer available.")
        return web.Response(body=file.content, content_type=file.content_type)

    async def _unknown(self, http: web.Request) -> web.StreamResponse:
        if self.down:
            return _cut(http)
        call = Call("unknown", http.method, http.path.removeprefix(API), dict(http.query), 404)
        self.calls.append(call)
        self.unknown_calls.append(call)
        self.changed()
        return Refused(404, 0, "404: Not Found").answer()


def _cut(http: web.Request) -> web.Response:
    """End the connection without an answer."""
    if http.transport is not None:
        http.transport.abort()
    return web.Response()
