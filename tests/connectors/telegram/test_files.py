"""Files in Telegram, from people and to them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.errors import DeliveryDelayed, DeliveryRefused, DeliveryUncertain
from bot.messages import Attachment, OutFile, Say
from connectors.telegram import Telegram
from connectors.telegram.files import LARGEST_DOCUMENT
from tests.connectors.telegram.case import GROUP, LONG, TABLE, UNDO, MakeTelegram, received, say
from tests.servers.telegram.server import BotApiServer, Person, StoredFile

PNG = b"\x89PNG\r\n\x1a\n and so on"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target"


class Elsewhere(StoredFile):
    """A file whose path is its name."""

    @property
    def path(self) -> str:
        return self.name


def sent(path: Path, content: bytes, text: str = "", **more: Any) -> Say:
    path.write_bytes(content)
    return say(text, file=OutFile(str(path), path.name), **more)


# To people


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("chart.png", PNG, "photo"),
        ("photo.JPG", PNG, "photo"),
        ("not really.png", b"<svg/>", "document"),
        ("notes.txt", b"words", "document"),
        ("moving.gif", b"GIF89a", "document"),
        ('a "strange"\nnäme.pdf', b"%PDF-", "document"),
    ],
)
async def test_a_picture_is_a_photo_where_telegram_takes_it_and_everything_else_a_document(
    server: BotApiServer, ada: Person, telegram: Telegram, tmp_path: Path, *, name: str, content: bytes, kind: str
) -> None:
    (tmp_path / "it").write_bytes(content)
    refs = await telegram.deliver(say("This is **it**.", file=OutFile(str(tmp_path / "it"), name), buttons=UNDO))

    (message,) = server.messages(1001)
    assert refs == (str(message.message_id),)
    assert message.file is not None
    assert (message.file.kind, message.file.content) == (kind, content)
    assert message.file.name.endswith(name[-4:])
    assert message.text == "This is it."
    assert [entity["type"] for entity in message.entities] == ["bold"]
    assert len(message.buttons) == 1


async def test_a_file_without_words_has_no_caption(
    server: BotApiServer, ada: Person, telegram: Telegram, tmp_path: Path
) -> None:
    await telegram.deliver(sent(tmp_path / "a.txt", b"a"))

    assert server.texts(1001) == [""]


@pytest.mark.parametrize("text", ["word " * 300, TABLE], ids=["long", "table"])
async def test_words_that_do_not_fit_under_a_file_follow_it(
    server: BotApiServer, ada: Person, telegram: Telegram, tmp_path: Path, text: str
) -> None:
    server.group()
    ada.says("/context", chat=server.group())
    say_it = sent(tmp_path / "a.txt", b"a", text, buttons=UNDO, address=GROUP, answers="1")
    refs = await telegram.deliver(say_it)

    file, words = server.messages(-100200)
    assert refs == (str(file.message_id), str(words.message_id))
    assert (file.text, file.buttons, file.reply_to) == ("", [], 1)
    assert (len(words.buttons), words.reply_to) == (1, None)
    assert words.text.split()[0] == text.strip("| ").split()[0]


async def test_a_file_is_not_sent_again_when_its_words_have_to_wait(
    server: BotApiServer, ada: Person, telegram: Telegram, tmp_path: Path
) -> None:
    outbound = sent(tmp_path / "a.txt", b"a", LONG)
    server.limit("sendMessage", retry_after=3)
    with pytest.raises(DeliveryDelayed):
        await telegram.deliver(outbound)

    refs = await telegram.deliver(outbound)

    assert refs == tuple(str(message.message_id) for message in server.messages(1001))
    assert len(server.calls_of("sendDocument")) == 1
    assert "\n\n".join(server.texts(1001)[1:]) == LONG


@pytest.mark.parametrize(
    ("size", "why"),
    [
        (None, "it is gone."),
        (0, "it is empty."),
        (LARGEST_DOCUMENT + 1, "it is too large (52.4 MB; Telegram takes at most 50 MB from a bot)."),
    ],
)
async def test_a_file_that_cannot_be_sent_is_said_to_be_so_in_its_place(
    server: BotApiServer, ada: Person, telegram: Telegram, tmp_path: Path, *, size: int | None, why: str
) -> None:
    path = tmp_path / "a_b_c.bin"
    if size is not None:
        path.touch()
        os.truncate(path, size)
    refs = await telegram.deliver(say("The *log*.", file=OutFile(str(path), path.name)))

    assert len(refs) == 2
    assert server.texts(1001) == [f"📎 a_b_c.bin cannot be sent: {why}", "The log."]


async def test_a_file_that_telegram_does_not_take_is_said_to_be_so(
    server: BotApiServer, ada: Person, telegram: Telegram, tmp_path: Path
) -> None:
    server.fail("sendDocument", 413, "Request Entity Too Large")
    await telegram.deliver(sent(tmp_path / "a.bin", b"a"))
    server.fail("sendDocument", 400, "Bad Request: DOCUMENT_INVALID")
    await telegram.deliver(sent(tmp_path / "b.bin", b"b"))

    assert server.texts(1001) == [
        "📎 a.bin cannot be sent: Telegram finds it too large.",
        "📎 b.bin cannot be sent: Telegram does not take it.",
    ]


async def test_marks_under_a_file_that_telegram_refuses_are_left_out(
    server: BotApiServer, ada: Person, telegram: Telegram, tmp_path: Path
) -> None:
    server.fail("sendDocument", 400, "Bad Request: can't parse entities")
    await telegram.deliver(sent(tmp_path / "a.bin", b"a", "This is **it**."))

    (message,) = server.messages(1001)
    assert (message.text, message.entities) == ("This is it.", [])


async def test_a_lost_answer_to_a_file_leaves_it_uncertain(
    server: BotApiServer, ada: Person, telegram: Telegram, tmp_path: Path
) -> None:
    server.lose_answer("sendDocument")

    with pytest.raises(DeliveryUncertain):
        await telegram.deliver(sent(tmp_path / "a.bin", b"a"))


# From people


async def attached(telegram: Telegram, server: BotApiServer, last: int) -> Attachment:
    """The only file of all that was said."""
    (inbound,) = (await received(telegram, server, last)).inbounds
    (attachment,) = inbound.attachments
    return attachment


async def test_what_people_attach_can_be_fetched(
    server: BotApiServer, ada: Person, telegram: Telegram, target: Path
) -> None:
    content = bytes(range(256)) * 1000
    attachment = await attached(telegram, server, ada.sends_file("data.bin", content))

    await telegram.fetch(attachment, target, most_bytes=len(content))

    assert target.read_bytes() == content


async def test_of_a_photo_the_largest_size_is_fetched(
    server: BotApiServer, ada: Person, telegram: Telegram, target: Path
) -> None:
    attachment = await attached(telegram, server, ada.sends_photo(PNG))
    await telegram.fetch(attachment, target, most_bytes=1000)

    assert target.read_bytes() == PNG
    assert attachment.name.startswith("photo-")


async def test_more_than_the_limit_is_refused(
    server: BotApiServer, ada: Person, telegram: Telegram, target: Path
) -> None:
    attachment = await attached(telegram, server, ada.sends_file("data.bin", b"x" * 1001))

    with pytest.raises(DeliveryRefused, match="too large"):
        await telegram.fetch(attachment, target, most_bytes=1000)


async def test_more_than_telegram_gives_is_refused_with_what_it_gives(
    server: BotApiServer, ada: Person, telegram: Telegram, target: Path
) -> None:
    attachment = await attached(telegram, server, ada.sends_file("data.bin", b"x", size=21 * 1024 * 1024))

    with pytest.raises(DeliveryRefused, match="it is too large: Telegram gives a bot at most 20 MB"):
        await telegram.fetch(attachment, target, most_bytes=10**9)


async def test_a_file_that_telegram_does_not_know_is_refused(telegram: Telegram, target: Path) -> None:
    with pytest.raises(DeliveryRefused, match="does not have it"):
        await telegram.fetch(Attachment("nonsense", "a.txt"), target, most_bytes=1000)


@pytest.mark.parametrize(
    ("code", "description", "error"),
    [
        (400, "Bad Request: wrong file_id or the file is temporarily unavailable", DeliveryDelayed),
        (500, "Internal Server Error", DeliveryUncertain),
        (401, "Unauthorized", DeliveryDelayed),
    ],
)
async def test_a_file_that_cannot_be_had_just_now_may_be_asked_for_again(
    server: BotApiServer, telegram: Telegram, target: Path, *, code: int, description: str, error: type[Exception]
) -> None:
    server.fail("getFile", code, description)

    with pytest.raises(error):
        await telegram.fetch(Attachment("file-1", "a.txt"), target, most_bytes=1000)


async def test_a_flood_limit_on_files_delays(
    server: BotApiServer, ada: Person, telegram: Telegram, target: Path
) -> None:
    attachment = await attached(telegram, server, ada.sends_file("data.bin", b"x"))
    server.limit("getFile", retry_after=4)

    with pytest.raises(DeliveryDelayed) as delayed:
        await telegram.fetch(attachment, target, most_bytes=1000)

    assert delayed.value.retry_after == 4


@pytest.mark.parametrize(
    ("status", "error"), [(200, DeliveryUncertain), (404, DeliveryRefused), (502, DeliveryUncertain)]
)
async def test_a_download_that_breaks_off_may_be_tried_again_and_no_error_has_the_token(
    make_telegram: MakeTelegram, target: Path, status: int, error: type[Exception]
) -> None:
    async def get_file(http: web.Request) -> web.Response:
        return web.json_response({"ok": True, "result": {"file_id": "1", "file_unique_id": "1", "file_path": "a.bin"}})

    async def download(http: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Length": "100"})
        await response.prepare(http)
        await response.write(b"x" * 10)
        assert http.transport is not None
        http.transport.close()
        return response

    app = web.Application()
    app.router.add_post("/bot{token}/getFile", get_file)
    app.router.add_get("/file/bot{token}/a.bin", download)
    async with TestServer(app) as server:
        telegram = make_telegram(api_base=str(server.make_url("/")))
        with pytest.raises(error) as raised:
            await telegram.fetch(Attachment("1", "a.bin"), target, most_bytes=1000)

    assert "test-token" not in str(raised.value)


async def test_a_bot_api_server_on_this_machine_hands_over_by_path(
    server: BotApiServer, telegram: Telegram, tmp_path: Path, target: Path
) -> None:
    local = tmp_path / "kept by the server.bin"
    local.write_bytes(b"x" * 100)
    server.chats.files._files["local"] = Elsewhere("local", "document", str(local), b"", 100)
    attachment = Attachment("local", "a.bin")

    await telegram.fetch(attachment, target, most_bytes=100)
    assert target.read_bytes() == b"x" * 100

    with pytest.raises(DeliveryRefused, match="too large"):
        await telegram.fetch(attachment, target, most_bytes=99)
    local.unlink()
    with pytest.raises(DeliveryRefused, match="where I cannot read it"):
        await telegram.fetch(attachment, target, most_bytes=100)
