"""What people say and change in Telegram, and what becomes of chats."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.errors import ChatClosed, DeliveryDelayed
from bot.messages import Address, Quote
from connectors.memory import MemoryIntake
from connectors.telegram import Telegram
from tests.connectors.telegram.case import GROUP, received, running, say
from tests.servers.telegram.server import BotApiServer, Person


async def test_a_private_message_can_be_referred_to_and_names_no_speaker(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    ada.says("one")
    (inbound,) = (await received(telegram, server, ada.says("two", reply_to=ada.last()))).inbounds[1:]

    assert (inbound.ref, inbound.speaker, inbound.text, inbound.edits) == ("2", "", "two", "")
    assert inbound.quote == Quote("> Ada (@ada): one", "1", f"message:{ada.id}:1", str(ada.id))


async def test_a_quoted_part_comes_with_what_is_said_of_it(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    (ref,) = await telegram.deliver(say("A ship.\nIt is old."))
    quote = {"text": "It is old.", "position": 8, "is_manual": True}

    last = ada.sends({"text": "Is it?", "quote": quote}, reply_to=int(ref))

    (inbound,) = (await received(telegram, server, last)).inbounds
    assert inbound.text == "Is it?"
    assert inbound.quote
    assert inbound.quote.text.endswith(": It is old.")
    assert inbound.quote.ref == ""


async def test_what_may_go_on_says_so_and_what_is_whole_does_not(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    ada.says("hello")
    ada.says("x" * 4096)
    ada.says("and the end of it")
    origin = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}
    ada.sends({"text": "as I said", "forward_origin": origin})
    last = ada.says("/compact")

    intake = await received(telegram, server, last)

    assert [inbound.expects > 0 for inbound in intake.inbounds] == [False, True, False, True, False]


async def test_a_topic_that_the_program_opened_is_a_thread(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    topic = server.topic(ada, "Ships")

    intake = await received(telegram, server, ada.says("hello", thread=topic))

    assert [(inbound.text, inbound.address) for inbound in intake.inbounds] == [
        ("hello", Address("telegram", "1001", str(topic)))
    ]


async def test_service_messages_say_nothing(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    ada.says("hello")

    assert (await received(telegram, server, ada.pins(ada.last()))).texts == ["hello"]


# Edits


async def test_an_edit_names_what_it_edits_and_two_in_one_second_are_two(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    intake = MemoryIntake()
    async with running(telegram, intake):
        ada.says("frist")
        await intake.until(lambda: intake.inbounds)
        updates = [ada.edits(1, "first"), ada.edits(1, "First")]
        server.chats.received[1001, 1]["edit_date"] -= 1
        raw = server.pending[-1]
        updates.append(ada.edits(1, "First!"))
        await server.wait_for(lambda server: server.confirmed_offset > updates[-1])
        server.update(raw)
        await intake.until(lambda: intake.again)

    message, *edits, again = (*intake.inbounds, *intake.again)
    assert [edit.text for edit in edits] == ["first", "First", "First!"]
    assert [edit.order for edit in edits] == updates
    assert {(edit.kind, edit.edits, edit.ref) for edit in edits} == {("edit", message.key, "1")}
    assert len({message.key, *(edit.key for edit in edits)}) == 4
    assert all(edit.key.startswith(f"{message.key}:") for edit in edits)
    assert again == edits[1]
    assert edits[0].sent_at
    assert message.sent_at
    assert edits[0].sent_at > message.sent_at


async def test_the_caption_of_a_file_can_be_edited(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    intake = MemoryIntake()
    async with running(telegram, intake):
        ada.sends_file("a.txt", b"a", caption="look")
        await intake.until(lambda: intake.inbounds)
        ada.edits(1, "look here")
        await intake.until(lambda: len(intake.inbounds) == 2)

    assert intake.texts == ["look", "look here"]


async def test_a_location_that_moves_is_told_once(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    intake = MemoryIntake()
    async with running(telegram, intake):
        ada.sends({"location": {"latitude": 1, "longitude": 1, "live_period": 60}})
        await intake.until(lambda: intake.inbounds)
        message = {**server.chats.received[1001, 1], "edit_date": int(datetime.now(UTC).timestamp())}
        last = server.update({"edited_message": message})
        await server.wait_for(lambda server: server.confirmed_offset > last)

    assert len(intake.inbounds) == 1


async def test_an_edit_that_first_names_the_bot_is_taken(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    server.privacy_mode = False
    group = server.group()
    intake = MemoryIntake()
    async with running(telegram, intake):
        ada.says("what is it?", chat=group)
        await server.wait_for(lambda server: server.confirmed_offset > 0)
        ada.edits(1, "@palimpsest_test_bot what is it?", chat=group)
        await intake.until(lambda: intake.inbounds)

    assert [(inbound.kind, inbound.text) for inbound in intake.inbounds] == [("edit", "what is it?")]


# Chats


async def test_a_chat_that_blocks_the_bot_and_takes_it_back_is_told_so(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    group = server.group(member=False)
    intake = MemoryIntake()
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.polls)
        ada.blocks()
        await intake.until(lambda: len(intake.news) == 1)
        with pytest.raises(ChatClosed):
            await telegram.deliver(say("hello"))
        ada.unblocks()
        ada.adds_bot(group)
        await intake.until(lambda: len(intake.news) == 3)
        ada.kicks_bot(group)
        await intake.until(lambda: len(intake.news) == 4)

    assert intake.news == [("1001", "closed"), ("1001", "open"), ("-100200", "open"), ("-100200", "closed")]


async def test_news_that_could_not_be_stored_come_again(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    intake = MemoryIntake()
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.polls)
        intake.refusals = 2
        ada.blocks()
        await intake.until(lambda: intake.news)

    assert intake.news == [("1001", "closed")]


async def test_a_group_that_becomes_a_supergroup_is_told_before_what_is_said_there(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    old = server.group(-77, type="group")
    new = server.migrate(old)

    intake = await received(telegram, server, ada.says("/context", chat=new))

    assert set(intake.news) == {("-77", "moved", str(new.id))}
    assert [inbound.address.chat for inbound in intake.inbounds] == [str(new.id)]


async def test_a_group_that_moved_unheard_of_is_learnt_of_when_something_is_said_there(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    old = server.group(-77, type="group")
    intake = MemoryIntake()
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.polls)
        old.moved_to = server.group(-1077).id
        with pytest.raises(DeliveryDelayed) as delayed:
            await telegram.deliver(say("hello", address=Address("telegram", "-77")))
        assert delayed.value.retry_after == 1
        await telegram.deliver(say("hello", address=Address("telegram", "-77")))

    assert intake.news == [("-77", "moved", "-1077")]
    assert server.texts(-1077) == ["hello"]


async def test_what_is_moved_is_remembered_also_when_it_cannot_be_stored(
    server: BotApiServer, telegram: Telegram
) -> None:
    telegram._receiver.attend(MemoryIntake(refusals=1))
    server.group(int(GROUP.chat)).moved_to = server.group(-1077).id
    with pytest.raises(DeliveryDelayed):
        await telegram.deliver(say("hello", address=GROUP))

    await telegram.deliver(say("hello", address=GROUP))

    assert server.texts(-1077) == ["hello"]
