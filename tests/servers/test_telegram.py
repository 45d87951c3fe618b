"""The Bot API server, seen by the real client."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import (
    TelegramBadRequest,
    TelegramConflictError,
    TelegramForbiddenError,
    TelegramNetworkError,
    TelegramRetryAfter,
    TelegramUnauthorizedError,
)
from aiogram.types import (
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    ReactionTypeEmoji,
)

from tests.servers.telegram.server import BotApiServer, Person, utf16_units


@pytest_asyncio.fixture
async def server() -> AsyncIterator[BotApiServer]:
    async with BotApiServer() as server:
        yield server


def bot_of(server: BotApiServer, token: str | None = None) -> Bot:
    session = AiohttpSession(api=TelegramAPIServer.from_base(server.url))
    return Bot(token or server.token, session=session)


@pytest_asyncio.fixture
async def bot(server: BotApiServer) -> AsyncIterator[Bot]:
    async with bot_of(server) as bot:
        yield bot


@pytest.fixture
def ada(server: BotApiServer) -> Person:
    return server.person(id=1001, name="Ada")


BUTTONS = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Undo", callback_data="undo:1")]])


async def test_an_update_comes_again_until_an_offset_confirms_it(server: BotApiServer, bot: Bot, ada: Person) -> None:
    first, second = ada.says("hello"), ada.says("/compact now")
    assert [u.update_id for u in await bot.get_updates()] == [first, second]
    again = await bot.get_updates(offset=second)
    assert [u.update_id for u in again] == [second]
    assert again[0].message is not None
    assert [(e.type, e.offset, e.length) for e in again[0].message.entities or []] == [("bot_command", 0, 8)]
    assert await bot.get_updates(offset=second + 1) == []
    assert server.confirmed_offset == second + 1
    assert server.pending == []


async def test_a_long_poll_ends_when_someone_speaks(server: BotApiServer, bot: Bot, ada: Person) -> None:
    polling = asyncio.create_task(bot.get_updates(timeout=30))
    await server.wait_for(lambda s: s.polls == 1)
    ada.says("hello")
    async with asyncio.timeout(2):
        assert [u.message and u.message.text for u in await polling] == ["hello"]


async def test_a_second_poller_ends_the_first(server: BotApiServer, bot: Bot, ada: Person) -> None:
    first = asyncio.create_task(bot.get_updates(timeout=30))
    await server.wait_for(lambda s: s.polls == 1)
    second = asyncio.create_task(bot.get_updates(timeout=30))
    with pytest.raises(TelegramConflictError, match="terminated by other getUpdates request"):
        await first
    ada.says("hello")
    assert len(await second) == 1


async def test_a_poller_that_dies_is_noticed_and_loses_nothing(server: BotApiServer, bot: Bot, ada: Person) -> None:
    polling = asyncio.create_task(bot.get_updates(timeout=30))
    await server.wait_for(lambda s: s.polls == 1)
    polling.cancel()
    await server.wait_for(lambda s: s.polls == 0, timeout=1)
    ada.says("hello")
    async with bot_of(server) as other:
        assert len(await other.get_updates(timeout=5)) == 1


async def test_a_confirmed_update_can_be_redelivered(server: BotApiServer, bot: Bot, ada: Person) -> None:
    number = ada.says("hello")
    raw = server.pending[0]
    await bot.get_updates(offset=number + 1)
    server.update(raw)
    assert [u.update_id for u in await bot.get_updates(offset=number + 1)] == [number]
    assert await bot.get_updates(offset=number + 1) == []


async def test_only_allowed_updates_are_queued(server: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.get_updates(allowed_updates=["callback_query"])
    ada.says("hello")
    assert await bot.get_updates() == []


async def test_a_message_is_edited_in_place(server: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.says("hello")
    sent = await bot.send_message(ada.chat_id, " <b>one</b> &amp; ", parse_mode="HTML", reply_markup=BUTTONS)
    assert sent.message_id == 2
    edited = await bot.edit_message_text("two", chat_id=ada.chat_id, message_id=2)
    assert not isinstance(edited, bool)
    assert edited.text == "two"
    (message,) = server.messages(ada.chat_id)
    assert (message.text, message.edits, message.reply_markup) == ("two", ["two"], None)
    assert server.texts(ada.chat_id) == ["two"]
    assert [call.status for call in server.calls_of("sendMessage")] == [200]
    assert await bot.delete_message(ada.chat_id, 2)
    assert server.messages(ada.chat_id) == []


async def test_an_unchanged_edit_is_an_error(bot: Bot, ada: Person) -> None:
    await bot.send_message(ada.chat_id, "one", reply_markup=BUTTONS)
    with pytest.raises(TelegramBadRequest, match="message is not modified: specified new"):
        await bot.edit_message_text("one ", chat_id=ada.chat_id, message_id=1, reply_markup=BUTTONS)
    assert await bot.edit_message_text("one", chat_id=ada.chat_id, message_id=1)
    assert await bot.edit_message_text("<i>one</i>", chat_id=ada.chat_id, message_id=1, parse_mode="HTML")


async def test_rules_about_text_and_places(server: BotApiServer, bot: Bot, ada: Person) -> None:
    with pytest.raises(TelegramBadRequest, match="message text is empty"):
        await bot.send_message(ada.chat_id, "")
    with pytest.raises(TelegramBadRequest, match="message text is empty"):
        await bot.send_message(ada.chat_id, "<b> </b>", parse_mode="HTML")
    with pytest.raises(TelegramBadRequest, match="message is too long"):
        await bot.send_message(ada.chat_id, "🙂" * 2049)
    with pytest.raises(TelegramBadRequest, match="message to edit not found"):
        await bot.edit_message_text("two", chat_id=ada.chat_id, message_id=99)
    with pytest.raises(TelegramBadRequest, match="chat not found"):
        await bot.send_message(5, "hello")
    with pytest.raises(TelegramBadRequest, match='Unsupported start tag "x"'):
        await bot.send_message(ada.chat_id, "a <x>b</x>", parse_mode="HTML")
    with pytest.raises(TelegramBadRequest, match="Can't find end tag"):
        await bot.send_message(ada.chat_id, "a <b>b", parse_mode="HTML")
    with pytest.raises(TelegramBadRequest, match="Character '\\.' is reserved"):
        await bot.send_message(ada.chat_id, "a.", parse_mode="MarkdownV2")
    ada.blocks()
    with pytest.raises(TelegramForbiddenError, match="bot was blocked by the user"):
        await bot.send_message(ada.chat_id, "hello")
    assert server.messages(ada.chat_id) == []


async def test_length_is_counted_in_utf16_units_without_markup(server: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.send_message(ada.chat_id, f"<b>{'🙂' * 2048}</b>", parse_mode="HTML")
    await bot.send_message(ada.chat_id, "*a*\\. `b.c` [d](http://e.f)", parse_mode="MarkdownV2")
    assert utf16_units(server.texts(ada.chat_id)[0]) == 4096
    assert server.texts(ada.chat_id)[1] == "a. b.c d"


async def test_a_text_that_looks_like_json_stays_a_text(server: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.send_message(ada.chat_id, '{"a": 1}')
    await bot.send_message(ada.chat_id, "12")
    assert server.texts(ada.chat_id) == ['{"a": 1}', "12"]


async def test_a_button_is_pressed_and_answered_once(server: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.send_message(ada.chat_id, "done", reply_markup=BUTTONS)
    with pytest.raises(LookupError):
        ada.presses(1, "redo:1")
    ada.presses(1, "undo:1")
    (update,) = await bot.get_updates()
    assert update.callback_query is not None
    assert update.callback_query.data == "undo:1"
    assert await bot.answer_callback_query(update.callback_query.id)
    with pytest.raises(TelegramBadRequest, match="query is too old"):
        await bot.answer_callback_query(update.callback_query.id)


async def test_flood_control_says_how_long_to_wait(server: BotApiServer, bot: Bot, ada: Person) -> None:
    server.limit("sendMessage", retry_after=7, times=1, chat=ada.chat_id)
    with pytest.raises(TelegramRetryAfter) as caught:
        await bot.send_message(ada.chat_id, "one")
    assert caught.value.retry_after == 7
    server.flood_limit(2, 60)
    await bot.send_message(ada.chat_id, "one")
    await bot.edit_message_text("two", chat_id=ada.chat_id, message_id=1)
    with pytest.raises(TelegramRetryAfter) as caught:
        await bot.send_message(ada.chat_id, "three")
    assert caught.value.retry_after in (59, 60)


async def test_an_answer_may_be_lost_after_the_deed(server: BotApiServer, bot: Bot, ada: Person) -> None:
    server.lose_answer("sendMessage")
    with pytest.raises(TelegramNetworkError):
        await bot.send_message(ada.chat_id, "one")
    assert server.texts(ada.chat_id) == ["one"]
    assert server.calls[-1].status == 0


async def test_typing_commands_and_reactions_are_kept(server: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.says("hello")
    await bot.send_chat_action(ada.chat_id, "typing")
    commands = [BotCommand(command="compact", description="Make room")]
    await bot.set_my_commands(commands)
    await bot.set_message_reaction(ada.chat_id, 1, reaction=[ReactionTypeEmoji(emoji="👀")])
    assert len(server.typing(ada.chat_id)) == 1
    assert [c.model_dump() for c in await bot.get_my_commands()] == [c.model_dump() for c in commands]
    assert server.reactions(ada.chat_id, 1) == ["👀"]
    assert (await bot.get_me()).is_bot


async def test_another_token_is_unauthorized(server: BotApiServer) -> None:
    async with bot_of(server, "4200:another") as bot:
        with pytest.raises(TelegramUnauthorizedError):
            await bot.get_me()


async def test_groups_threads_and_files_work(server: BotApiServer, bot: Bot, ada: Person) -> None:
    group = server.group()
    server.privacy_mode = False
    ada.says("hello", chat=group, thread=7)
    ada.edits(1, "hello all", chat=group)
    ada.sends_file("a.txt", b"content", caption="look")
    said, edited, file = await bot.get_updates()
    assert said.message is not None
    assert (said.message.chat.type, said.message.message_thread_id) == ("supergroup", 7)
    assert edited.edited_message is not None
    assert edited.edited_message.text == "hello all"
    assert file.message is not None
    assert file.message.document is not None
    content = await bot.download(file.message.document)
    assert content is not None
    assert content.read() == b"content"


async def test_json_bodies_and_unknown_methods(server: BotApiServer, ada: Person) -> None:
    base = f"{server.url}/bot{server.token}"
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{base}/sendMessage", json={"chat_id": 1001, "text": "hi"}) as answer:
            assert (await answer.json())["result"]["text"] == "hi"
        async with session.get(f"{base}/sendMessage", params={"chat_id": "1001", "text": "12"}) as answer:
            assert (await answer.json())["ok"]
        async with session.post(f"{base}/sendPigeon") as answer:
            assert await answer.json() == {"ok": False, "error_code": 404, "description": "Not Found"}
