"""Random replies, in Markdown and worse, all the way to strict servers: each is taken at once, and people see it.

``REPLIES=2000`` sends a thousand of them and not 100.
"""

from __future__ import annotations

from bot.messages import Say
from connectors.telegram import Telegram
from connectors.text import for_discord
from tests.connectors.discord.rig import Rig
from tests.connectors.telegram.case import say
from tests.servers.telegram.server import BotApiServer, Person
from tests.unit import discord_reader
from tests.unit.replies import COUNT, reply
from tests.unit.visible import bare, is_read_otherwise, visible, without_addresses


def is_whole(shown: str, seed: int) -> bool:
    """Whether people see all of this reply. Nothing to see is said to be empty."""
    wanted = visible(reply(seed))
    same = without_addresses(bare(shown), reply(seed)) == without_addresses(wanted, reply(seed))
    return same or is_read_otherwise(reply(seed)) or (not wanted and "empty reply" in shown)


async def test_telegram_takes_every_reply_as_it_is_sent(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    server.knows_rich = False  # or tables would be read in another form
    for seed in range(COUNT // 2):
        before = len(server.messages(ada.id))
        await telegram.deliver(say(reply(seed), token=str(seed + 1)))

        sent = server.messages(ada.id)[before:]
        assert is_whole("".join(message.text for message in sent), seed), f"seed {seed}"
    assert {call.status for call in server.calls if call.method == "sendMessage"} == {200}


async def test_telegram_takes_every_rich_reply(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    for seed in range(COUNT // 2):
        await telegram.deliver(say(reply(seed), token=str(seed + 1)))
    rich = server.calls_of("sendRichMessage")
    assert rich
    assert {call.status for call in [*rich, *server.calls_of("sendMessage")]} == {200}


async def test_discord_takes_every_reply_as_it_is_sent() -> None:
    async with Rig() as rig:
        channel = rig.ada.channel_id
        for seed in range(COUNT // 2):
            before = len(rig.server.messages(channel))
            await rig.discord.deliver(Say(rig.here, reply(seed), str(seed + 1)))

            sent = rig.server.messages(channel)[before:]
            shown = "".join(discord_reader.read(message.text).text for message in sent)
            assert is_whole(shown, seed), f"seed {seed}"
            assert len(sent) == max(1, len(for_discord(reply(seed))))
        assert rig.server.unknown_calls == []
