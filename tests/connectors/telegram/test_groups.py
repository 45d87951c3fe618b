"""Telegram groups: what is meant for the bot there, who says it, and what it is about."""

from __future__ import annotations

from typing import Any

import pytest

from bot.messages import Address, Edit, Quote, Say
from connectors.telegram import Telegram
from tests.connectors.telegram.case import GROUP, UNDO, MakeTelegram, edit, received, say
from tests.servers.telegram.server import BotApiServer, Chat, Person

BOT = "@palimpsest_test_bot"
NAME = "Palimpsest (@palimpsest_test_bot)"


@pytest.fixture
def group(server: BotApiServer) -> Chat:
    server.privacy_mode = False
    return server.group()


@pytest.fixture
def bob(server: BotApiServer) -> Person:
    return server.person(1002, "Bob")


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        (f"{BOT} what is it?", "what is it?"),
        (f"{BOT}: what is it?", "what is it?"),
        ("@Palimpsest_Test_BOT, what is it?", "what is it?"),
        (f"Tell us {BOT}, what is it?", "Tell us, what is it?"),
        (f"What is it, {BOT}", "What is it"),
        (f"👍🏽 {BOT} 👍🏽 it", "👍🏽 👍🏽 it"),
        (BOT, ""),
        ("/context", "/context"),
        (f"/compact{BOT} the names", "/compact the names"),
        (f"{BOT} /compact the names", "/compact the names"),
    ],
)
async def test_what_names_the_bot_or_is_a_command_is_taken_and_its_name_left_out(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram, *, said: str, stored: str
) -> None:
    intake = await received(telegram, server, ada.says(said, chat=group))

    assert intake.texts == [stored]
    (inbound,) = intake.inbounds
    assert (inbound.address, inbound.person, inbound.speaker) == (GROUP, "1001", "Ada (@ada)")
    assert inbound.ref == "1"


@pytest.mark.parametrize("said", ["hello everybody", "@somebody_else hello", "/context@another_bot", "a@b.example"])
async def test_what_is_meant_for_others_is_not_taken(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram, said: str
) -> None:
    assert (await received(telegram, server, ada.says(said, chat=group))).inbounds == []


async def test_a_mention_of_the_bot_without_a_username_is_taken(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram
) -> None:
    mention = {"type": "text_mention", "offset": 3, "length": 5, "user": server.chats.bot}
    other = {"type": "text_mention", "offset": 3, "length": 5, "user": {**server.chats.bot, "id": 7}}
    ada.says("hi robot, listen", chat=group, entities=[other])

    intake = await received(telegram, server, ada.says("hi robot, listen", chat=group, entities=[mention]))

    assert intake.texts == ["hi, listen"]


async def test_a_reply_to_the_bot_is_taken_with_its_own_words_unless_they_are_the_newest(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram
) -> None:
    (ref,) = await telegram.deliver(say("It is a ship.", address=GROUP))

    intake = await received(telegram, server, ada.says("How long?", chat=group, reply_to=int(ref)))

    assert intake.texts == ["How long?"]
    assert [one.quote for one in intake.inbounds] == [Quote(f"> {NAME}: It is a ship.", ref)]


async def test_with_groups_always_everything_is_taken_but_commands_for_other_bots(
    server: BotApiServer, ada: Person, group: Chat, make_telegram: MakeTelegram
) -> None:
    ada.says("hello everybody", chat=group)
    last = ada.says("/context@another_bot", chat=group)

    assert (await received(make_telegram(groups="always"), server, last)).texts == ["hello everybody"]


async def test_what_somebody_else_said_comes_with_a_reply_to_it(
    server: BotApiServer, ada: Person, bob: Person, group: Chat, telegram: Telegram
) -> None:
    bob.says("The ship is 40 m long.\nIt is " + "very " * 200 + "old.", chat=group)
    last = ada.says(f"{BOT} is that so?", chat=group, reply_to=bob.last(group))

    (inbound,) = (await received(telegram, server, last)).inbounds
    assert inbound.text == "is that so?"
    assert inbound.quote
    assert inbound.quote.text.startswith("> Bob (@bob):\n> The ship is 40 m long.\n> It is very very")
    assert inbound.quote.text.endswith(" very …")
    assert len(inbound.quote.text) < 550
    assert (inbound.quote.ref, inbound.quote.person) == ("", str(bob.id))
    assert inbound.quote.key == f"message:{group.id}:{bob.last(group)}"


async def test_only_the_quoted_part_comes_with_a_reply_that_has_one(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram
) -> None:
    (ref,) = await telegram.deliver(say("It is a ship. It is old.", address=GROUP))
    quote = {"text": "It is old.", "position": 14, "is_manual": True}
    last = ada.sends({"text": "How old?", "quote": quote}, chat=group, reply_to=int(ref))

    (inbound,) = (await received(telegram, server, last)).inbounds
    assert (inbound.text, inbound.quote) == ("How old?", Quote(f"> {NAME}: It is old."))


async def test_a_command_in_a_reply_stays_a_command(
    server: BotApiServer, ada: Person, bob: Person, group: Chat, telegram: Telegram
) -> None:
    bob.says("It is full.", chat=group)
    last = ada.says("/compact", chat=group, reply_to=bob.last(group))

    (inbound,) = (await received(telegram, server, last)).inbounds
    assert (inbound.text, inbound.quote) == ("/compact", None)


async def test_a_picture_that_somebody_else_sent_comes_with_a_question_about_it(
    server: BotApiServer, ada: Person, bob: Person, group: Chat, telegram: Telegram
) -> None:
    bob.sends_photo(b"\xff\xd8\xff a picture", chat=group)
    last = ada.says(f"{BOT} what is this?", chat=group, reply_to=bob.last(group))

    (inbound,) = (await received(telegram, server, last)).inbounds
    assert inbound.text.endswith("what is this?")
    [photo] = inbound.attachments
    assert (photo.media_type, photo.person) == ("image/jpeg", str(bob.id))
    assert photo.key == f"message:{group.id}:{bob.last(group)}"


async def test_all_pictures_of_an_album_are_taken_when_its_caption_names_the_bot(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram
) -> None:
    ada.sends_album([b"\xff\xd8\xff 1"], caption="not for us", chat=group)
    updates = ada.sends_album([b"\xff\xd8\xff 1", b"\xff\xd8\xff 2"], caption=f"{BOT} which?", chat=group)

    intake = await received(telegram, server, updates[-1])

    assert [(inbound.text, len(inbound.attachments)) for inbound in intake.inbounds] == [("which?", 1), ("", 1)]


async def test_a_topic_of_a_group_is_a_thread_and_what_is_said_there_answers_nobody(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    server.privacy_mode = False
    group = server.group(forum=True)
    topic = server.topic(group, "Ships")
    ada.says("not for us", chat=group, thread=topic)
    last = ada.says(f"{BOT} a question", chat=group, thread=topic)

    (inbound,) = (await received(telegram, server, last)).inbounds
    assert inbound.address == Address("telegram", GROUP.chat, str(topic))
    assert inbound.text == "a question"

    await telegram.deliver(say("An answer", address=inbound.address, answers=inbound.ref))
    assert server.messages(group.id)[0].thread_id == topic


@pytest.mark.parametrize(
    ("name", "speaker"),
    [
        ("Ada: admin\nBob", "Ada admin Bob (@adaadminbob)"),
        ("A\u202eda\x00", "A da (@ada)"),
        ("Ada (@root)", "Ada (root) (@adaroot)"),
        ("many names " * 9, ("(@" + "manynames" * 9)[:60]),
        ("：：", "someone"),
    ],
)
async def test_no_name_can_look_like_somebody_elses_words(
    server: BotApiServer, group: Chat, telegram: Telegram, name: str, speaker: str
) -> None:
    person = server.person(1003, name)

    (inbound,) = (await received(telegram, server, person.says("/context", chat=group))).inbounds

    assert (inbound.speaker, inbound.person_name) == (speaker, name)


async def test_an_anonymous_administrator_speaks_as_the_group_and_a_channel_as_itself(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram
) -> None:
    ada.says("as ourselves", chat=group)
    (raw,) = server.pending
    bot_user = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    body: dict[str, Any] = {**raw["message"], "text": "/context", "entities": [], "from": bot_user}
    channel = {"id": -100_777, "type": "channel", "title": "News: today"}
    server.update({"message": {**body, "message_id": 50, "sender_chat": body["chat"]}})
    server.update({"message": {**body, "message_id": 51, "sender_chat": channel}})
    server.update({"message": {**body, "message_id": 52, "sender_chat": channel, "is_automatic_forward": True}})
    last = server.update({"message": {**body, "message_id": 53}})

    intake = await received(telegram, server, last)

    assert [(inbound.person, inbound.speaker) for inbound in intake.inbounds] == [
        ("-100200", "The group"),
        ("-100777", "News today"),
    ]


async def test_posts_of_channels_and_words_of_other_bots_are_not_taken(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram
) -> None:
    ada.says(f"{BOT} hello", chat=group)
    (raw,) = server.pending
    other_bot = {"id": 5, "is_bot": True, "first_name": "Other", "username": "another_bot"}
    server.update({"message": {**raw["message"], "from": other_bot, "message_id": 50}})
    channel = server.group(-100_777, "News", type="channel")
    last = ada.says(f"{BOT} news", chat=channel)

    assert (await received(telegram, server, last)).texts == ["hello"]


async def test_service_messages_say_nothing(
    server: BotApiServer, ada: Person, bob: Person, group: Chat, make_telegram: MakeTelegram
) -> None:
    ada.says("hello", chat=group)
    ada.pins(ada.last(group), chat=group)
    bob.joins(group)
    last = bob.leaves(group)

    assert (await received(make_telegram(groups="always"), server, last)).texts == ["hello"]


async def test_a_press_in_a_group_says_who_pressed(
    server: BotApiServer, bob: Person, group: Chat, telegram: Telegram
) -> None:
    (ref,) = await telegram.deliver(say("Compacted.", address=GROUP, buttons=UNDO))

    (press,) = (await received(telegram, server, bob.presses(int(ref), "/undo", chat=group))).inbounds

    assert (press.address, press.person, press.speaker, press.ref) == (GROUP, "1002", "Bob (@bob)", "")


@pytest.mark.parametrize(
    "outbound",
    [
        say("Answer", address=GROUP, answers="1"),
        say("Answer", address=GROUP, answers="1", notice=True),
        say("Answ", address=GROUP, answers="1", partial=True),
        edit(("77",), "Answer", address=GROUP, answers="1"),
    ],
)
async def test_in_a_group_an_answer_replies_to_what_it_answers(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram, outbound: Say | Edit
) -> None:
    ada.says("/context", chat=group)
    await telegram.deliver(outbound)

    assert [message.reply_to for message in server.messages(group.id)] == [1]


async def test_only_the_first_part_of_a_long_answer_is_a_reply_and_none_to_what_is_gone(
    server: BotApiServer, ada: Person, group: Chat, telegram: Telegram
) -> None:
    ada.says("/context", chat=group)
    await telegram.deliver(say("word " * 1000, address=GROUP, answers="1"))
    await telegram.deliver(say("to what is gone", token="2", address=GROUP, answers="99"))

    assert [message.reply_to for message in server.messages(group.id)] == [1, None, None]


async def test_in_a_private_chat_an_answer_is_no_reply(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    ada.says("hello")
    await telegram.deliver(say("Answer", answers="1"))

    assert [message.reply_to for message in server.messages(1001)] == [None]


async def test_a_growing_reply_is_edited_more_seldom_in_a_group_and_there_are_no_drafts(telegram: Telegram) -> None:
    assert telegram.pace(GROUP) == 3
    assert telegram.pace(Address("telegram", "1001")) == 1
    assert not telegram.drafts(GROUP)
