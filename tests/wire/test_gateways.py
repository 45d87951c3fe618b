"""Two gateways with one token, and gateways that die: people see each message once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from connectors.telegram.writer import PROBES
from tests.servers.discord.server import DiscordServer
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer, Person
from tests.wire.conftest import Book
from tests.wire.program import PATIENCE, Programs


@pytest_asyncio.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server


@pytest_asyncio.fixture
async def discord_programs(
    tmp_path: Path, model: MessagesServer, discord: DiscordServer, own_book: Book
) -> AsyncIterator[Programs]:
    """Processes on a new DATA_DIR, with Discord."""
    platform = {
        "DISCORD_TOKEN": discord.token,
        "DISCORD_API_BASE": discord.api_base,
        "DISCORD_GATEWAY": discord.gateway,
        "ACCESS": "open",
    }
    started = Programs(tmp_path, model, book={**own_book, **platform})
    yield started
    await started.close()


async def test_a_second_gateway_stands_by_and_takes_over_when_the_first_dies(
    telegram_programs: Programs, telegram: BotApiServer
) -> None:
    await telegram_programs.serve("agents", "worker")
    first = await telegram_programs.serve("gateway")
    second = await telegram_programs.start("run", "--role", "gateway")
    await second.wait_for(lambda it: it.logged("http_listens"), PATIENCE)
    ada = telegram.person()
    ada.says("hello")
    await telegram.wait_for(lambda it: it.texts(ada.id), PATIENCE)
    assert not second.logged("gateway_started")
    assert not [call for call in telegram.calls if call.status == 409]
    await first.kill()
    ada.says("still there?")
    await telegram.wait_for(lambda it: len(it.texts(ada.id)) == 2, PATIENCE)
    assert second.logged("gateway_started")


async def _answer_to(model: MessagesServer, words: str) -> str:
    """What stands in the answer to these words; one that a kill cut off may have been asked for twice before."""
    await model.wait_for(lambda it: any(words in record.request.last_user_text for record in it.requests), PATIENCE)
    asked = [words in record.request.last_user_text for record in model.requests]
    return f"({asked.index(True) + 1})"


async def _sees_two_answers(programs: Programs, telegram: BotApiServer, ada: Person) -> None:
    ada.says("and again")
    answer = await _answer_to(programs.model, "and again")
    await telegram.wait_for(lambda it: any(answer in text for text in it.texts(ada.id)), PATIENCE)
    assert len(telegram.texts(ada.id)) == 2


@pytest.mark.parametrize(
    "when", ["the answer is lost", pytest.param("the answer is waited for", marks=pytest.mark.long)]
)
async def test_telegram_shows_one_message_when_the_gateway_dies_between_send_and_acknowledgement(
    telegram_programs: Programs, telegram: BotApiServer, when: str
) -> None:
    program = await telegram_programs.serve()
    ada = telegram.person()
    if when == "the answer is lost":
        telegram.lose_answer("sendMessage")
    else:
        telegram.hold_answer("sendMessage")
    ada.says("hello")
    await telegram.wait_for(lambda it: it.texts(ada.id), PATIENCE)
    await program.kill()
    telegram.clear_faults()
    await telegram_programs.serve()
    await _sees_two_answers(telegram_programs, telegram, ada)


async def test_a_lost_message_is_found_though_other_chats_talked_between_it_and_what_it_answers(
    telegram_programs: Programs, telegram: BotApiServer
) -> None:
    program = await telegram_programs.serve()
    ada, bob = telegram.person(1001), telegram.person(1002)
    model = telegram_programs.model
    model.hang(lambda request: "take your time" in request.all_text)
    ada.says("take your time")
    await model.wait_for(lambda it: it.requests, PATIENCE)
    for number in range(PROBES):
        bob.says(f"message {number}.")
    await model.wait_for(lambda it: f"message {PROBES - 1}." in it.requests[-1].request.all_text, PATIENCE)
    telegram.lose_answer("sendMessage")
    model.release()
    await telegram.wait_for(lambda it: it.texts(ada.id), PATIENCE)
    await program.kill()
    telegram.clear_faults()
    await telegram_programs.serve()
    await _sees_two_answers(telegram_programs, telegram, ada)


async def test_discord_shows_one_message_when_the_gateway_dies_between_send_and_acknowledgement(
    discord_programs: Programs, discord: DiscordServer
) -> None:
    program = await discord_programs.serve()
    await discord.wait_for(lambda it: it.connected, PATIENCE)
    ada = discord.person()
    discord.lose_answer("create_message")
    await ada.says("hello")
    await discord.wait_for(lambda it: it.texts(ada.channel_id), PATIENCE)
    await program.kill()
    discord.clear_faults()
    await discord_programs.serve()
    await discord.wait_for(lambda it: it.connected, PATIENCE)
    await ada.says("and again")
    answer = await _answer_to(discord_programs.model, "and again")
    await discord.wait_for(lambda it: any(answer in text for text in it.texts(ada.channel_id)), PATIENCE)
    assert len(discord.texts(ada.channel_id)) == 2


@pytest.mark.long
async def test_what_was_said_in_discord_while_nobody_listened_is_answered(
    discord_programs: Programs, discord: DiscordServer
) -> None:
    program = await discord_programs.serve()
    await discord.wait_for(lambda it: it.connected, PATIENCE)
    ada = discord.person()
    await ada.says("hello")
    await discord.wait_for(lambda it: it.texts(ada.channel_id), PATIENCE)
    await program.kill()
    await ada.says("is anybody there?")
    await discord_programs.serve()
    await discord.wait_for(lambda it: len(it.texts(ada.channel_id)) == 2, PATIENCE)
