"""What a delivery raises when Discord does not take it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.errors import ChatClosed, DeliveryDelayed, DeliveryRefused, DeliveryUncertain
from bot.messages import Address, Button, Say
from tests.connectors.discord.rig import Rig

LONG = "\n\n".join(f"Paragraph {number} {'with some words ' * 40}".strip() for number in range(8))


UNDO = (Button("Undo", "/undo"),)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


@pytest.fixture
def channel(rig: Rig) -> int:
    return rig.ada.channel_id


def place(rig: Rig, name: str = "general") -> Address:
    return Address("discord", str(rig.server.channel(name).id))


async def test_a_person_who_blocked_the_bot_closes_the_chat(rig: Rig) -> None:
    rig.server.blocks(rig.ada)

    with pytest.raises(ChatClosed):
        await rig.discord.deliver(Say(rig.here, "hello?", "1"))


async def test_a_channel_that_is_closed_to_us_closes_the_chat(rig: Rig) -> None:
    rig.server.deny(rig.server.channel("general").id, "access")

    with pytest.raises(ChatClosed):
        await rig.discord.deliver(Say(place(rig), "hello?", "1"))


async def test_a_permission_that_one_message_lacks_does_not_close_the_chat(rig: Rig) -> None:
    rig.server.deny(rig.server.channel("general").id, "permissions")

    with pytest.raises(DeliveryRefused) as refused:
        await rig.discord.deliver(Say(place(rig), "hello?", "1"))
    assert not isinstance(refused.value, ChatClosed)


async def test_a_channel_that_is_gone_closes_the_chat(rig: Rig) -> None:
    with pytest.raises(ChatClosed):
        await rig.discord.deliver(Say(Address("discord", "1234"), "hello?", "1", answers="55"))


async def test_a_thread_that_is_gone_leaves_its_channel_open(rig: Rig) -> None:
    general = rig.server.channel("general")
    with pytest.raises(DeliveryRefused) as caught:
        await rig.discord.deliver(Say(Address("discord", str(general.id), "1234"), "hello?", "1"))

    assert not isinstance(caught.value, ChatClosed)


async def test_a_bad_request_is_refused(rig: Rig) -> None:
    rig.server.fail("create_message", 400, "Invalid Form Body", code=50035)

    with pytest.raises(DeliveryRefused):
        await rig.discord.deliver(Say(rig.here, "hello?", "1"))


async def test_a_long_rate_limit_is_waited_for_outside(rig: Rig) -> None:
    rig.server.limit("create_message", 40.0)

    with pytest.raises(DeliveryDelayed) as caught:
        await rig.discord.deliver(Say(rig.here, "hello?", "1"))
    assert caught.value.retry_after == pytest.approx(40.0)


async def test_in_a_long_window_what_is_left_of_it_is_said(rig: Rig, channel: int) -> None:
    rig.server.window("create_message", 4, 60.0)

    for number in range(4):
        await rig.discord.deliver(Say(rig.here, f"message {number}", str(number)))
    for token in ("more", "and more"):
        with pytest.raises(DeliveryDelayed) as caught:
            await rig.discord.deliver(Say(rig.here, "one too many", token))
        assert 30 < caught.value.retry_after <= 60

    assert len(rig.server.texts(channel)) == 4
    assert {call.status for call in rig.server.calls_of("create_message")} == {200}, "Discord had to refuse nothing"


async def test_in_a_long_window_several_may_go_out_at_once(rig: Rig, channel: int) -> None:
    rig.server.window("create_message", 3, 60.0)

    await asyncio.gather(*(rig.discord.deliver(Say(rig.here, f"message {n}", str(n))) for n in range(3)))

    assert len(rig.server.texts(channel)) == 3


async def test_a_short_window_is_waited_for_by_whoever_has_to_wait(rig: Rig, channel: int) -> None:
    rig.server.window("create_message", 1, 0.3)

    await asyncio.gather(*(rig.discord.deliver(Say(rig.here, f"message {n}", str(n))) for n in range(3)))

    assert len(rig.server.texts(channel)) == 3
    assert {call.status for call in rig.server.calls_of("create_message")} == {200}


async def test_a_server_that_says_nothing_of_limits_is_asked_again_after_a_failure(rig: Rig, channel: int) -> None:
    rig.server.fail("create_message", 400, "Invalid Form Body", code=50035)
    with pytest.raises(DeliveryRefused):
        await rig.discord.deliver(Say(rig.here, "hello?", "1"))

    await rig.discord.deliver(Say(rig.here, "hello!", "2"))
    assert rig.server.texts(channel) == ["hello!"]


@pytest.mark.parametrize(("status", "said"), [(404, "404: Not Found"), (409, "Conflict")])
async def test_a_server_that_is_starting_delays(rig: Rig, status: int, said: str) -> None:
    rig.server.fail("create_message", status, said)

    with pytest.raises(DeliveryDelayed):
        await rig.discord.deliver(Say(rig.here, "hello?", "1"))


async def test_a_failing_server_leaves_it_uncertain(rig: Rig) -> None:
    rig.server.fail("create_message", 503, "Service Unavailable")

    with pytest.raises(DeliveryUncertain):
        await rig.discord.deliver(Say(rig.here, "hello?", "1"))


async def test_a_server_that_cannot_be_reached_delays(rig: Rig) -> None:
    here = rig.here
    await rig.server.__aexit__()
    try:
        with pytest.raises(DeliveryDelayed):
            await rig.discord.deliver(Say(here, "hello?", "1"))
    finally:
        rig.server.port = 0
        await rig.server.__aenter__()


async def test_a_token_that_was_taken_back_delays(rig: Rig) -> None:
    discord = rig.connector(token="some.other.token")

    with pytest.raises(DeliveryDelayed) as caught:
        await discord.deliver(Say(rig.here, "hello?", "1"))
    assert "some.other.token" not in str(caught.value)
    await discord.close()


async def test_direct_channels_are_edited_faster(rig: Rig) -> None:
    async with rig.running():
        await rig.ada.says("hello")
        await rig.stored(1)

    assert rig.discord.pace(rig.here) == 1.2
    assert rig.discord.pace(place(rig)) == 1.5
    assert not rig.discord.drafts(rig.here)
