"""The webhook of the Bot API server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiogram import Bot
from aiogram.exceptions import TelegramConflictError
from aiohttp import web

from tests.servers.telegram.raw import RawCalls
from tests.servers.telegram.server import BotApiServer, Person
from tests.servers.telegram.webhook import SECRET_HEADER
from tests.servers.watched import Watched

pytest_plugins = ["tests.servers.telegram.fixtures"]


class Hook(Watched):
    """A webhook that keeps what it got; it answers once `open` is set, at first with each of `statuses`."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[dict[str, Any]] = []
        self.secrets: set[str | None] = set()
        self.statuses: list[int] = []
        self.open = asyncio.Event()
        self.open.set()
        self.url = ""

    @property
    def texts(self) -> list[str]:
        return [update["message"]["text"] for update in self.got]

    async def take(self, request: web.Request) -> web.Response:
        self.got.append(await request.json())
        self.secrets.add(request.headers.get(SECRET_HEADER))
        self.changed()
        await self.open.wait()
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)


@pytest_asyncio.fixture
async def hook() -> AsyncIterator[Hook]:
    hook = Hook()
    app = web.Application()
    app.router.add_post("/hook", hook.take)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield hook
    hook.open.set()
    await runner.cleanup()


async def test_an_update_is_posted_until_it_is_taken_and_in_order(
    telegram: BotApiServer, bot: Bot, ada: Person, hook: Hook
) -> None:
    hook.statuses = [500, 204]
    await bot.set_webhook(hook.url, secret_token="s-1_A")
    ada.says("one")
    ada.says("two")
    await telegram.wait_for(lambda server: not server.pending)
    assert hook.texts == ["one", "one", "two"]
    assert hook.secrets == {"s-1_A"}
    info = await bot.get_webhook_info()
    assert (info.url, info.pending_update_count, info.max_connections) == (hook.url, 0, 40)
    assert info.last_error_message == "Wrong response from the webhook: 500 Internal Server Error"


async def test_chats_do_not_wait_for_each_other(telegram: BotApiServer, bot: Bot, ada: Person, hook: Hook) -> None:
    hook.open.clear()
    bob, cleo = telegram.person(1002, "Bob"), telegram.person(1003, "Cleo")
    await bot.set_webhook(hook.url, max_connections=2)
    for person in (ada, ada, bob, cleo):
        person.says(f"{person.name} speaks")
    await hook.wait_for(lambda hook: len(hook.got) == 2)
    assert hook.texts == ["Ada speaks", "Bob speaks"]
    assert (await bot.get_webhook_info()).pending_update_count == 4
    hook.open.set()
    await telegram.wait_for(lambda server: not server.pending)
    assert sorted(hook.texts) == ["Ada speaks", "Ada speaks", "Bob speaks", "Cleo speaks"]
    assert telegram.webhook.most_at_once == 2


async def test_a_webhook_that_is_not_there_is_said_to_be_so(
    telegram: BotApiServer, bot: Bot, ada: Person, unused_tcp_port: int
) -> None:
    await bot.set_webhook(f"http://127.0.0.1:{unused_tcp_port}/hook")
    ada.says("one")
    await telegram.wait_for(lambda server: server.webhook.statuses)
    info = await bot.get_webhook_info()
    assert (info.pending_update_count, info.last_error_message) == (1, "Connection refused")
    await bot.delete_webhook()
    assert [update.message and update.message.text for update in await bot.get_updates()] == ["one"]


async def test_nobody_polls_beside_a_webhook(telegram: BotApiServer, bot: Bot, hook: Hook) -> None:
    polling = asyncio.create_task(bot.get_updates(timeout=30))
    await telegram.wait_for(lambda server: server.polls == 1)
    await bot.set_webhook(hook.url)
    with pytest.raises(TelegramConflictError, match="terminated by setWebhook request"):
        await polling
    with pytest.raises(TelegramConflictError, match="can't use getUpdates method while webhook is active; use delete"):
        await bot.get_updates()


async def test_a_removed_webhook_may_drop_what_waits(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.says("one")
    await bot.delete_webhook(drop_pending_updates=True)
    assert telegram.pending == []
    assert (await bot.get_webhook_info()).url == ""


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"url": "http://example.org/"}, "bad webhook: An HTTPS URL must be provided for webhook"),
        ({"url": "https://example.org:8080/"}, "bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443"),
        ({"url": "https://"}, "invalid webhook URL specified"),
        ({"url": "https://a.b/", "secret_token": "a b"}, "secret token contains unallowed characters"),
        ({"url": "https://a.b/", "secret_token": "a" * 257}, "secret token is too long"),
    ],
)
async def test_a_wrong_webhook_is_refused(raw: RawCalls, params: dict[str, str], reason: str) -> None:
    assert await raw.refusal("setWebhook", **params) == f"Bad Request: {reason}"
    assert (await raw("getWebhookInfo"))["result"]["url"] == ""
