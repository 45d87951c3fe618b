"""The outbox: what people are to see, and what is known of what they see."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.messages import Address, Button, Inbound
from bot.store import Database, Tx, inbox, outbox

HERE = Address("room", "1")
UNDO = Button("Undo", "/undo")


async def pending(tx: Tx, chat: str = "1") -> list[tuple[str, int, int]]:
    return [(row.text, row.version, row.delivered) for row in await outbox.pending(tx, "room", chat)]


async def test_what_the_program_says_is_pending_until_it_is_delivered(database: Database) -> None:
    async with database.write() as tx:
        slot = await outbox.say(tx, HERE, "hello", buttons=[UNDO], now=1.0)
        [row] = await outbox.pending(tx, "room", "1")
        assert (row.id, row.address, row.text, row.kind, row.buttons) == (slot, HERE, "hello", outbox.NOTICE, (UNDO,))
        await outbox.delivered(tx, slot, row.version, ["77"])
        assert await pending(tx) == []
        assert await outbox.refs_in_chat(tx, HERE) == {"77"}


async def test_a_slot_is_pending_only_once_it_is_filled(database: Database) -> None:
    async with database.write() as tx:
        slot = await outbox.open_slot(tx, HERE, now=1.0)
        assert await pending(tx) == []
        assert (await outbox.get_open(tx, slot, HERE)) is not None
        assert await outbox.undelivered(tx, HERE.agent_id) == 1
        await outbox.change(tx, slot, "the answer")
        assert await outbox.get_open(tx, slot, HERE) is None
        assert await pending(tx) == [("the answer", 1, 0)]


async def test_a_text_that_changes_while_it_is_delivered_is_pending_again(database: Database) -> None:
    async with database.write() as tx:
        slot = await outbox.say(tx, HERE, "one", now=1.0)
        await outbox.change(tx, slot, "two")
        await outbox.delivered(tx, slot, 1, ["77"])
        assert await pending(tx) == [("two", 2, 1)]
        await outbox.delivered(tx, slot, 2, ["77"])
        assert await pending(tx) == []


async def test_messages_of_a_chat_are_in_the_order_in_which_they_were_begun(database: Database) -> None:
    async with database.write() as tx:
        slot = await outbox.open_slot(tx, HERE, now=1.0)
        await outbox.say(tx, HERE, "second", now=1.0)
        await outbox.say(tx, Address("room", "2"), "elsewhere", now=1.0)
        await outbox.change(tx, slot, "first")
        assert [text for text, *_ in await pending(tx)] == ["first", "second"]
        assert await outbox.chats_with_pending(tx, "room") == {"1", "2"}
        assert await outbox.chats_with_pending(tx, "room", "2") == {"2"}
        assert await outbox.chats_with_pending(tx, "telegram") == set()


async def test_a_slot_in_which_nothing_is_said_is_gone_and_a_filled_one_cannot_go(database: Database) -> None:
    async with database.write() as tx:
        empty, filled = [await outbox.open_slot(tx, HERE, now=1.0) for _ in range(2)]
        await outbox.change(tx, filled, "said")
        for slot in (empty, filled):
            await outbox.void(tx, slot)
        assert await pending(tx) == [("", 1, 0), ("said", 1, 0)]
        await outbox.delivered(tx, empty, 1, [])
        assert await outbox.undelivered(tx, HERE.agent_id) == 1


async def test_a_message_that_a_platform_refuses_is_pending_no_more(database: Database) -> None:
    async with database.write() as tx:
        slot = await outbox.say(tx, HERE, "too much", now=1.0)
        await outbox.refuse(tx, slot, 1)
        assert await pending(tx) == []
        assert await outbox.undelivered(tx, HERE.agent_id) == 0


async def test_it_is_known_that_a_first_send_may_have_arrived(database: Database) -> None:
    async def sending(tx: Tx) -> bool:
        [row] = await outbox.pending(tx, "room", "1")
        return row.sending

    async with database.write() as tx:
        slot = await outbox.say(tx, HERE, "hello", now=1.0)
        assert not await sending(tx)
        await outbox.begin_sending(tx, slot)
        assert await sending(tx)
        await outbox.not_sent(tx, slot)
        assert not await sending(tx)
        await outbox.begin_sending(tx, slot)
        await outbox.delivered(tx, slot, 1, ["1"])
        await outbox.change(tx, slot, "again")
        assert not await sending(tx)


async def test_the_latest_ids_of_all_chats_of_a_connector_are_ours_and_theirs(database: Database) -> None:
    there, elsewhere = Address(HERE.connector, "2"), Address("other", HERE.chat)
    async with database.write() as tx:
        for address, ref in ((HERE, "12"), (there, "14"), (elsewhere, "77")):
            await inbox.add(tx, Inbound(address, f"message:{address.chat}:{ref}", "message", 1, "ada", "hi"), now=1.0)
        await outbox.delivered(tx, await outbox.say(tx, HERE, "hello", now=1.0), 1, ["13", "16"])
        await outbox.say(tx, there, "on its way", now=1.0)
        found = await outbox.latest_refs(tx, HERE.connector)
    assert found == {HERE.chat: {"12", "13", "16"}, "2": {"14"}}


def _alone(chat: str, other: str) -> bool:
    return chat == other


@pytest.mark.parametrize(
    ("ours", "theirs", "newest"),
    [
        ([], [], None),
        (["9", "10"], [], "10"),
        (["9"], ["message:1:12", "message:1:11"], "12"),
        (["x"], ["message:y"], None),
    ],
)
async def test_the_newest_id_before_a_message_is_the_largest_number_that_the_chat_had(
    database: Database, ours: Sequence[str], theirs: Sequence[str], newest: str | None
) -> None:
    async with database.write() as tx:
        for at, key in enumerate(theirs):
            await inbox.add(tx, Inbound(HERE, key, "message", at, "ada", "hi"), now=1.0)
        for ref in ours:
            await outbox.delivered(tx, await outbox.say(tx, HERE, "hello", now=1.0), 1, [ref])
        slot = await outbox.say(tx, HERE, "to be found again", now=2.0)
        await outbox.begin_sending(tx, slot)
        for key, now in (("message:1:98", 3.0), ("message:1:99", 0.0)):  # the second by a host whose clock is behind
            await inbox.add(tx, Inbound(HERE, key, "message", 99, "ada", "later"), now=now)
        assert await outbox.newest_ref_before(tx, HERE, slot, _alone) == newest


async def test_what_was_heard_before_it_in_a_chat_with_the_same_counter_came_before_it(database: Database) -> None:
    async with database.write() as tx:
        for chat, ref in ((HERE.chat, "25"), ("2", "31"), ("3", "99")):
            address = Address(HERE.connector, chat)
            await inbox.add(tx, Inbound(address, f"message:{chat}:{ref}", "message", 1, "ada", "hi"), now=1.0)
        await inbox.add(tx, Inbound(Address("other", "2"), "message:2:77", "message", 1, "ada", "hi"), now=1.0)
        slot = await outbox.say(tx, HERE, "to be found again", now=2.0)
        await outbox.begin_sending(tx, slot)
        await inbox.add(tx, Inbound(HERE, "message:1:32", "message", 2, "ada", "later"), now=1.0)
        together = {HERE.chat, "2"}
        newest = await outbox.newest_ref_before(tx, HERE, slot, lambda chat, other: {chat, other} <= together)
        assert newest == "31"
        assert await outbox.newest_ref_before(tx, HERE, slot, _alone) == "25"


async def test_a_reply_that_was_begun_before_and_sent_after_a_message_is_none_that_it_came_after(
    database: Database,
) -> None:
    async with database.write() as tx:
        await inbox.add(tx, Inbound(HERE, "message:1:25", "message", 25, "ada", "hi"), now=9.0)  # a clock ahead
        reply = await outbox.open_slot(tx, HERE, now=1.0)
        status = await outbox.say(tx, HERE, "to be found again", now=2.0)
        await outbox.change(tx, reply, "the answer")
        await outbox.delivered(tx, reply, 1, ["31"])
        await outbox.begin_sending(tx, status)
        assert await outbox.newest_ref_before(tx, HERE, status, _alone) == "25"
