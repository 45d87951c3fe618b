"""A strict Telegram Bot API server for tests, on loopback.

It lives in the test's process, so chats, messages, pending updates and the confirmed
offset outlive a bot that dies. Point aiogram at it with
`AiohttpSession(api=TelegramAPIServer.from_base(server.url))` and `server.token`.
"""

import asyncio
from typing import Any, Self

from aiohttp import web
from typing_extensions import override

from tests.servers.telegram.chats import Chats
from tests.servers.telegram.drafts import Draft
from tests.servers.telegram.entities import utf16_units
from tests.servers.telegram.faults import Faults, first_match
from tests.servers.telegram.files import LARGEST_DOCUMENT, StoredFile
from tests.servers.telegram.flood import GROUP_MESSAGES, GROUP_SECONDS, FloodLimit
from tests.servers.telegram.groups import Groups
from tests.servers.telegram.methods import Methods
from tests.servers.telegram.person import Person
from tests.servers.telegram.switches import Switches
from tests.servers.telegram.updates import Updates
from tests.servers.telegram.webhook import WebhookPusher, accepted_webhook
from tests.servers.telegram.wire import Call, Chat, Json, Rejected, SentMessage, read_parameters
from tests.servers.watched import Watched

__all__ = ["BotApiServer", "Call", "Chat", "Draft", "Person", "SentMessage", "StoredFile", "utf16_units"]

BOT_ID = 4200
TOKEN = f"{BOT_ID}:test-token-of-no-real-bot-0123456789"


class BotApiServer(Faults, Switches, Watched):
    """The server; `async with BotApiServer() as server`, then talk to `server.url`."""

    def __init__(self, *, token: str = TOKEN, port: int = 0) -> None:
        super().__init__()
        self.token = token
        self.port = port
        self.calls: list[Call] = []
        self.chats = Chats(int(token.split(":", maxsplit=1)[0]), self)
        self.methods = Methods(self.chats)
        self.updates = Updates(self.changed)
        self._groups = Groups(self.chats, self.updates)
        self._chat_flood: FloodLimit | None = None
        self._group_flood = FloodLimit(GROUP_MESSAGES, GROUP_SECONDS)
        self.webhook = WebhookPusher(self.updates, lambda condition: self.wait_for(lambda _: condition(), timeout=3600))
        self._runner: web.AppRunner | None = None
        self._pushing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start listening."""
        app = web.Application(client_max_size=LARGEST_DOCUMENT + 1024 * 1024)
        app.router.add_route("*", "/bot{token}/{method}", self._method)
        app.router.add_get("/file/bot{token}/{path:.+}", self._file)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        self._pushing = asyncio.create_task(self.webhook.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening."""
        assert self._runner is not None
        assert self._pushing is not None
        self._pushing.cancel()
        await asyncio.gather(self._pushing, return_exceptions=True)
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        """The base URL for a client, without the token."""
        return f"http://127.0.0.1:{self.port}"

    # --- the human's side ---

    def person(self, id: int = 1001, name: str = "Ada", *, started: bool = True) -> Person:
        """Someone, who has started a private chat with the bot unless told otherwise."""
        return self._groups.person(id, name, started=started)

    def group(
        self,
        id: int = -100_200,
        title: str = "The group",
        *,
        type: str = "supergroup",
        forum: bool = False,
        member: bool = True,
    ) -> Chat:
        """A group that the bot is in, unless told otherwise; pass it to what a person does."""
        return self._groups.group(id, title, type=type, forum=forum, member=member)

    def topic(self, place: Chat | Person, name: str) -> int:
        """Open a topic in a group, which becomes a forum, or in a private chat; returns its id."""
        return self._groups.topic(place, name)

    def migrate(self, group: Chat) -> Chat:
        """Turn a group into a supergroup, which is returned; the old id answers with the new one."""
        return self._groups.migrate(group)

    def update(self, raw: Json) -> int:
        """Hand out an update again, confirmed or not (or a new one, without `update_id`)."""
        return self.updates.redeliver(raw)

    # --- what the bot did ---

    @property
    def confirmed_offset(self) -> int:
        """The highest offset the bot has asked for: all updates below it are forgotten."""
        return self.updates.confirmed_offset

    @property
    def pending(self) -> list[Json]:
        """Updates that are not confirmed yet."""
        return list(self.updates.pending)

    @property
    def polls(self) -> int:
        """How many getUpdates calls are waiting now."""
        return self.updates.polls

    def messages(self, chat_id: int) -> list[SentMessage]:
        """What the bot has sent to a chat and not deleted, in order."""
        return [m for m in self.chats.sent.values() if m.chat_id == chat_id and not m.deleted]

    def texts(self, chat_id: int) -> list[str]:
        """What people read of the bot's now."""
        return [message.text for message in self.messages(chat_id)]

    def drafts(self, chat_id: int) -> list[Draft]:
        """The drafts that a chat shows now, one in each thread; each knows all that it has shown."""
        return self.chats.drafts.live(chat_id)

    def all_drafts(self, chat_id: int) -> list[Draft]:
        """Also those that are gone, in order."""
        return self.chats.drafts.all(chat_id)

    def received(self, chat_id: int) -> list[Json]:
        """What others than the bot have put into a chat, in order, as JSON messages."""
        return [message for (chat, _), message in self.chats.received.items() if chat == chat_id]

    @property
    def unknown_calls(self) -> list[str]:
        """The methods that were called and that this server does not have."""
        return self.methods.unknown

    def typing(self, chat_id: int) -> list[float]:
        """When (`time.monotonic()`) the bot said that it is typing."""
        return [at for chat, action, at in self.chats.actions if (chat, action) == (chat_id, "typing")]

    def reactions(self, chat_id: int, message_id: int) -> list[str]:
        """The emoji that the bot has put on a message."""
        found = self.chats.reactions.get((chat_id, message_id), [])
        return [str(reaction.get("emoji")) for reaction in found]

    def calls_of(self, method: str) -> list[Call]:
        """The calls of one method."""
        return [call for call in self.calls if call.method == method]

    @override
    def describe(self) -> str:
        """The last calls and what the chats show, for a wait that timed out."""
        calls = [(c.method, c.status) for c in self.calls if c.method != "getUpdates"]
        shown = {chat: self.texts(chat) for chat in self.chats.chats}
        return f"{len(self.calls)} calls, the last {calls[-20:]}; chats show {shown}"

    # --- the bot's side ---

    async def _method(self, http: web.Request) -> web.StreamResponse:
        method = http.match_info["method"]
        params: dict[str, Any] = {}
        status = 0
        try:
            self._authorize(http)
            params = await read_parameters(http)
            result = await self._answer(method, params)
            if first_match(self._lost, method, params):
                assert http.transport is not None
                http.transport.close()
                return web.Response()
            status = 200
            return web.json_response({"ok": True, "result": result})
        except Rejected as rejection:
            status = rejection.code
            return web.json_response(rejection.body(), status=rejection.code)
        finally:
            self.calls.append(Call(method, params, status))
            self.changed()

    def _authorize(self, http: web.Request) -> None:
        if http.match_info["token"] != self.token:
            raise Rejected(401, "Unauthorized")

    async def _answer(self, method: str, params: Json) -> object:
        if slow := first_match(self._slow, method, params):
            await asyncio.sleep(slow.seconds)
        if (held := first_match(self._held, method, params)) and held.released:
            await held.released.wait()
        failing = first_match(self._errors, method, params)
        if failing and failing.error:
            raise failing.error
        self._check_flood(method, params)
        result = await self._do(method, params)
        if (held := first_match(self._held_answers, method, params)) and held.released:
            self.changed()
            await held.released.wait()
        return result

    async def _do(self, method: str, params: Json) -> object:
        match method:
            case "getUpdates":
                return await self.updates.poll(params)
            case "setWebhook" | "deleteWebhook":
                self.webhook.set(accepted_webhook(params) if method == "setWebhook" else None)
                self.updates.allow(params)
                if params.get("drop_pending_updates"):
                    self.updates.pending.clear()
                return True
            case "getWebhookInfo":
                return self.webhook.info()
            case _:
                return self.methods.call(method, params)

    def _check_flood(self, method: str, params: Json) -> None:
        now = self.clock()
        if self._flood:
            self._flood.check(method, params, now)
        if self.flood_control is not None:
            if self._chat_flood is None or self._chat_flood.seconds != self.flood_control:
                self._chat_flood = FloodLimit(1, self.flood_control)
            self._chat_flood.check(method, params, now)
        chat = self.chats.chats.get(params.get("chat_id", 0))
        if self.group_flood_control and chat and not chat.private:
            self._group_flood.check(method, params, now)

    async def _file(self, http: web.Request) -> web.StreamResponse:
        stored = self.chats.files.at(http.match_info["path"])
        if http.match_info["token"] != self.token or stored is None:
            return web.json_response(Rejected(404, "Not Found").body(), status=404)
        return web.Response(body=stored.content)
