"""Telegram: asked, and not disturbed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from bot.app.doctor.case import Case
from bot.app.doctor.telegram import check_telegram
from bot.app.doctor.telegram_webhook import check_webhook
from bot.bus.bus import Bus
from bot.runtime.tasks import stop
from tests.doctor.conftest import MakeCase, bell_of_a_new_book, said, the_one
from tests.servers.telegram.server import BotApiServer

LOOKS_ONLY = {"getMe", "getWebhookInfo"}


def patient(case: MakeCase, telegram: BotApiServer, **settings: object) -> Case:
    """Somebody whose Telegram is this one."""
    return case(**{"telegram_token": telegram.token, "telegram_api_base": telegram.url, **settings})


async def test_without_a_token_it_is_off(case: MakeCase) -> None:
    assert await said(check_telegram, case()) == ["ok: TELEGRAM_TOKEN is not set: Telegram is off."]


async def test_all_is_well_and_nothing_was_changed(case: MakeCase, telegram: BotApiServer) -> None:
    telegram.person().says("hello")
    lines = await said(check_telegram, patient(case, telegram))
    assert lines[0].startswith("ok: The token is that of @")
    assert "Not looked whether another program polls" in lines[1]
    assert "1 updates wait" in lines[1]
    assert {call.method for call in telegram.calls} == LOOKS_ONLY
    assert telegram.confirmed_offset == 0


async def test_a_wrong_token_is_a_problem_and_not_repeated(case: MakeCase, telegram: BotApiServer) -> None:
    token = "4200:a-wrong-token-of-no-bot-0123456789"
    finding = await the_one(check_telegram, patient(case, telegram, telegram_token=token), "problem")
    assert finding.sentence == "Telegram does not know the token."
    assert "@BotFather" in finding.advice
    assert token not in str(finding)


async def test_a_server_of_ones_own_that_does_not_answer_is_a_problem(case: MakeCase) -> None:
    async with BotApiServer() as gone:
        pass
    finding = await the_one(check_telegram, patient(case, gone), "problem")
    assert finding.sentence.startswith("TELEGRAM_API_BASE cannot be reached")
    assert gone.token not in str(finding)


async def test_privacy_mode_where_all_groups_are_to_be_answered_is_a_warning(
    case: MakeCase, telegram: BotApiServer
) -> None:
    finding = await the_one(check_telegram, patient(case, telegram, groups="always"), "warning")
    assert "/setprivacy" in finding.advice
    telegram.privacy_mode = False
    assert all("ok:" in line for line in await said(check_telegram, patient(case, telegram, groups="always")))


async def test_a_webhook_that_is_left_over_is_named_by_its_host(case: MakeCase, telegram: BotApiServer) -> None:
    await _set_webhook(telegram, "https://old.example.org/secret-path")
    finding = await the_one(check_telegram, patient(case, telegram), "warning")
    assert "old.example.org" in finding.sentence
    assert "secret-path" not in str(finding)
    assert telegram.webhook.webhook


async def test_a_webhook_that_leads_to_the_program_is_well(case: MakeCase, telegram: BotApiServer) -> None:
    async with _hook(405) as url:
        lines = await said(check_telegram, patient(case, telegram, telegram_webhook_url=url))
    assert lines[1].startswith("ok: The webhook at 127.0.0.1")


@pytest.mark.parametrize(("status", "about"), [(404, "path"), (502, "palimpsest run")])
async def test_a_proxy_that_leads_elsewhere_is_a_warning(
    case: MakeCase, telegram: BotApiServer, status: int, about: str
) -> None:
    async with _hook(status) as url:
        finding = await the_one(check_telegram, patient(case, telegram, telegram_webhook_url=url), "warning")
    assert str(status) in finding.sentence
    assert about in finding.advice


async def test_what_telegram_says_of_the_webhook_is_a_problem(case: MakeCase, telegram: BotApiServer) -> None:
    async with _hook(502) as url:
        await _set_webhook(telegram, url)
        telegram.person().says("hello")
        await telegram.wait_for(lambda server: server.webhook.info().get("last_error_message"))
        finding = await the_one(check_telegram, patient(case, telegram, telegram_webhook_url=url), "problem")
    assert "Wrong response from the webhook: 502" in finding.sentence
    assert "HTTP_BIND" in finding.advice


@pytest.mark.parametrize("url", ["http://bot.example.org/hook", "https://bot.example.org:5000/hook"])
async def test_a_webhook_address_that_telegram_never_calls_is_a_problem(case: MakeCase, url: str) -> None:
    settings = case(telegram_token="1:a", telegram_webhook_url=url)
    (finding,) = await check_webhook(settings, url, {})
    assert finding.state == "problem"
    assert url in finding.sentence
    assert "https://host/path" in finding.advice


async def test_another_poller_is_found_only_when_that_is_asked_for(case: MakeCase, telegram: BotApiServer) -> None:
    polling = asyncio.create_task(_poll(telegram))
    await telegram.wait_for(lambda server: server.polls)
    try:
        finding = await the_one(check_telegram, case_with_probe(case, telegram), "problem")
        assert finding.sentence == "Another program polls with this token."
    finally:
        await stop(polling)
    assert telegram.confirmed_offset == 0


async def test_where_nobody_polls_the_probe_confirms_nothing(case: MakeCase, telegram: BotApiServer) -> None:
    telegram.person().says("hello")
    lines = await said(check_telegram, case_with_probe(case, telegram))
    assert lines[1] == "ok: No other program polls with this token. 1 updates wait."
    assert len(telegram.pending) == 1


async def test_a_program_of_ours_that_receives_is_never_disturbed(
    case: MakeCase, telegram: BotApiServer, external_valkey: str
) -> None:
    patient_of_ours = case_with_probe(case, telegram, redis_url=external_valkey)
    bus = Bus(external_valkey, await bell_of_a_new_book(patient_of_ours.settings))
    lease = bus.lease("connector:telegram", 60)
    assert await lease.take()
    lines = await said(check_telegram, patient_of_ours)
    assert lines[1] == "ok: A running program receives its updates."
    assert {call.method for call in telegram.calls} == LOOKS_ONLY
    await lease.drop()
    await bus.close()


def case_with_probe(case: MakeCase, telegram: BotApiServer, **settings: object) -> Case:
    """A patient who agrees to be disturbed."""
    return patient(case, telegram, **{"probe": True, **settings})


async def _set_webhook(telegram: BotApiServer, url: str) -> None:
    async with aiohttp.ClientSession() as session:
        await session.post(f"{telegram.url}/bot{telegram.token}/setWebhook", json={"url": url})


async def _poll(telegram: BotApiServer) -> None:
    """Another program, which comes again whenever it is sent away."""
    async with aiohttp.ClientSession() as session:
        while True:
            await session.post(f"{telegram.url}/bot{telegram.token}/getUpdates", json={"timeout": 30})


@asynccontextmanager
async def _hook(status: int) -> AsyncIterator[str]:
    """Something that answers so where the webhook leads."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status)

    app = web.Application()
    app.router.add_route("*", "/telegram", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/telegram"
    await runner.cleanup()
