"""Groups and topics on the Bot API server."""

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest, TelegramForbiddenError, TelegramMigrateToChat
from aiogram.types import ChatMemberUpdated, Message

from tests.servers.telegram.server import BotApiServer, Person

pytest_plugins = ["tests.servers.telegram.fixtures"]

BOT = "@palimpsest_test_bot"


async def texts(bot: Bot) -> list[str | None]:
    return [update.message.text for update in await bot.get_updates() if update.message]


async def messages(bot: Bot) -> list[Message]:
    return [update.message for update in await bot.get_updates() if update.message]


async def changes(bot: Bot) -> list[ChatMemberUpdated]:
    return [update.my_chat_member for update in await bot.get_updates() if update.my_chat_member]


async def test_in_privacy_mode_only_what_is_meant_for_the_bot_reaches_it(
    telegram: BotApiServer, bot: Bot, ada: Person
) -> None:
    group, bob = telegram.group(), telegram.person(1002, "Bob")
    sent = await bot.send_message(group.id, "mine")
    ada.says("among us", chat=group)
    between_us = ada.last(group)
    ada.says("/go", chat=group)
    ada.says(f"/go{BOT}", chat=group)
    ada.says("/go@another_bot", chat=group)
    ada.says(f"hello {BOT.upper()}", chat=group)
    ada.says(f"hello {BOT}s_brother", chat=group)
    bob.says("yes", chat=group, reply_to=sent.message_id)
    bob.says("no", chat=group, reply_to=between_us)
    assert await texts(bot) == ["/go", f"/go{BOT}", f"hello {BOT.upper()}", "yes"]
    assert not (await bot.get_me()).can_read_all_group_messages


async def test_captions_and_edits_are_private_too(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    group = telegram.group()
    ada.sends_file("a.txt", b"a", chat=group)
    ada.sends_file("b.txt", b"b", caption=f"{BOT} read", chat=group)
    assert [message.caption for message in await messages(bot)] == [f"{BOT} read"]
    ada.says("among us", chat=group)
    assert not ada.edits(ada.last(group), "still among us", chat=group)
    assert ada.edits(ada.last(group), f"now {BOT} too", chat=group)


async def test_without_privacy_mode_or_as_an_administrator_it_reads_all(
    telegram: BotApiServer, bot: Bot, ada: Person
) -> None:
    group = telegram.group()
    group.admin = True
    ada.says("one", chat=group)
    group.admin = False
    telegram.privacy_mode = False
    ada.says("two", chat=group)
    assert await texts(bot) == ["one", "two"]
    assert (await bot.get_me()).can_read_all_group_messages


async def test_a_supergroup_counts_its_own_messages(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    group = telegram.group()
    ada.says("one")
    ada.says("/two", chat=group)
    ada.says("three")
    assert [message.message_id for message in await messages(bot)] == [1, 1, 3]


async def test_a_topic_of_a_forum_has_a_service_message_and_takes_messages(
    telegram: BotApiServer, bot: Bot, ada: Person
) -> None:
    group = telegram.group(forum=True)
    topic = telegram.topic(group, "Cooking")
    ada.says("/cook", chat=group, thread=topic)
    created, said = await messages(bot)
    assert created.forum_topic_created is not None
    assert created.forum_topic_created.name == "Cooking"
    assert (said.message_thread_id, said.is_topic_message, said.chat.is_forum) == (topic, True, True)
    assert said.reply_to_message is not None
    assert said.reply_to_message.forum_topic_created is not None
    sent = await bot.send_message(group.id, "yes", message_thread_id=topic)
    assert (sent.message_thread_id, sent.is_topic_message) == (topic, True)
    with pytest.raises(TelegramBadRequest, match="message thread not found"):
        await bot.send_message(group.id, "yes", message_thread_id=99)


async def test_replies_in_a_supergroup_are_a_thread_and_no_topic(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    group = telegram.group()
    sent = await bot.send_message(group.id, "mine")
    ada.says("yes", chat=group, reply_to=sent.message_id)
    ada.says("/go", chat=group, reply_to=ada.last(group))
    assert [(m.message_thread_id, m.is_topic_message) for m in await messages(bot)] == [(sent.message_id, None)] * 2
    assert (await bot.send_message(group.id, "so", message_thread_id=sent.message_id)).message_thread_id is None


async def test_private_chats_can_have_topics(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    assert not (await bot.get_me()).has_topics_enabled
    topic = telegram.topic(ada, "Cooking")
    ada.says("what?", thread=topic)
    _, said = await messages(bot)
    assert (said.message_thread_id, said.is_topic_message, said.reply_to_message) == (topic, True, None)
    await bot.send_message(ada.chat_id, "soup", message_thread_id=topic)
    assert [message.thread_id for message in telegram.messages(ada.chat_id)] == [topic]
    assert (await bot.get_me()).has_topics_enabled


async def test_the_bot_opens_and_renames_topics(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    topic = await bot.create_forum_topic(ada.chat_id, "New")
    await bot.edit_forum_topic(ada.chat_id, topic.message_thread_id, name="Soup")
    assert telegram.chats.chats[ada.chat_id].topics == {topic.message_thread_id: "Soup"}
    with pytest.raises(TelegramBadRequest, match="TOPIC_NOT_MODIFIED"):
        await bot.edit_forum_topic(ada.chat_id, topic.message_thread_id, name="Soup")


async def test_service_messages_always_come_and_say_nothing(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    group = telegram.group()
    ada.says("/one", chat=group)
    ada.joins(group)
    ada.pins(ada.last(group), chat=group)
    ada.leaves(group)
    service = (await messages(bot))[1:]
    assert [message.content_type for message in service] == ["new_chat_members", "pinned_message", "left_chat_member"]
    assert [message.text for message in service] == [None] * 3


async def test_the_bot_learns_when_it_is_added_and_kicked(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    group = telegram.group(member=False)
    with pytest.raises(TelegramForbiddenError, match="bot is not a member of the supergroup chat"):
        await bot.send_message(group.id, "hello")
    ada.adds_bot(group, as_admin=True)
    await bot.send_message(group.id, "hello")
    assert (await bot.get_chat_member(group.id, bot.id)).status == "administrator"
    assert (await bot.get_chat(group.id)).title == "The group"
    ada.kicks_bot(group)
    ada.says(f"{BOT} gone?", chat=group)
    found = await changes(bot)
    assert [(one.old_chat_member.status, one.new_chat_member.status) for one in found] == [
        ("left", "administrator"),
        ("administrator", "kicked"),
    ]
    with pytest.raises(TelegramForbiddenError, match="Forbidden: bot was kicked from the supergroup chat"):
        await bot.send_message(group.id, "hello")


async def test_the_bot_leaves_a_group(telegram: BotApiServer, bot: Bot) -> None:
    group = telegram.group()
    await bot.leave_chat(group.id)
    with pytest.raises(TelegramForbiddenError, match="bot is not a member of the supergroup chat"):
        await bot.send_message(group.id, "hello")


async def test_a_group_becomes_a_supergroup(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    group = telegram.group(-500, type="group")
    await bot.send_message(group.id, "before")
    new = telegram.migrate(group)
    there, here = await messages(bot)
    assert (there.chat.id, there.migrate_to_chat_id) == (group.id, new.id)
    assert (here.chat.id, here.migrate_from_chat_id) == (new.id, group.id)
    with pytest.raises(TelegramMigrateToChat) as caught:
        await bot.send_message(group.id, "after")
    assert caught.value.migrate_to_chat_id == new.id
    await bot.send_message(new.id, "after")
    assert telegram.texts(new.id) == ["after"]
