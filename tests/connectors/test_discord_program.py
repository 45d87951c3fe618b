"""The whole program on Discord: what only shows when a gateway, its book and the platform meet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from bot.parts import Parts
from bot.platforms import platforms
from tests.connectors.at_work import at_work
from tests.house import settings_for
from tests.servers.discord import DiscordServer, Person
from tests.servers.messages import MessagesServer


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server


@pytest.fixture
def ada(discord: DiscordServer) -> Person:
    return discord.person(1001, "Ada")


class Programs:
    """Starts programs on the same Discord; what they keep is below one folder each."""

    def __init__(self, discord: DiscordServer, model: MessagesServer, folder: Path) -> None:
        self._discord = discord
        self._model = model
        self._folder = folder

    def run(self, name: str = "one", **changes: Any) -> AbstractAsyncContextManager[Parts]:
        """The program whose folder has this name, until the end of the block."""
        values = {
            "discord_token": self._discord.token,
            "discord_api_base": self._discord.api_base,
            "discord_gateway": self._discord.gateway,
            **changes,
        }
        settings = settings_for(self._model, self._folder / name, **values)
        return at_work(settings, next(one for one in platforms(settings) if one.name == "discord"))


@pytest.fixture
def programs(discord: DiscordServer, model: MessagesServer, tmp_path: Path) -> Programs:
    return Programs(discord, model, tmp_path)


async def listening(discord: DiscordServer) -> None:
    """The program hears what is said."""
    await discord.wait_for(lambda server: server.connected and server.commands)


async def answers(discord: DiscordServer, channel: int, count: int) -> list[str]:
    """What the bot's messages there read, once there are so many."""
    await discord.wait_for(lambda server: len(server.texts(channel)) >= count)
    return discord.texts(channel)


async def test_a_fresh_book_answers_in_messages_of_its_own(
    discord: DiscordServer, ada: Person, programs: Programs
) -> None:
    here = ada.channel_id
    for number, name in enumerate(("one", "another"), 1):
        async with programs.run(name):
            await listening(discord)
            await ada.says(f"My colour is {name}.")
            assert len(await answers(discord, here, number)) == number
        await discord.wait_for(lambda server: not server.connected)
    first, second = discord.messages(here)
    assert not first.edits
    assert first.nonce != second.nonce
