"""The Discord server, seen by the real client."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable

import aiohttp
import discord
import pytest
import pytest_asyncio

from tests.servers.discord.client import Bot, library_at, running
from tests.servers.discord.server import Ack, DiscordServer, Message, Person


@pytest_asyncio.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        with library_at(server):
            yield server
        assert server.unknown_calls == []


@pytest.fixture
def ada(server: DiscordServer) -> Person:
    return server.person(id=1001, name="Ada")


@pytest_asyncio.fixture
async def bot(server: DiscordServer) -> AsyncIterator[Bot]:
    async with running(server, Bot()) as bot:
        yield bot


async def sent(server: DiscordServer, channel_id: int, condition: Callable[[list[str]], bool]) -> list[Message]:
    await server.wait_for(lambda s: condition(s.texts(channel_id)))
    return server.messages(channel_id)


def undo() -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="Undo", custom_id="undo:1"))
    return view


async def test_a_message_is_answered_in_place(server: DiscordServer, bot: Bot, ada: Person) -> None:
    number = await ada.says("hello")
    (message,) = await bot.hears(1)
    assert (message.id, message.content, message.author.display_name) == (number, "hello", "Ada")
    async with message.channel.typing():
        reply = await message.reply("Thinking")
    await reply.edit(content="Hello, Ada", view=undo())
    await message.add_reaction("👀")
    (shown,) = server.messages(ada.channel_id)
    assert (shown.text, shown.edits, shown.reply_to, shown.labels) == ("Hello, Ada", ["Hello, Ada"], number, ["Undo"])
    assert server.texts(ada.channel_id) == ["Hello, Ada"]
    assert server.reactions(number) == ["👀"]
    assert len(server.typing(ada.channel_id)) == 1
    await message.remove_reaction("👀", discord.Object(server.world.bot.id))
    await reply.delete()
    assert (server.messages(ada.channel_id), server.reactions(number)) == ([], [])


async def test_people_edit_and_delete_what_they_said(server: DiscordServer, bot: Bot, ada: Person) -> None:
    number = await ada.says("helo")
    await bot.hears(1)
    edited = bot.wait_for("message_edit", timeout=5)  # listens from here on
    await ada.edits(number, "hello")
    assert (await edited)[1].content == "hello"
    deleted = bot.wait_for("raw_message_delete", timeout=5)
    await ada.deletes(number)
    assert (await deleted).message_id == number


async def test_channels_and_threads_of_the_guild_are_places_too(server: DiscordServer, ada: Person) -> None:
    general = server.channel("general")
    early = await ada.says("before the bot came", general)
    async with running(server, Bot()) as bot:
        await bot.wait_until_ready()
        thread = await server.thread(general, "side")
        await ada.says("look", general, mention=True)
        await ada.says("here", thread)
        first, second = await bot.hears(2)
        assert (first.channel.id, [user.id for user in first.mentions]) == (general.id, [server.world.bot.id])
        assert isinstance(second.channel, discord.Thread)
        assert isinstance(first.channel, discord.TextChannel)
        assert [message.id async for message in first.channel.history(before=first)] == [early]
        made = await first.create_thread(name="more")
        await made.send("a thread")
        assert server.texts(made.id) == ["a thread"]
        assert server.world.channels[made.id].parent_id == general.id
    async with running(server, Bot()) as bot:
        await bot.wait_until_ready()
        channel = bot.get_channel(general.id)
        assert isinstance(channel, discord.TextChannel)
        assert channel.last_message_id == first.id
        assert {thread.name for thread in channel.threads} == {"side", "more"}


async def test_a_dropped_client_resumes_and_misses_nothing(server: DiscordServer, bot: Bot, ada: Person) -> None:
    for count, code in enumerate([4000, 1000, None], start=1):
        await server.drop(code)
        await ada.says(f"missed {count}")
        await bot.hears(count)
        assert server.sockets.resumes == count
    await server.ask_to_reconnect()
    await ada.says("missed 4")
    await bot.hears(4)
    assert bot.texts == ["missed 1", "missed 2", "missed 3", "missed 4"]
    assert server.sockets.identifies == 1


async def test_a_forgotten_session_begins_anew_and_history_has_the_rest(
    server: DiscordServer, bot: Bot, ada: Person
) -> None:
    seen = await ada.says("seen")
    (message,) = await bot.hears(1)
    server.forget_sessions()
    await server.drop()
    await ada.says("missed")
    await server.wait_for(lambda s: s.sockets.identifies == 2)
    await ada.says("later")
    assert [m.content for m in await bot.hears(2)] == ["seen", "later"]
    after = [m.content async for m in message.channel.history(after=discord.Object(seen))]
    assert after == ["missed", "later"]


async def test_a_client_comes_back_when_the_platform_does(server: DiscordServer, bot: Bot, ada: Person) -> None:
    server.down = True
    await server.drop(None)
    await ada.says("missed")
    with pytest.raises(aiohttp.ClientConnectionError):
        await bot.fetch_user(ada.id)
    server.down = False
    await bot.hears(1)
    assert bot.texts == ["missed"]


async def test_a_wrong_token_and_a_forbidden_intent_are_refused(server: DiscordServer) -> None:
    async with Bot() as bot:
        with pytest.raises(discord.LoginFailure):
            await bot.login("another")
    server.message_content_allowed = False
    async with Bot() as bot:
        with pytest.raises(discord.PrivilegedIntentsRequired):
            await bot.start(server.token)
    async with Bot() as bot:
        await bot.login(server.token)
        bot.http.token = "another"
        with pytest.raises(discord.ConnectionClosed) as caught:
            await bot.connect()
        assert caught.value.code == 4004


async def test_without_the_intent_only_some_messages_have_contents(server: DiscordServer, ada: Person) -> None:
    server.message_content_allowed = False
    general = server.channel()
    async with running(server, Bot(contents=False)) as bot:
        await ada.says("secret", general, files=[("a.txt", b"a")])
        await ada.says("open", general, mention=True)
        await ada.says("direct")
        secret, *_ = await bot.hears(3)
        assert bot.texts == ["", f"<@{server.world.bot.id}> open", "direct"]
        assert secret.attachments == []
        assert [m.content async for m in secret.channel.history(limit=1, before=bot.heard[1])] == [""]


async def test_a_command_is_deferred_and_its_answer_edited(server: DiscordServer, bot: Bot, ada: Person) -> None:
    @bot.tree.command(name="compact", description="Make room")
    async def compact(interaction: discord.Interaction, focus: str) -> None:
        await interaction.response.defer(thinking=True)
        assert server.texts(ada.channel_id) == []
        await interaction.edit_original_response(content=f"Kept {focus}")
        await interaction.followup.send("And more")

    await bot.tree.sync()
    assert [command["name"] for command in server.commands] == ["compact"]
    with pytest.raises(LookupError, match="focus"):
        await ada.slash("compact")
    with pytest.raises(LookupError, match="no command 'expand'"):
        await ada.slash("expand")
    interaction = await ada.slash("compact", {"focus": "names"})
    await sent(server, ada.channel_id, lambda texts: texts == ["Kept names", "And more"])
    assert (interaction.acked, interaction.name) == (Ack.DEFERRED_MESSAGE, "compact")
    assert interaction.acked_after is not None
    assert interaction.acked_after < 3


async def test_the_first_follow_up_is_the_deferred_answer(server: DiscordServer, bot: Bot, ada: Person) -> None:
    @bot.tree.command(name="status", description="Tell")
    async def status(interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True)
        await interaction.followup.send("one")
        await interaction.followup.send("two")
        await interaction.delete_original_response()

    await bot.tree.sync()
    interaction = await ada.slash("status", channel=server.channel())
    await server.wait_for(lambda s: s.texts(interaction.channel_id) == ["two"])
    assert server.message(interaction.original_id or 0).ephemeral
    assert interaction.followups == [server.messages(interaction.channel_id)[0].id]


async def test_a_button_is_pressed_by_its_label(server: DiscordServer, bot: Bot, ada: Person) -> None:
    await ada.says("hello")
    (message,) = await bot.hears(1)
    answer = await message.channel.send("done", view=undo())
    with pytest.raises(LookupError, match="no button 'Redo'"):
        await ada.presses(answer.id, "Redo")
    pressed = await ada.presses(answer.id, "Undo")
    interaction = await asyncio.wait_for(bot.asked.get(), 5)
    await interaction.response.edit_message(content="undone", view=None)
    (shown,) = server.messages(ada.channel_id)
    assert (shown.text, shown.buttons, pressed.acked) == ("undone", [], Ack.UPDATE)
    with pytest.raises(discord.HTTPException) as caught:
        await interaction.followup.send("x" * 2001)
    assert caught.value.code == 50035


async def test_an_interaction_is_answered_once_and_in_time(server: DiscordServer, bot: Bot, ada: Person) -> None:
    await ada.says("hello")
    (message,) = await bot.hears(1)
    answer = await message.channel.send("done", view=undo())
    first = await ada.presses(answer.id, "Undo")
    interaction = await asyncio.wait_for(bot.asked.get(), 5)
    with pytest.raises(discord.NotFound) as missing:
        await interaction.followup.send("before the answer")
    assert missing.value.code == 10015
    await interaction.response.defer()
    async with aiohttp.ClientSession() as session:
        url = f"{server.api_base}/interactions/{first.id}/{first.token}/callback"
        async with session.post(url, json={"type": 6}) as again:
            assert (again.status, (await again.json())["code"]) == (400, 40060)
    server.expire_tokens()
    with pytest.raises(discord.HTTPException) as caught:
        await interaction.edit_original_response(content="too late")
    assert (caught.value.status, caught.value.code) == (401, 50027)
    server.interaction_deadline = 0.0
    late = await ada.presses(answer.id, "Undo")
    interaction = await asyncio.wait_for(bot.asked.get(), 5)
    with pytest.raises(discord.NotFound) as missing:
        await interaction.response.defer()
    assert (missing.value.code, late.acked) == (10062, None)


async def test_an_enforced_nonce_says_it_once(server: DiscordServer, bot: Bot, ada: Person) -> None:
    await ada.says("hello")
    (message,) = await bot.hears(1)
    server.lose_answer("create_message")
    with pytest.raises(aiohttp.ClientConnectionError):
        await message.channel.send("one", nonce="n-1")
    assert server.calls[-1].status == 0
    again = await message.channel.send("one", nonce="n-1")
    assert [m.id for m in server.messages(ada.channel_id)] == [again.id]
    assert again.nonce == "n-1"
    assert (await message.channel.fetch_message(again.id)).nonce is None
    await message.channel.send("one", nonce="n-2")
    server.nonce_window = 0.0
    await message.channel.send("one", nonce="n-2")
    assert len(server.texts(ada.channel_id)) == 3


async def test_rate_limits_are_waited_for(server: DiscordServer, bot: Bot, ada: Person) -> None:
    await ada.says("hello")
    (message,) = await bot.hears(1)
    server.limit("create_message", 0.01, scope="global")
    server.limit("create_message", 0.01, channel=ada.channel_id)
    await message.channel.send("one")
    assert [call.status for call in server.calls_of("create_message")] == [429, 429, 200]
    server.flood_control = 0.05
    await message.channel.send("two")
    await message.channel.send("three")
    first, second = server.messages(ada.channel_id)[1:]
    assert second.at - first.at >= 0.05
    assert server.calls_of("create_message")[-2].status == 429
    server.clear_faults()
    server.fail("create_message", 503, "no")
    with pytest.raises(discord.DiscordServerError):
        await message.channel.send("four")
    assert len(server.texts(ada.channel_id)) == 3


async def test_files_go_both_ways(server: DiscordServer, bot: Bot, ada: Person) -> None:
    await ada.says("look", files=[("a.png", b"picture"), ("b.txt", b"text")])
    (message,) = await bot.hears(1)
    assert [await file.read() for file in message.attachments] == [b"picture", b"text"]
    assert message.attachments[0].content_type == "image/png"
    answer = await message.channel.send(file=discord.File(io.BytesIO(b"log"), "log.txt", description="the log"))
    (shown,) = server.messages(ada.channel_id)
    assert [(f.filename, f.content, f.description) for f in shown.files] == [("log.txt", b"log", "the log")]
    assert server.files[shown.files[0].id].content == b"log"
    await answer.edit(attachments=[answer.attachments[0], discord.File(io.BytesIO(b"more"), "more.txt")])
    assert [file.filename for file in shown.files] == ["log.txt", "more.txt"]
    server.largest_file = 2
    with pytest.raises(discord.HTTPException) as caught:
        await message.channel.send(file=discord.File(io.BytesIO(b"log"), "log.txt"))
    assert (caught.value.status, caught.value.code) == (413, 40005)
    server.expire_links()
    with pytest.raises(discord.NotFound):
        await message.attachments[0].read()
    fresh = await message.channel.fetch_message(message.id)
    assert await fresh.attachments[0].read() == b"picture"


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (None, {"@everyone", "<@1001>", "<@&77>"}),
        (discord.AllowedMentions.none(), set()),
        (discord.AllowedMentions(everyone=False, users=True, roles=False), {"<@1001>"}),
        (discord.AllowedMentions(everyone=True, users=False, roles=[discord.Object(77)]), {"@everyone", "<@&77>"}),
    ],
)
async def test_mentions_notify_as_far_as_they_are_allowed(
    server: DiscordServer, bot: Bot, ada: Person, allowed: discord.AllowedMentions, expected: set[str]
) -> None:
    general = server.channel()
    await ada.says("hello", general)
    (message,) = await bot.hears(1)
    await message.channel.send("@everyone <@1001> <@999> <@&77> `@here`", allowed_mentions=allowed)
    assert server.messages(general.id)[0].pinged == expected
    await message.reply("no ping", mention_author=False)
    assert server.messages(general.id)[1].pinged == set()


async def test_a_dead_bots_channel_can_be_read_back(server: DiscordServer, ada: Person) -> None:
    numbers = [await ada.says(str(count)) for count in range(5)]
    assert numbers == sorted(set(numbers))
    async with running(server, Bot()) as bot:
        channel = await (await bot.fetch_user(ada.id)).create_dm()
        assert channel.id == ada.channel_id
        history = [m.content async for m in channel.history(after=discord.Object(numbers[1]), limit=2)]
        assert history == ["2", "3"]


async def test_an_event_can_come_twice(server: DiscordServer, bot: Bot, ada: Person) -> None:
    number = await ada.says("hello")
    await server.deliver_again(number)
    assert [message.id for message in await bot.hears(2)] == [number, number]
