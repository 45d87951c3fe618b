"""What people do in private chats on the Bot API server, and what the bot may do there."""

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest, TelegramForbiddenError
from aiogram.types import BotCommand, ReactionTypeEmoji, ReplyParameters

from tests.servers.telegram.raw import RawCalls
from tests.servers.telegram.server import BotApiServer, Person

pytest_plugins = ["tests.servers.telegram.fixtures"]


async def test_an_edit_carries_its_date_and_leaves_the_first_update_alone(
    telegram: BotApiServer, bot: Bot, ada: Person
) -> None:
    ada.says("/one")
    ada.edits(ada.last(), "two")
    ada.edits(ada.last(), "two")
    said, *edits = await bot.get_updates()
    assert said.message is not None
    assert (said.message.text, said.message.edit_date) == ("/one", None)
    edited = [update.edited_message for update in edits]
    assert [message and message.text for message in edited] == ["two", "two"]
    assert [message and message.entities for message in edited] == [None, None]
    dates = [message.edit_date or 0 for message in edited if message]
    assert int(said.message.date.timestamp()) < dates[0] < dates[1]


async def test_a_block_is_an_update_and_ends_sending(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.blocks()
    with pytest.raises(TelegramForbiddenError, match="Forbidden: bot was blocked by the user"):
        await bot.send_message(ada.chat_id, "hello")
    assert not ada.says("nobody hears me")
    ada.unblocks()
    await bot.send_message(ada.chat_id, "hello")
    found = [update.my_chat_member for update in await bot.get_updates()]
    assert [one and one.new_chat_member.status for one in found] == ["kicked", "member"]


async def test_nobody_is_written_to_who_is_gone_or_never_came(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.deletes_account()
    with pytest.raises(TelegramForbiddenError, match="Forbidden: user is deactivated"):
        await bot.send_message(ada.chat_id, "hello")
    bob = telegram.person(1002, "Bob", started=False)
    with pytest.raises(TelegramForbiddenError, match="bot can't initiate conversation with a user"):
        await bot.send_message(bob.chat_id, "hello")
    bob.says("/start")
    await bot.send_message(bob.chat_id, "hello")
    with pytest.raises(TelegramBadRequest, match="Bad Request: chat not found"):
        await bot.send_message(5, "hello")


async def test_a_reply_needs_its_message_unless_told_otherwise(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.says("hello")
    sent = await bot.send_message(ada.chat_id, "yes", reply_parameters=ReplyParameters(message_id=1))
    assert sent.reply_to_message is not None
    assert sent.reply_to_message.text == "hello"
    with pytest.raises(TelegramBadRequest, match="message to be replied not found"):
        await bot.send_message(ada.chat_id, "yes", reply_parameters=ReplyParameters(message_id=9))
    anyway = ReplyParameters(message_id=9, allow_sending_without_reply=True)
    assert (await bot.send_message(ada.chat_id, "yes", reply_parameters=anyway)).reply_to_message is None


async def test_a_button_is_pressed_by_its_label_too(telegram: BotApiServer, raw: RawCalls, ada: Person) -> None:
    def keyboard(data: str) -> dict[str, object]:
        return {"inline_keyboard": [[{"text": "Undo", "callback_data": data}]]}

    too_long = await raw.refusal("sendMessage", chat_id=1001, text="a", reply_markup=keyboard("é" * 33))
    assert too_long == "Bad Request: BUTTON_DATA_INVALID"
    await raw("sendMessage", chat_id=1001, text="a", reply_markup=keyboard("é" * 32))
    ada.presses(1, "Undo")
    assert telegram.pending[0]["callback_query"]["data"] == "é" * 32


@pytest.mark.parametrize("emoji", ["👀", "❤", "👨‍💻"])
async def test_a_reaction_is_set_and_taken_back(telegram: BotApiServer, bot: Bot, ada: Person, emoji: str) -> None:
    ada.says("hello")
    await bot.set_message_reaction(ada.chat_id, 1, reaction=[ReactionTypeEmoji(emoji=emoji)])
    assert telegram.reactions(ada.chat_id, 1) == [emoji]
    await bot.set_message_reaction(ada.chat_id, 1, reaction=[])
    assert telegram.reactions(ada.chat_id, 1) == []


async def test_reactions_that_telegram_or_the_chat_does_not_have_are_refused(
    telegram: BotApiServer, raw: RawCalls, ada: Person
) -> None:
    group = telegram.group()
    group.allowed_reactions = frozenset("👍")
    ada.says("hello")
    ada.says("hello", chat=group)

    async def refusal(chat: int, *emoji: str) -> str:
        reaction = [{"type": "emoji", "emoji": one} for one in emoji]
        return await raw.refusal("setMessageReaction", chat_id=chat, message_id=1, reaction=reaction)

    assert await refusal(1001, "✅") == "Bad Request: REACTION_INVALID"
    assert await refusal(1001, "❤️") == "Bad Request: REACTION_INVALID"
    assert await refusal(1001, "👍", "👀") == "Bad Request: REACTIONS_TOO_MANY"
    assert await refusal(group.id, "👀") == "Bad Request: REACTION_INVALID"
    assert await refusal(group.id, "👍") == ""


@pytest.mark.parametrize(
    ("name", "description", "reason"),
    [
        ("Compact", "Make room", "BOT_COMMAND_INVALID"),
        ("make-room", "Make room", "BOT_COMMAND_INVALID"),
        ("a" * 33, "Make room", "BOT_COMMAND_INVALID"),
        ("compact", "", "BOT_COMMAND_DESCRIPTION_INVALID"),
        ("compact", "a" * 257, "BOT_COMMAND_DESCRIPTION_INVALID"),
    ],
)
async def test_wrong_commands_are_refused(bot: Bot, name: str, description: str, reason: str) -> None:
    with pytest.raises(TelegramBadRequest, match=reason):
        await bot.set_my_commands([BotCommand(command=name, description=description)])


async def test_a_method_that_is_not_there_is_written_down(telegram: BotApiServer, raw: RawCalls) -> None:
    assert await raw.refusal("sendPigeon") == "Not Found"
    assert telegram.unknown_calls == ["sendPigeon"]
