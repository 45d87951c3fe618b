"""Who becomes an admin by a code, and what becomes of everything else that is said to the bot meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from bot.app.doctor.web import Web
from bot.app.setup.first_word import BEING_SET_UP
from bot.app.setup.platform_step import PLATFORMS, PlatformStep
from bot.app.setup.settings_file import SettingsFile
from bot.errors import ConfigurationError
from bot.runtime.tasks import stop
from tests.servers.discord.server import DiscordServer
from tests.servers.telegram.server import BotApiServer
from tests.until import until

CODE = "ABCD-EFGH"


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with aiohttp.ClientSession() as session:
        yield Web(session, time.time)


@pytest.fixture
def file(tmp_path: Path, telegram: BotApiServer, discord: DiscordServer) -> SettingsFile:
    made = SettingsFile(tmp_path / ".env")
    made.keep(
        {
            "DATA_DIR": str(tmp_path / "data"),
            "TELEGRAM_TOKEN": telegram.token,
            "TELEGRAM_API_BASE": telegram.url,
            "DISCORD_TOKEN": discord.token,
            "DISCORD_API_BASE": discord.api_base,
            "DISCORD_GATEWAY": discord.gateway,
            "ADMINS": "telegram:7",
        }
    )
    return made


async def test_only_the_code_in_a_private_chat_counts_and_nothing_is_confirmed(
    file: SettingsFile, web: Web, telegram: BotApiServer
) -> None:
    step = PlatformStep(PLATFORMS["telegram"], file, web)
    ada, eve, group = telegram.person(1001, "Ada"), telegram.person(1003, "Eve"), telegram.group()
    listening = step.listen(CODE)
    hearing = asyncio.create_task(listening.run())
    await until(lambda: listening.has_begun, seconds=60)
    eve.says("ABCD-EFGX")
    eve.says(f"/start {CODE}", chat=group)
    eve.says(f"my code is {CODE}")
    ada.says("abcd efgh")
    eve.says(CODE)
    heard = await hearing
    assert (heard.person, step.admins) == ("1001", ["telegram:7", "telegram:1001"])
    assert telegram.confirmed_offset == 0
    assert len(telegram.pending) == 5
    assert [len(telegram.texts(one)) for one in (1001, 1003)] == [1, 0]


async def test_another_program_with_the_same_token_is_told_of(
    file: SettingsFile, web: Web, telegram: BotApiServer
) -> None:
    listening = PlatformStep(PLATFORMS["telegram"], file, web).listen(CODE)
    hearing = asyncio.create_task(listening.run())
    try:
        await telegram.wait_for(lambda server: server.polls, timeout=60)
        async with aiohttp.ClientSession() as session:
            await (await session.get(f"{telegram.url}/bot{telegram.token}/getUpdates")).read()
        await until(lambda: "onflict" in listening.trouble, lambda: listening.trouble, seconds=60)
    finally:
        await stop(hearing)


async def test_it_does_not_listen_where_it_could_not_hear_the_code(
    file: SettingsFile, web: Web, telegram: BotApiServer
) -> None:
    step = PlatformStep(PLATFORMS["telegram"], file, web)
    ada = telegram.person(1001, "Ada")
    for number in range(100):
        assert await step.cannot_listen() == "" or number
        ada.says(f"message {number}")
    assert "100 messages wait" in await step.cannot_listen()
    file.keep({"TELEGRAM_WEBHOOK_URL": "https://bot.example.org/telegram"})
    assert "TELEGRAM_WEBHOOK_URL" in await step.cannot_listen()


@pytest.mark.parametrize(
    ("platform", "token"),
    [
        ("telegram", "MTA1.Gh0st.a-token-of-a-bot-at-discord"),
        ("telegram", "sk-ant-a-key-and-no-token-0123456789"),
        ("telegram", "4200:another-token-that-nobody-ever-gave-away"),
        ("discord", "4200:test-token-of-no-real-bot-0123456789"),
        ("discord", "sk-ant-a-key-and-no-token-0123456789"),
        ("discord", "MTA1.Gh0st.a-token-that-nobody-ever-gave-away"),
    ],
)
async def test_a_token_of_another_kind_or_of_nobody_is_wrong_and_never_repeated(
    file: SettingsFile, web: Web, platform: str, token: str
) -> None:
    trial = await PlatformStep(PLATFORMS[platform], file, web).attempt(token)
    told = " ".join(f"{finding.sentence} {finding.advice}" for finding in trial.findings)
    assert (trial.state, "token" in told) == ("wrong", True)
    assert token not in told


async def test_a_slash_command_of_discord_is_answered_that_it_is_being_set_up(
    file: SettingsFile, web: Web, discord: DiscordServer
) -> None:
    step = PlatformStep(PLATFORMS["discord"], file, web)
    ada = discord.person(1001, "Ada")
    listening = step.listen(CODE)
    hearing = asyncio.create_task(listening.run())
    await until(lambda: listening.has_begun, seconds=60)
    await ada.slash("help")
    await discord.wait_for(lambda server: BEING_SET_UP in server.texts(ada.channel_id), 60)
    await ada.says(CODE, discord.channel(), mention=True)
    assert not hearing.done()
    await ada.says(CODE)
    assert (await hearing).person == "1001"
    assert step.admins == ["discord:1001"]


@pytest.mark.parametrize("other", ["telegram", "discord"])
async def test_a_token_that_cannot_be_one_does_not_break_the_step_of_another_platform(
    file: SettingsFile, web: Web, other: str
) -> None:
    broken = PLATFORMS["discord" if other == "telegram" else "telegram"]
    file.keep({broken.setting: "this-is-no-token"})
    step = PlatformStep(PLATFORMS[other], file, web)
    trial = await step.attempt()
    assert trial.state == "works", trial.findings
    assert await step.cannot_listen() == ""
    assert step.name_admin(f"{other}:9")["ADMINS"] == f"telegram:7,{other}:9"
    assert step.why_no_token == ""
    assert f"{broken.setting} is no token of a bot" in PlatformStep(broken, file, web).why_no_token
    with pytest.raises(ConfigurationError, match=broken.setting):
        file.settings(whole=True)
