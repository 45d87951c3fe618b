"""What is no plain text: stickers, forwarded messages, roles, threads nobody described."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.messages import Address
from tests.connectors.discord.rig import Rig
from tests.servers.discord.records import Channel, ChannelKind, Message
from tests.servers.discord.sessions import Event
from tests.servers.discord.world import GUILD_ID


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


async def publish(rig: Rig, channel_id: int, **more: Any) -> None:
    """A message of Ada's with fields that the server does not make by itself."""
    world = rig.server.world
    message = Message(world.ids.next(), channel_id, world.people[rig.ada.id], more.pop("content", ""))
    shape = rig.server.shapes.message(world.add_message(message)) | more
    if not world.channels[channel_id].direct:
        shape |= {"guild_id": str(GUILD_ID), "member": rig.server.shapes.member()}
    rig.server.sessions.publish(Event("MESSAGE_CREATE", shape))


FORWARDED: dict[str, Any] = {
    "type": 0,
    "content": "the news",
    "timestamp": "2026-01-01T00:00:00+00:00",
    "edited_timestamp": None,
    "flags": 0,
    "mentions": [],
    "mention_roles": [],
    "embeds": [{"type": "rich", "title": "A title", "description": "and more"}],
    "attachments": [{"id": "7", "filename": "a.txt", "size": 1, "url": "http://x/a", "proxy_url": "http://x/a"}],
}


POLL: dict[str, Any] = {
    "question": {"text": "Tea?"},
    "answers": [{"answer_id": 1, "poll_media": {"text": "yes"}}, {"answer_id": 2, "poll_media": {"text": "no"}}],
    "expiry": "2026-01-01T00:00:00+00:00",
    "allow_multiselect": False,
    "layout_type": 1,
}


async def test_what_is_no_text_is_named_in_brackets(rig: Rig) -> None:
    async with rig.running():
        await publish(rig, rig.ada.channel_id, sticker_items=[{"id": "5", "name": "Wave", "format_type": 1}])
        await publish(rig, rig.ada.channel_id, content="Well?", poll=POLL)
        reference = {"type": 1, "channel_id": "9", "message_id": "8"}
        await publish(rig, rig.ada.channel_id, message_reference=reference, message_snapshots=[{"message": FORWARDED}])
        await rig.stored(3)

    assert rig.intake.texts == [
        "[sticker: Wave]",
        "Well?\n[poll: Tea? (yes / no)]",
        "[forwarded]\n> the news\n> A title - and more",
    ]
    assert [attachment.name for attachment in rig.intake.last.attachments] == ["a.txt"]


async def test_what_nobody_said_is_not_stored(rig: Rig) -> None:
    async with rig.running():
        await publish(rig, rig.ada.channel_id, type=6, content="pinned a message")
        await publish(rig, rig.ada.channel_id, webhook_id="77", content="from a webhook")
        await rig.ada.says("hello")
        await rig.stored(1)

    assert rig.intake.texts == ["hello"]


async def test_a_mention_of_the_bots_role_is_one_of_the_bot(rig: Rig) -> None:
    general = rig.server.channel("general")
    me = rig.server.world.bot.id
    guild: dict[str, Any] = dict(rig.server.shapes.guild())
    role = guild["roles"][0] | {"id": "78", "name": "palimpsest", "managed": True, "tags": {"bot_id": str(me)}}
    async with rig.running():
        rig.server.sessions.publish(Event("GUILD_ROLE_CREATE", {"guild_id": guild["id"], "role": role}))
        await publish(rig, general.id, content="<@&78> hello", mention_roles=["78"])
        await rig.stored(1)

    assert rig.intake.texts == ["hello"]


async def test_a_thread_that_the_gateway_did_not_describe_is_looked_up(rig: Rig) -> None:
    general = rig.server.channel("general")
    async with rig.running():
        old = rig.server.world.add_channel(Channel(4711, ChannelKind.THREAD, "old", general.id, owner_id=1))
        await rig.ada.says("hello again", old, mention=True)
        await rig.stored(1)

    assert rig.intake.last.address == Address("discord", str(general.id), "4711")
