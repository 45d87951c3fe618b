"""Files on the Bot API server."""

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramBadRequest, TelegramEntityTooLarge
from aiogram.types import BufferedInputFile, Message, MessageEntity

from tests.servers.telegram.files import LARGEST_DOCUMENT, LARGEST_DOWNLOAD, LARGEST_PHOTO
from tests.servers.telegram.server import BotApiServer, Person

pytest_plugins = ["tests.servers.telegram.fixtures"]

PNG = b"\x89PNG\r\n\x1a\n and so on"


async def messages(bot: Bot) -> list[Message]:
    return [update.message for update in await bot.get_updates() if update.message]


async def test_a_document_is_fetched_by_its_path(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.sends_file("notes.txt", b"content", caption="/read @ada this")
    (message,) = await messages(bot)
    assert message.document is not None
    assert (message.document.file_name, message.document.mime_type, message.document.file_size) == (
        *("notes.txt", "text/plain"),
        7,
    )
    assert [e.type for e in message.caption_entities or []] == ["bot_command", "mention"]
    file = await bot.get_file(message.document.file_id)
    assert file.file_path == "documents/file-1.txt"
    content = await bot.download_file(file.file_path)
    assert content is not None
    assert content.read() == b"content"


async def test_a_photo_comes_in_sizes_and_the_largest_has_its_bytes(
    telegram: BotApiServer, bot: Bot, ada: Person
) -> None:
    ada.sends_photo(PNG, caption="look")
    (message,) = await messages(bot)
    assert message.photo is not None
    assert [(size.width, size.height) for size in message.photo] == [(90, 68), (320, 240), (1280, 960)]
    content = await bot.download(message.photo[-1])
    assert content is not None
    assert content.read() == PNG


async def test_an_album_is_several_messages_of_one_group(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.sends_album([PNG, PNG, PNG], caption="three")
    album = await messages(bot)
    assert len({message.media_group_id for message in album}) == 1
    assert [message.caption for message in album] == ["three", None, None]
    ada.sends_album([PNG])
    assert (await messages(bot))[-1].media_group_id != album[0].media_group_id


async def test_other_kinds_of_messages_are_sent(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.sends_voice(b"ogg")
    ada.sends_sticker("🎉")
    ada.sends({"location": {"latitude": 1.0, "longitude": 2.0}})
    assert [message.content_type for message in await messages(bot)] == ["voice", "sticker", "location"]


async def test_a_file_over_20_mb_cannot_be_fetched(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    ada.sends_file("film.mkv", b"", size=LARGEST_DOWNLOAD + 1)
    (message,) = await messages(bot)
    assert message.document is not None
    with pytest.raises(TelegramBadRequest, match="Bad Request: file is too big"):
        await bot.get_file(message.document.file_id)
    with pytest.raises(TelegramBadRequest, match="Bad Request: invalid file_id"):
        await bot.get_file("another")


async def test_the_bots_files_are_seen_with_name_and_bytes(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    bold = MessageEntity(type="bold", offset=0, length=4)
    sent = await bot.send_document(
        ada.chat_id, BufferedInputFile(b"a,b", "table.csv"), caption="Here", caption_entities=[bold]
    )
    await bot.send_photo(ada.chat_id, BufferedInputFile(PNG, "chart.png"))
    assert sent.document is not None
    await bot.send_document(ada.chat_id, sent.document.file_id)
    table, chart, again = telegram.messages(ada.chat_id)
    assert table.file is not None
    assert (table.file.kind, table.file.name, table.file.content) == ("document", "table.csv", b"a,b")
    assert (table.text, [e["type"] for e in table.entities]) == ("Here", ["bold"])
    assert chart.file is not None
    assert (chart.file.kind, chart.file.content, chart.text) == ("photo", PNG, "")
    assert again.file is not None
    assert again.file.content == b"a,b"


async def test_a_caption_is_edited_and_is_no_text(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    await bot.send_document(ada.chat_id, BufferedInputFile(b"a", "a.txt"), caption="one")
    with pytest.raises(TelegramBadRequest, match="there is no text in the message to edit"):
        await bot.edit_message_text("two", chat_id=ada.chat_id, message_id=1)
    await bot.edit_message_caption(chat_id=ada.chat_id, message_id=1, caption="two")
    assert telegram.texts(ada.chat_id) == ["two"]


async def test_files_that_are_too_large_or_wrong_are_refused(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    with pytest.raises(TelegramBadRequest, match="message caption is too long"):
        await bot.send_document(ada.chat_id, BufferedInputFile(b"a", "a"), caption="👍" * 513)
    with pytest.raises(TelegramBadRequest, match="file must be non-empty"):
        await bot.send_document(ada.chat_id, BufferedInputFile(b"", "a"))
    with pytest.raises(TelegramBadRequest, match="IMAGE_PROCESS_FAILED"):
        await bot.send_photo(ada.chat_id, BufferedInputFile(b"text", "a.png"))
    with pytest.raises(TelegramBadRequest, match="is too big for a photo; the maximum size is 10485760 bytes"):
        await bot.send_photo(ada.chat_id, BufferedInputFile(PNG.ljust(LARGEST_PHOTO + 1), "a.png"))
    with pytest.raises(TelegramEntityTooLarge):
        await bot.send_document(ada.chat_id, BufferedInputFile(bytes(LARGEST_DOCUMENT + 1), "a"))
    with pytest.raises(TelegramEntityTooLarge):
        await bot.send_document(ada.chat_id, BufferedInputFile(bytes(LARGEST_DOCUMENT * 2), "a"))
    with pytest.raises(TelegramBadRequest, match="wrong remote file identifier"):
        await bot.send_document(ada.chat_id, "another")
    assert telegram.messages(ada.chat_id) == []
