"""Drafts on the Bot API server."""

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramNotFound
from aiogram.types import InputRichMessage

from tests.servers.telegram.raw import RawCalls
from tests.servers.telegram.server import BotApiServer, Person

pytest_plugins = ["tests.servers.telegram.fixtures"]


async def test_a_draft_grows_until_a_message_takes_its_place(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    for text in ("", "one", "one two"):
        await bot.send_message_draft(ada.chat_id, 5, text=text)
    (draft,) = telegram.drafts(ada.chat_id)
    assert (draft.draft_id, draft.text, draft.history) == (5, "one two", ["", "one", "one two"])
    await bot.send_message(ada.chat_id, "one two three")
    assert telegram.drafts(ada.chat_id) == []
    assert telegram.all_drafts(ada.chat_id) == [draft]
    assert telegram.texts(ada.chat_id) == ["one two three"]


async def test_a_draft_is_gone_after_30_s_without_a_change(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    now = 100.0
    telegram.clock = lambda: now
    await bot.send_message_draft(ada.chat_id, 5, text="one")
    now += 29
    await bot.send_message_draft(ada.chat_id, 5, text="two")
    now += 29
    assert [draft.text for draft in telegram.drafts(ada.chat_id)] == ["two"]
    now += 1
    assert telegram.drafts(ada.chat_id) == []


async def test_another_id_is_another_draft_instead(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.send_message_draft(ada.chat_id, 5, text="one")
    await bot.send_message_draft(ada.chat_id, 6, text="two")
    assert [draft.history for draft in telegram.drafts(ada.chat_id)] == [["two"]]


async def test_each_topic_has_its_own_draft(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    topic = telegram.topic(ada, "Cooking")
    await bot.send_message_draft(ada.chat_id, 5, text="here")
    await bot.send_message_draft(ada.chat_id, 6, text="there", message_thread_id=topic)
    await bot.send_message(ada.chat_id, "here")
    assert [(draft.text, draft.thread_id) for draft in telegram.drafts(ada.chat_id)] == [("there", topic)]


async def test_the_stop_button_is_an_update_and_ends_the_draft(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.send_message_draft(ada.chat_id, 5, text="one")
    with pytest.raises(LookupError):
        await ada.stops()
    await bot.send_message_draft(ada.chat_id, 5, text="one two", can_stop=True)
    await ada.stops()
    (update,) = await bot.get_updates()
    stopped = update.stopped_message_generation
    assert stopped is not None
    assert (stopped.chat.id, stopped.draft_id, stopped.message_thread_id) == (ada.chat_id, 5, None)
    assert telegram.drafts(ada.chat_id) == []
    await bot.send_message_draft(ada.chat_id, 5, text="one two three", can_stop=True)
    assert telegram.drafts(ada.chat_id) == []


async def test_a_stopped_draft_can_stay(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.send_message_draft(ada.chat_id, 5, text="one", can_stop=True, keep_on_stop=True)
    await ada.stops()
    assert [draft.text for draft in telegram.drafts(ada.chat_id)] == ["one"]
    with pytest.raises(LookupError):
        await ada.stops()


async def test_a_rich_draft_shows_what_people_see(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.send_rich_message_draft(ada.chat_id, 5, InputRichMessage(markdown="# A\n\n**b"))
    (draft,) = telegram.drafts(ada.chat_id)
    assert (draft.rich, draft.source, draft.text) == (True, "# A\n\n**b", "A\n\n**b")


async def test_wrong_drafts_are_refused(telegram: BotApiServer, raw: RawCalls, ada: Person) -> None:
    group = telegram.group()

    async def refusal(chat: int, draft_id: int, text: str = "a") -> str:
        return await raw.refusal("sendMessageDraft", chat_id=chat, draft_id=draft_id, text=text)

    assert await refusal(group.id, 5) == "Bad Request: TEXTDRAFT_PEER_INVALID"
    assert await refusal(1001, 0) == "Bad Request: TEXTDRAFT_ID_INVALID"
    assert await refusal(1001, 5, "a" * 4097) == "Bad Request: message is too long"
    assert await refusal(5, 5) == "Bad Request: chat not found"
    ada.blocks()
    assert await refusal(1001, 5) == "Forbidden: bot was blocked by the user"
    assert telegram.drafts(1001) == []


async def test_an_old_server_knows_no_drafts(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    telegram.knows_drafts = False
    with pytest.raises(TelegramNotFound):
        await bot.send_message_draft(ada.chat_id, 5, text="one")
    assert telegram.unknown_calls == []
