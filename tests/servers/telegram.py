"""A strict Telegram Bot API server for tests, on loopback.

It lives in the test's process, so chats, messages, pending updates and the confirmed
offset outlive a bot that dies. Point aiogram at it with
`AiohttpSession(api=TelegramAPIServer.from_base(server.url))` and `server.token`.
"""

import asyncio
import time
from typing import Any, Self

from aiohttp import web
from typing_extensions import override

from tests.servers.telegram_chats import Chats
from tests.servers.telegram_faults import Faults, first_match
from tests.servers.telegram_methods import Methods
from tests.servers.telegram_person import Person
from tests.servers.telegram_text import utf16_units
from tests.servers.telegram_updates import Updates
from tests.servers.telegram_webhook import WebhookPusher, accepted_webhook
from tests.servers.telegram_wire import Call, Chat, Json, Rejected, SentMessage, read_parameters
from tests.servers.watched import Watched

__all__ = ["BotApiServer", "Call", "Chat", "Person", "SentMessage", "utf16_units"]

BOT_ID = 4200
TOKEN = f"{BOT_ID}:test-token-of-no-real-bot-0123456789"


class BotApiServer(Faults, Watched):
    """The server; `async with BotApiServer() as server`, then talk to `server.url`."""

    def __init__(self, *, token: str = TOKEN, port: int = 0) -> None:
        super().__init__()
        self.token = token
        self.port = port
        self.calls: list[Call] = []
        self.chats = Chats(int(token.split(":", maxsplit=1)[0]))
        self.methods = Methods(self.chats)
        self.updates = Updates(self.changed)
        self.webhook = WebhookPusher(self.updates, lambda condition: self.wait_for(lambda _: condition(), timeout=3600))
        self._runner: web.AppRunner | None = None
        self._pushing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start listening."""
        app = web.Application(client_max_size=60 * 1024 * 1024)
        app.router.add_route("*", "/bot{token}/{method}", self._method)
        app.router.add_get("/file/bot{token}/documents/{id}", self._file)
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

    def person(self, id: int = 1001, name: str = "Ada") -> Person:
        """Someone who has started a private chat with the bot."""
        self.chats.chats.setdefault(id, Chat(id, "private", name))
        return Person(id, name, self.chats, self.updates)

    def group(self, id: int = -100_200, title: str = "The group") -> Chat:
        """A group that the bot is in; pass it to what a person does."""
        return self.chats.chats.setdefault(id, Chat(id, "supergroup", title))

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
        failing = first_match(self._errors, method, params)
        if failing and failing.error:
            raise failing.error
        if self._flood:
            self._flood.check(method, params, time.monotonic())
        match method:
            case "getUpdates":
                return await self.updates.poll(params)
            case "setWebhook":
                self.updates.webhook = accepted_webhook(params)
                return self._drop_pending(params)
            case "deleteWebhook":
                self.updates.webhook = None
                return self._drop_pending(params)
            case "getWebhookInfo":
                return self.updates.webhook_info()
            case _:
                return self.methods.call(method, params)

    def _drop_pending(self, params: Json) -> bool:
        if isinstance(params.get("allowed_updates"), list):
            self.updates.allowed = frozenset(params["allowed_updates"])
        if params.get("drop_pending_updates"):
            self.updates.pending.clear()
        return True

    async def _file(self, http: web.Request) -> web.StreamResponse:
        content = self.chats.files.get(http.match_info["id"])
        if http.match_info["token"] != self.token or content is None:
            return web.json_response(Rejected(404, "Not Found").body(), status=404)
        return web.Response(body=content)
