"""What was said while the Discord connector was away is read back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.messages import Address
from connectors.discord.arrivals import Arrivals
from connectors.discord.receiver import Arrival, Said
from tests.connectors.discord.rig import Rig


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


async def met(rig: Rig) -> None:
    """Ada and the bot have talked."""
    async with rig.running():
        await rig.ada.says("hello")
        await rig.stored(1)
    rig.intake.known_chats = [rig.here]
    await rig.restart()


async def test_the_first_start_reads_nothing_back(rig: Rig) -> None:
    await rig.ada.says("is anybody there?")
    async with rig.running():
        await rig.ada.says("now?")
        await rig.stored(1)

    assert rig.intake.texts == ["now?"]
    assert not rig.server.calls_of("get_messages")


async def test_what_was_said_meanwhile_is_stored_in_order_before_what_comes_now(rig: Rig) -> None:
    general = rig.server.channel("general")
    thread = await rig.server.thread(general, "cats")
    await met(rig)
    await rig.ada.says("one")
    await rig.ada.says("two", general, mention=True)
    await rig.ada.says("not for you", general)
    await rig.ada.says("three", thread, mention=True)
    await rig.ada.says("four")
    rig.server.slow("get_messages", 0.1)
    async with rig.running():
        await rig.ada.says("five")
        await rig.stored(6)

    assert rig.intake.texts == ["hello", "one", "two", "three", "four", "five"]
    assert rig.intake.inbounds[3].address == Address("discord", str(general.id), str(thread.id))
    assert rig.intake.saved_cursor == rig.intake.last.ref


async def test_more_than_a_page_is_read_back(rig: Rig) -> None:
    await met(rig)
    for number in range(230):
        await rig.ada.says(f"message {number}")
    async with rig.running():
        await rig.stored(231)

    assert rig.intake.texts[1:] == [f"message {number}" for number in range(230)]


async def test_what_overlaps_has_the_same_keys(rig: Rig) -> None:
    await met(rig)
    async with rig.running():
        await rig.intake.until(lambda: rig.intake.again)

    assert rig.intake.texts == ["hello"]


async def test_a_reconnection_that_could_not_resume_reads_back(rig: Rig) -> None:
    await met(rig)
    async with rig.running():
        rig.server.down = True
        await rig.server.drop(None)
        rig.server.forget_sessions()
        await rig.server.wait_for(lambda server: not server.sockets.connections)
        await rig.ada.says("anybody?")
        rig.server.down = False
        await rig.stored(2)

    assert rig.intake.texts == ["hello", "anybody?"]


async def test_an_edit_that_was_made_meanwhile_is_read_back(rig: Rig) -> None:
    await met(rig)
    said = rig.intake.last
    await rig.ada.edits(int(said.ref), "hullo")
    async with rig.running():
        await rig.stored(2)

    assert (rig.intake.last.kind, rig.intake.last.text, rig.intake.last.edits) == ("edit", "hullo", said.key)


async def test_a_channel_that_cannot_be_read_any_more_is_skipped(rig: Rig) -> None:
    general = rig.server.channel("general")
    await met(rig)
    rig.intake.known_chats += [Address("discord", str(general.id)), Address("discord", "1234")]
    rig.server.deny(general.id)
    await rig.ada.says("still here")
    async with rig.running():
        await rig.stored(2)

    assert rig.intake.texts == ["hello", "still here"]


async def test_a_channel_that_cannot_be_read_just_now_is_read_later(rig: Rig) -> None:
    await met(rig)
    await rig.ada.says("still here")
    rig.server.fail("get_messages", 503, "Service Unavailable", times=2)
    async with rig.running():
        await rig.stored(2)

    assert rig.intake.texts == ["hello", "still here"]
    assert len(rig.pauses.seconds) == 2


async def test_what_was_missed_is_read_back_however_long_the_database_is_away(rig: Rig) -> None:
    await met(rig)
    await rig.ada.says("still here")
    rig.intake.refusals = 9
    async with rig.running():
        await rig.stored(2)

    assert rig.intake.texts == ["hello", "still here"]
    assert len(rig.intake.waits) == 9


async def test_what_could_not_be_read_back_for_long_is_read_by_the_next_session(rig: Rig) -> None:
    await met(rig)
    await rig.ada.says("missed")
    before = rig.intake.saved_cursor
    rig.server.fail("get_messages", 503, "Service Unavailable", times=5)
    async with rig.running():
        await rig.pauses.wait_for(lambda pauses: len(pauses.seconds) == 4)
        await rig.ada.says("said later")
        await rig.stored(2)
    assert (rig.intake.texts, rig.intake.saved_cursor) == (["hello", "said later"], before)

    await rig.restart()
    async with rig.running():
        await rig.stored(3)
    assert sorted(rig.intake.texts) == ["hello", "missed", "said later"]


async def test_the_cursor_stays_while_something_is_still_to_be_read_back(rig: Rig) -> None:
    await met(rig)
    await rig.ada.says("missed")
    before = rig.intake.saved_cursor
    rig.intake.listing.clear()
    async with rig.running():
        await rig.intake.until(lambda: rig.intake.asked)
        await rig.ada.says("said later")
    assert rig.intake.saved_cursor == before

    await rig.restart()
    rig.intake.listing.set()
    async with rig.running():
        await rig.stored(3)
    assert rig.intake.texts == ["hello", "missed", "said later"]


async def test_the_cursor_follows_what_is_not_for_us(rig: Rig) -> None:
    general = rig.server.channel("general")
    async with rig.running():
        before = int(rig.intake.saved_cursor or 0)
        rig.server.world.ids._last += 61_000 << 22
        message = await rig.ada.says("among ourselves", general)
        await rig.intake.until(lambda: int(rig.intake.saved_cursor or 0) > before)

    assert rig.intake.saved_cursor == str(message)
    assert not rig.intake.inbounds


async def test_what_there_is_no_room_for_while_nothing_can_be_stored_is_read_back(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, said, all_said = Arrivals.put, list[Arrival](), asyncio.Event()

    def note(arrivals: Arrivals, arrival: Arrival) -> None:
        put(arrivals, arrival)
        said.append(arrival)
        if sum(isinstance(one, Said) for one in said) == 10:
            all_said.set()

    await met(rig)
    monkeypatch.setattr(Arrivals, "most_queued", 2)
    monkeypatch.setattr(Arrivals, "put", note)
    async with rig.running():
        await rig.ada.says("one")
        await rig.stored(2)
        rig.intake.open.clear()
        read_back = len(rig.server.calls_of("get_messages"))
        for number in range(9):
            await rig.ada.says(f"message {number}")
        await all_said.wait()
        rig.intake.open.set()
        await rig.stored(11)
        assert len(rig.server.calls_of("get_messages")) > read_back

    assert rig.intake.texts == ["hello", "one", *(f"message {number}" for number in range(9))]
    assert rig.intake.saved_cursor == rig.intake.last.ref


async def test_what_was_deleted_meanwhile_is_told(rig: Rig) -> None:
    await met(rig)
    gone = int(rig.intake.last.ref)
    await rig.ada.deletes(gone)
    async with rig.running():
        await rig.ada.says("what did I say?")
        await rig.stored(3)

    deleted = rig.intake.inbounds[1]
    assert (deleted.kind, deleted.edits, deleted.order) == ("delete", rig.intake.inbounds[0].key, gone)


async def test_a_channel_whose_past_cannot_be_read_any_more_has_lost_nothing(rig: Rig) -> None:
    """Discord then gives an empty one."""
    general = rig.server.channel("general")
    async with rig.running():
        await rig.ada.says("hello", general, mention=True)
        await rig.stored(1)
    rig.intake.known_chats = [rig.intake.last.address]
    await rig.restart()
    rig.server.deny(general.id, "access")
    async with rig.running():
        await rig.ada.says("and here?")
        await rig.stored(2)

    assert [one.kind for one in rig.intake.inbounds] == ["message", "message"]


async def test_what_lies_further_back_than_was_read_is_not_taken_for_deleted(rig: Rig) -> None:
    async with rig.running():
        for number in range(120):
            await rig.ada.says(f"message {number}")
        await rig.stored(120)
    rig.intake.known_chats = [rig.here]
    await rig.restart()
    gone = int(rig.intake.inbounds[-5].ref)
    rig.intake.saved_cursor = str(int(rig.intake.saved_cursor or 0) + (10 * 60_000 << 22))  # all of it is long ago
    await rig.ada.deletes(gone)
    async with rig.running():
        await rig.stored(121)

    assert [one.order for one in rig.intake.inbounds if one.kind == "delete"] == [gone]


@pytest.mark.parametrize("odd", ["author", "text"])
async def test_a_message_that_cannot_be_read_holds_up_nothing_that_was_said_meanwhile(rig: Rig, odd: str) -> None:
    await met(rig)
    await rig.ada.says("before")
    strange = await rig.ada.says("strange")
    await rig.ada.says("after")
    if odd == "text":
        rig.server.message(strange).text = 5  # type: ignore[assignment]
    else:
        rig.server.strange_messages.add(strange)
    async with rig.running():
        await rig.stored(3)
        await rig.ada.says("now")
        await rig.intake.until(lambda: rig.intake.texts[-1] == "now")

    assert [text for text in rig.intake.texts if text] == ["hello", "before", "after", "now"]
    assert rig.intake.saved_cursor == rig.intake.last.ref, "it does not begin from there again"
    assert [one.key.endswith(str(strange)) for one in rig.intake.inbounds if one.is_unread] == [True] * (odd == "text")
