"""Receiving from Telegram by webhook: a strict Bot API server calls us over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.connector import Hooked
from bot.errors import ConfigurationError
from connectors.memory import MemoryIntake
from connectors.telegram import Telegram
from connectors.telegram.webhook import LOOK_SECONDS
from tests.connectors.telegram.case import UNDO, MakeTelegram, Pauses, running, say
from tests.logged import all_that_was_logged, logged
from tests.servers.telegram.server import BotApiServer, Person

SECRET = "a-secret_of_ours"
HEADER = "x-telegram-bot-api-secret-token"


class Hook:
    """Our side of the webhook: hands what comes over HTTP to the connector that is set."""

    def __init__(self) -> None:
        self.telegram: Telegram | None = None
        self.intake = MemoryIntake()
        self.url = ""

    async def serve(self, http: web.Request) -> web.Response:
        assert self.telegram is not None
        headers = {name.lower(): value for name, value in http.headers.items()}
        return web.Response(status=await self.telegram.receive(self.intake, headers, await http.read()))


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    hook = Hook()
    app = web.Application()
    app.router.add_post("/telegram", hook.serve)
    async with TestServer(app) as server:
        hook.url = str(server.make_url("/telegram"))
        yield hook


@pytest.fixture
def telegram(make_telegram: MakeTelegram, hook: Hook, pauses: Pauses) -> Telegram:
    pauses.hold(LOOK_SECONDS)
    hook.telegram = make_telegram(webhook_url=hook.url, webhook_secret=SECRET)
    return hook.telegram


async def test_what_telegram_brings_is_stored_and_commands_are_offered(
    server: BotApiServer, ada: Person, telegram: Telegram, hook: Hook
) -> None:
    waiting = ada.says("waiting")
    async with running(telegram, hook.intake):
        await hook.intake.until(lambda: hook.intake.inbounds)
        ada.says("new")
        await hook.intake.until(lambda: len(hook.intake.inbounds) == 2)
        await server.wait_for(lambda server: not server.pending)

    assert hook.intake.texts == ["waiting", "new"]
    assert hook.intake.inbounds[0].order == waiting
    assert hook.intake.saved_cursor is None
    assert set(server.webhook.statuses) == {200}
    assert server.methods.commands
    (call,) = server.calls_of("setWebhook")
    assert call.params["secret_token"] == SECRET
    assert "stopped_message_generation" in call.params["allowed_updates"]
    assert server.calls_of("getUpdates") == server.calls_of("deleteWebhook") == []


async def test_what_could_not_be_stored_comes_again(
    server: BotApiServer, ada: Person, telegram: Telegram, hook: Hook
) -> None:
    hook.intake.refusals = 2
    ada.says("do not lose me")
    async with running(telegram, hook.intake):
        await hook.intake.until(lambda: hook.intake.inbounds)

    assert server.webhook.statuses[:2] == [503, 503]
    assert [inbound.key for inbound in hook.intake.refused] == hook.intake.keys * 2


async def test_a_host_that_does_not_know_its_own_name_yet_asks_telegram_to_come_again(
    server: BotApiServer, ada: Person, telegram: Telegram, hook: Hook
) -> None:
    """A gateway that stands by is called too, without ever having run."""
    ada.says("hello")
    (raw,) = server.pending
    body = web.json_response(raw).body
    assert isinstance(body, bytes)
    server.fail("getMe", 502, "Bad Gateway")

    assert await telegram.receive(hook.intake, {HEADER: SECRET}, body) == 503
    assert await telegram.receive(hook.intake, {HEADER: SECRET}, body) == 200
    assert hook.intake.texts == ["hello"]


@pytest.mark.parametrize("headers", [{}, {HEADER: "wrong"}, {HEADER: ""}, {HEADER: "ü"}])
async def test_a_call_without_the_secret_is_not_let_in(telegram: Telegram, hook: Hook, headers: dict[str, str]) -> None:
    body = b'{"update_id": 1, "message": {}}'

    assert await telegram.receive(hook.intake, headers, body) == 401
    assert hook.intake.inbounds == []


@pytest.mark.parametrize("body", [b"", b"[]", b"no JSON", b"\xff", b'{"update_id": 7, "message": {"message_id": "x"}}'])
async def test_what_cannot_be_read_is_logged_and_does_not_come_again(
    telegram: Telegram, hook: Hook, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert await telegram.receive(hook.intake, {HEADER: SECRET}, body) == 200

    assert logged(caplog, "update_unreadable")


async def test_a_press_that_is_brought_is_answered(
    server: BotApiServer, ada: Person, telegram: Telegram, hook: Hook
) -> None:
    (ref,) = await telegram.deliver(say("Compacted.", buttons=UNDO))
    async with running(telegram, hook.intake):
        ada.presses(int(ref), "/undo")
        await server.wait_for(lambda server: server.calls_of("answerCallbackQuery"))

    assert hook.intake.texts == ["/undo"]


async def test_calls_that_are_not_let_in_are_told_once_a_minute_and_not_what_they_hold(
    telegram: Telegram, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    for headers in ({HEADER: "guess-of-somebody"}, {}, {HEADER: "guess-of-somebody"}):
        assert await telegram.receive(hook.intake, headers, b'{"update_id": 1}') == 401
    [line] = logged(caplog, "webhook_refused")
    assert (line["reason"], line["calls"]) == ("another secret came with it", 1)
    assert "guess-of" not in all_that_was_logged(caplog)
    assert SECRET not in all_that_was_logged(caplog)


async def test_without_a_secret_one_is_derived_that_others_cannot_guess(
    server: BotApiServer, ada: Person, telegram: Telegram, hook: Hook, make_telegram: MakeTelegram
) -> None:
    hook.telegram = make_telegram(webhook_url=hook.url)
    async with running(hook.telegram, hook.intake):
        ada.says("hello")
        await hook.intake.until(lambda: hook.intake.inbounds)

    (call,) = server.calls_of("setWebhook")
    assert len(call.params["secret_token"]) == 64
    assert server.token not in call.params["secret_token"]


async def test_a_webhook_that_somebody_changed_is_set_again(
    server: BotApiServer, ada: Person, telegram: Telegram, hook: Hook, pauses: Pauses
) -> None:
    async with running(telegram, hook.intake):
        await pauses.reach(1)
        server.webhook.set(None)
        pauses.go_on()
        await server.wait_for(lambda server: len(server.calls_of("setWebhook")) == 2)
        ada.says("hello")
        await hook.intake.until(lambda: hook.intake.inbounds)


async def test_a_webhook_that_is_as_it_should_be_is_left_alone(
    server: BotApiServer, telegram: Telegram, hook: Hook, pauses: Pauses
) -> None:
    async with running(telegram, hook.intake):
        for looks in (1, 2, 3):
            await pauses.reach(looks)
            pauses.go_on()
        await pauses.reach(4)

    assert [call.status for call in server.calls_of("setWebhook")] == [200]
    assert [call.status for call in server.calls_of("getWebhookInfo")] == [200] * 3


async def test_what_telegram_cannot_bring_is_told_once(
    server: BotApiServer,
    ada: Person,
    telegram: Telegram,
    *,
    hook: Hook,
    pauses: Pauses,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hook.intake.refusals = 10**6
    ada.says("hello")
    async with running(telegram, hook.intake):
        await server.wait_for(lambda server: server.webhook.info().get("last_error_message"))
        for looks in (1, 2, 3):
            await pauses.reach(looks)
            pauses.go_on()
        await pauses.reach(4)

    told = logged(caplog, "webhook_not_reached")
    assert len(told) == 1
    assert "503" in told[0]["reason"]


async def test_the_webhook_stays_when_the_program_ends(
    server: BotApiServer, telegram: Telegram, hook: Hook, pauses: Pauses
) -> None:
    async with running(telegram, hook.intake):
        await pauses.wait_for(lambda pauses: pauses.seconds)

    assert server.webhook.webhook is not None
    assert server.calls_of("deleteWebhook") == []


async def test_a_server_that_refuses_for_now_is_asked_again(
    server: BotApiServer, telegram: Telegram, hook: Hook, pauses: Pauses
) -> None:
    server.fail("getMe", 502, "Bad Gateway")
    server.limit("setWebhook", retry_after=7)
    async with running(telegram, hook.intake):
        await pauses.wait_for(lambda pauses: LOOK_SECONDS in pauses.seconds)

    assert 0.5 <= pauses.seconds[0] <= 1
    assert pauses.seconds[1:] == [7, LOOK_SECONDS]


async def test_a_token_that_telegram_does_not_know_ends_receiving(
    server: BotApiServer, telegram: Telegram, hook: Hook
) -> None:
    server.fail("setWebhook", 401, "Unauthorized")

    with pytest.raises(ConfigurationError, match="TELEGRAM_TOKEN"):
        await telegram.run(hook.intake)


async def test_it_is_called_at_the_path_of_the_url(make_telegram: MakeTelegram) -> None:
    assert make_telegram().hook_path is None
    assert make_telegram(webhook_url="https://example.org/a/b?c").hook_path == "/a/b"
    telegram = make_telegram(webhook_url="https://example.org")
    assert telegram.hook_path == "/"
    assert isinstance(telegram, Hooked)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"webhook_url": "http://example.org/telegram", "api_base": None}, "TELEGRAM_WEBHOOK_URL"),
        ({"webhook_url": "example.org/telegram"}, "TELEGRAM_WEBHOOK_URL"),
        ({"webhook_url": "https:///telegram"}, "TELEGRAM_WEBHOOK_URL"),
        ({"webhook_url": "https://[telegram"}, "TELEGRAM_WEBHOOK_URL"),
        ({"webhook_url": "https://example.org/", "webhook_secret": "with space"}, "TELEGRAM_WEBHOOK_SECRET"),
        ({"webhook_url": "https://example.org/", "webhook_secret": ""}, "TELEGRAM_WEBHOOK_SECRET"),
        ({"webhook_url": "https://example.org/", "webhook_secret": "x" * 257}, "TELEGRAM_WEBHOOK_SECRET"),
    ],
)
async def test_what_telegram_would_not_take_is_a_configuration_error(
    make_telegram: MakeTelegram, changes: dict[str, str | None], name: str
) -> None:
    with pytest.raises(ConfigurationError, match=name):
        make_telegram(**changes)


async def test_a_redelivered_call_has_the_same_key(
    server: BotApiServer, ada: Person, telegram: Telegram, hook: Hook
) -> None:
    ada.says("once")
    (raw,) = server.pending
    async with running(telegram, hook.intake):
        await hook.intake.until(lambda: hook.intake.inbounds)
        await server.wait_for(lambda server: not server.pending)
        server.update(raw)
        await hook.intake.until(lambda: hook.intake.again)

    assert hook.intake.inbounds[0] == hook.intake.again[0]
