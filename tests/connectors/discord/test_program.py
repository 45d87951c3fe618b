"""The whole program on Discord: what only shows when a gateway, its book and the platform meet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from bot.app.platforms import platforms
from bot.app.resources import Resources
from bot.gateway.chat_delivery import IN_A_FILE, SORRY
from bot.messages import Address, Button, Say
from bot.store import people
from bot.store.archive.withdrawing import DELETED, HIDDEN
from connectors.discord import Discord
from tests.connectors.at_work import at_work, ends_before_it_is_written_down
from tests.house import settings_for
from tests.servers.discord.server import DiscordServer, Person
from tests.servers.messages.server import MessagesServer

PATIENCE = 60.0
"""Seconds: the first turn of a process loads what it needs."""


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

    def run(self, name: str = "one", **changes: Any) -> AbstractAsyncContextManager[Resources]:
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
    await discord.wait_for(lambda server: server.connected and server.commands, PATIENCE)


async def answers(discord: DiscordServer, channel: int, count: int) -> list[str]:
    """What the bot's messages there read, once there are so many."""
    await discord.wait_for(lambda server: len(server.texts(channel)) >= count, PATIENCE)
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


async def letting_in(resources: Resources, person: int) -> None:
    """Whoever runs the bot lets somebody in who has asked."""
    async with resources.database.write() as tx:
        asked = {one.person: one.code for one in await people.everybody(tx, now=resources.database.clock())}
        assert await people.approve(tx, asked[str(person)], now=resources.database.clock())


def asked_of(model: MessagesServer) -> str:
    """Everything that the model has read so far."""
    return str([record.request.body for record in model.requests])


async def test_what_a_stranger_said_before_the_approval_is_not_answered_after_a_restart(
    discord: DiscordServer, ada: Person, programs: Programs, model: MessagesServer
) -> None:
    """In any channel, and edited or not: the words were not kept, and what was decided lasts."""
    here = ada.channel_id
    groups = [discord.channel("general"), await discord.thread(discord.channel("drinks"), "tea")]
    async with programs.run(access="pairing") as resources:
        await listening(discord)
        for place in (*groups, None):
            said = await ada.says("a secret word", place, mention=place is not None)
            await ada.edits(said, "another secret")
        await answers(discord, here, 1)
        await letting_in(resources, ada.id)
    await discord.wait_for(lambda server: not server.connected)
    async with programs.run(access="pairing"):
        await listening(discord)
        await ada.says("Now I am known.")
        assert (await answers(discord, here, 2))[1].startswith("Noted")
        for place in groups:
            before = len(discord.texts(place.id))
            await ada.says("Here too.", place, mention=True)
            await answers(discord, place.id, before + 1)
            assert len(discord.texts(place.id)) == before + 1
    assert len(discord.texts(here)) == 2
    assert "secret" not in asked_of(model)


async def test_what_came_too_fast_is_not_answered_after_a_restart(
    discord: DiscordServer, ada: Person, programs: Programs, model: MessagesServer
) -> None:
    here = ada.channel_id
    async with programs.run(rate={"person": 1}):
        await listening(discord)
        await ada.says("The first.")
        await answers(discord, here, 1)
        await ada.says("Too much of it.")
        assert "faster than I can follow" in (await answers(discord, here, 2))[1]
    await discord.wait_for(lambda server: not server.connected)
    async with programs.run(rate={"person": 2}):
        await listening(discord)
        await ada.says("The last.")
        await answers(discord, here, 3)
    assert len(discord.texts(here)) == 3
    assert "Too much" not in asked_of(model)


async def test_a_button_that_nobody_knows_any_more_is_answered_in_words(
    discord: DiscordServer, ada: Person, programs: Programs, model: MessagesServer
) -> None:
    """It stands under a message of an earlier version, or of another bot with this token."""
    here = ada.channel_id
    earlier = Discord(discord.token, api_base=discord.api_base, gateway=discord.gateway, commands=())
    address = Address("discord", str(here))
    (under,) = await earlier.deliver(
        Say(address, "Which?", "1", (Button("This", "choose:7"), Button("Old", "/vote 3")))
    )
    await earlier.close()
    async with programs.run():
        await listening(discord)
        for number, label in enumerate(("This", "Old"), 2):
            await ada.presses(int(under), label)
            assert (await answers(discord, here, number))[-1].startswith("That button does nothing any more.")
    assert not model.requests


async def test_the_command_that_lets_somebody_in_can_be_copied(
    discord: DiscordServer, ada: Person, programs: Programs
) -> None:
    async with programs.run(access="pairing"):
        await listening(discord)
        await ada.says("hello")
        [told] = await answers(discord, ada.channel_id, 1)
    code = told.split("Your code is ")[1].split(".")[0]
    assert f"`palimpsest pair approve {code}`" in told
    assert f"/pair {code} " in told
    assert "\\" not in told


async def waits(discord: DiscordServer, message: int) -> None:
    """The message is stored, and shows that it waits."""
    await discord.wait_for(lambda server: server.reactions(message), PATIENCE)


async def test_a_message_that_is_deleted_while_it_waits_was_never_said(
    discord: DiscordServer, ada: Person, programs: Programs, model: MessagesServer
) -> None:
    here = ada.channel_id
    model.hang()
    async with programs.run() as resources:
        await listening(discord)
        await ada.says("The first.")
        await discord.wait_for(lambda _: model.requests, PATIENCE)
        regretted = await ada.says("I regret this.", files=[("regret.txt", b"and this")])
        await waits(discord, regretted)
        await ada.edits(regretted, "I regret this, too.")
        await ada.deletes(regretted)
        await waits(discord, await ada.says("The last."))
        model.release()
        await answers(discord, here, 2)
        files = [path.name for path in resources.settings.data_dir.rglob("*.txt")]
    assert not files
    assert "regret" not in asked_of(model)
    assert "The last." in asked_of(model)
    async with programs.run():  # it is not brought back either
        await listening(discord)
        await discord.deliver_again(regretted)
        await ada.says("One more.")
        await answers(discord, here, 3)
    assert "regret" not in asked_of(model)


async def test_messages_that_a_moderator_takes_away_while_they_wait_are_not_answered(
    discord: DiscordServer, ada: Person, programs: Programs, model: MessagesServer
) -> None:
    general = discord.channel("general")
    model.hang()
    async with programs.run():
        await listening(discord)
        await ada.says("The first.", general, mention=True)
        await discord.wait_for(lambda _: model.requests, PATIENCE)
        gone = [await ada.says(f"Spam {number}.", general, mention=True) for number in range(3)]
        await waits(discord, gone[-1])
        await discord.purge(general, gone)
        model.release()
        await answers(discord, general.id, 1)
        await ada.says("Here.", general, mention=True)
        await answers(discord, general.id, 2)
    assert len(discord.texts(general.id)) == 2
    assert "Spam" not in asked_of(model)


async def test_the_model_is_told_that_what_it_has_read_was_deleted_also_while_the_program_was_down(
    discord: DiscordServer, ada: Person, programs: Programs, model: MessagesServer
) -> None:
    here = ada.channel_id
    async with programs.run():
        await listening(discord)
        first, second = await ada.says("My colour is teal."), 0
        await answers(discord, here, 1)
        second = await ada.says("My cat is Tom.")
        await answers(discord, here, 2)
        await ada.deletes(first)
        await ada.says("And now?")
        await answers(discord, here, 3)
    assert asked_of(model).count(DELETED) == 1
    await discord.wait_for(lambda server: not server.connected)
    await ada.deletes(second)
    async with programs.run():
        await listening(discord)
        await ada.says("And then?")
        await answers(discord, here, 4)
    last = str(model.requests[-1].request.body)
    assert "teal" in last
    assert "Tom" in last
    assert last.count(DELETED) == 2


async def test_where_it_is_so_set_deleted_words_leave_the_history(
    discord: DiscordServer, ada: Person, programs: Programs, model: MessagesServer
) -> None:
    here = ada.channel_id
    async with programs.run(deleted_messages="hide") as resources:
        await listening(discord)
        said = await ada.says("My colour is teal.", files=[("a.txt", b"turquoise")])
        await answers(discord, here, 1)
        await ada.deletes(said)
        await ada.says("And now?")
        await answers(discord, here, 2)
        await ada.says("/recall turquoise")
        assert "I find nothing" in (await answers(discord, here, 3))[-1]
        assert not [path for path in resources.settings.data_dir.rglob("a.txt") if path.read_bytes() == b"turquoise"]
    last = str(model.requests[-1].request.body)
    assert "turquoise" not in last
    assert "My colour is teal" not in last
    assert HIDDEN in last


async def test_deleted_words_leave_the_answers_that_quote_them(
    discord: DiscordServer, ada: Person, programs: Programs, model: MessagesServer
) -> None:
    """Also of what the bot knows by such an answer alone."""
    grace, general = discord.person(1002, "Grace"), discord.channel("general")
    async with programs.run(deleted_messages="hide"):
        await listening(discord)
        said = await ada.says("My colour is teal.", general)
        await grace.says("Is that so?", general, reply_to=said, mention=True)
        await answers(discord, general.id, 1)
        assert "> Ada (@ada): My colour is teal.\\n\\nGrace (@grace): Is that so?" in str(
            model.requests[-1].request.body
        )
        await ada.deletes(said)
        await grace.says("And now?", general, mention=True)
        await answers(discord, general.id, 2)
    last = str(model.requests[-1].request.body)
    assert "teal" not in last
    assert "> [removed]\\n\\nGrace (@grace): Is that so?" in last


async def test_an_answer_that_discord_refuses_is_told_plainly(
    discord: DiscordServer, ada: Person, programs: Programs
) -> None:
    discord.fail("create_message", 400, "Invalid Form Body", code=50035)
    async with programs.run():
        await listening(discord)
        await ada.says("hello")
        assert (await answers(discord, ada.channel_id, 1))[0].startswith("Noted (1).")


async def test_an_answer_that_discord_refuses_twice_comes_as_a_file(
    discord: DiscordServer, ada: Person, programs: Programs
) -> None:
    discord.fail("create_message", 400, "Invalid Form Body", times=None, code=50035, unless=IN_A_FILE)  # also drafts
    async with programs.run():
        await listening(discord)
        await ada.says("hello")
        assert await answers(discord, ada.channel_id, 1) == [IN_A_FILE]
        (message,) = discord.messages(ada.channel_id)
        assert [file.content[:10] for file in message.files] == [b"Noted (1)."]
        discord.clear_faults()
        await ada.says("and now?")
        assert (await answers(discord, ada.channel_id, 2))[1].startswith("Noted (2).")


async def test_an_answer_that_is_refused_as_a_file_too_is_at_least_said_to_be_there(
    discord: DiscordServer, ada: Person, programs: Programs
) -> None:
    discord.fail("create_message", 400, "Invalid Form Body", times=None, code=50035, unless=SORRY)
    async with programs.run():
        await listening(discord)
        await ada.says("hello")
        assert await answers(discord, ada.channel_id, 1) == [SORRY]


async def test_what_went_out_in_the_moment_of_a_crash_is_taken_away_where_nothing_is_left_to_say(
    discord: DiscordServer, ada: Person, programs: Programs
) -> None:
    async with programs.run() as resources:
        await listening(discord)
        await ada.says("hello")
        await answers(discord, ada.channel_id, 1)
        await ends_before_it_is_written_down(resources, "discord")
        await discord.wait_for(lambda server: not server.messages(ada.channel_id), PATIENCE)
        await ada.says("and now?")
        assert (await answers(discord, ada.channel_id, 1))[0].startswith("Noted (2).")
