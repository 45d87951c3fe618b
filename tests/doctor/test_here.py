"""HTTP_BIND, the clock, and what is said of a server that keeps silent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from bot.app.doctor.bind import check_bind
from bot.app.doctor.clock import check_clock
from bot.app.doctor.telegram import check_telegram
from bot.app.doctor.web import Unreachable
from bot.app.http import HttpServer
from bot.errors import ConfigurationError
from bot.runtime.settings import load_settings
from bot.runtime.tasks import stop
from tests.doctor.conftest import MakeCase, said, the_one
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Somebody who listens and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def address(listener: socket.socket) -> str:
    """host:port."""
    return "{}:{}".format(*listener.getsockname())


async def test_a_free_address_is_well(case: MakeCase, listener: socket.socket) -> None:
    bind = address(listener)
    listener.close()
    assert await said(check_bind, case(http_bind=bind)) == [f"ok: HTTP_BIND={bind} is free."]


async def test_an_address_that_somebody_else_has_is_a_problem_where_it_was_asked_for(case: MakeCase) -> None:
    async with MessagesServer() as other:
        finding = await the_one(check_bind, case(http_bind=f"127.0.0.1:{other.port}"), "problem")
    assert "cannot be listened on" in finding.sentence


async def test_an_address_that_cannot_be_had_is_a_problem(case: MakeCase) -> None:
    assert (await the_one(check_bind, case(http_bind="192.0.2.1:80"), "problem")).advice


@pytest.mark.parametrize("bind", ["localhost", "8080", "127.0.0.1:http", "127.0.0.1:99999", "127.0.0.1:"])
def test_what_is_no_address_is_said_when_the_settings_are_read(bind: str) -> None:
    with pytest.raises(ConfigurationError, match=r"HTTP_BIND=.* is not host:port\. Write e\.g\. 127\.0\.0\.1:8080"):
        load_settings(http_bind=bind, _env_file=None)


async def test_a_running_program_of_ours_is_recognised(case: MakeCase, listener: socket.socket) -> None:
    bind = address(listener)
    listener.close()
    serving = asyncio.create_task(HttpServer(bind, {}).run())
    try:
        async with asyncio.timeout(10):
            while not any("A running program answers" in line for line in await said(check_bind, case(http_bind=bind))):
                assert not serving.done()
    finally:
        await stop(serving)


async def test_a_clock_that_is_an_hour_ahead_is_a_warning(case: MakeCase, telegram: BotApiServer) -> None:
    settings = {"telegram_token": telegram.token, "telegram_api_base": telegram.url}
    wrong = case(ahead=3600.0, **settings)
    await check_telegram(wrong)
    finding = await the_one(check_clock, wrong, "warning")
    assert "ahead of that of 127.0.0.1" in finding.sentence
    right = case(**settings)
    await check_telegram(right)
    assert await said(check_clock, right) == ["ok: It agrees with 127.0.0.1."]


async def test_without_a_platform_the_models_server_tells_the_time(case: MakeCase, models: MessagesServer) -> None:
    finding = await the_one(check_clock, case(ahead=-600.0, anthropic_base_url=models.url), "warning")
    assert "behind" in finding.sentence


async def test_a_server_that_keeps_silent_is_not_waited_for(case: MakeCase, listener: socket.socket) -> None:
    with pytest.raises(Unreachable, match="no answer within"):
        await case().web.get(f"http://{address(listener)}/", patience=0.1)
    with pytest.raises(Unreachable, match="no answer within"):
        await case().web.first_words(f"ws://{address(listener)}/", patience=0.1)
