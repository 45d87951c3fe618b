"""Files both ways: what people send, what the model sees of it, and what it sends back."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pypdf import PdfWriter

from bot.model import Link
from bot.model.scripted import ScriptedModel
from bot.runtime.settings import Settings
from tests.conftest import OpenHouse
from tests.hostile import hostile_pdf
from tests.house import Room, open_house
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.wire import MessagesRequest, Reply, ToolCall


def picture(width: int = 8, height: int = 8, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(file, kind)
    return file.getvalue()


def pdf(pages: int = 2) -> bytes:
    writer, file = PdfWriter(), io.BytesIO()
    for _ in range(pages):
        writer.add_blank_page(72, 72)
    writer.write(file)
    return file.getvalue()


def blocks(model: MessagesServer, kind: str) -> list[dict[str, Any]]:
    """The blocks of this kind in the last request."""
    messages = model.requests[-1].request.messages
    return [b for m in messages if not isinstance(m["content"], str) for b in m["content"] if b["type"] == kind]


async def asks_with(room: Room, text: str, files: dict[str, bytes]) -> str:
    before = len(room.replies())
    await room.says(text, files=files)
    await room.until(lambda: len(room.replies()) > before)
    return room.replies()[-1]


def sends_the_file(request: MessagesRequest) -> Reply:
    """A model that sends back what it got, once."""
    if "goes to the chat" in request.all_text:
        return Reply("Done.")
    return Reply("", [ToolCall("send_file", {"path": "files/notes.txt", "caption": "As you wished."})])


async def test_the_model_sees_a_picture_now_and_later(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    image = picture()
    async with house() as opened:
        await asks_with(room, "what is this?", {"cat.png": image})
        await room.asks("and now?")
        [block] = blocks(model, "image")
        assert base64.b64decode(block["source"]["data"]) == image
        assert block["source"]["media_type"] == "image/png"
        assert (opened.folder() / "files" / "cat.png").read_bytes() == image


async def test_a_picture_that_is_large_or_of_another_kind_is_made_to_fit(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents={"emergency_context_limit": 20_000}):
        model.window = 20_000
        await asks_with(room, "look", {"large.png": picture(3000, 100), "old.bmp": picture(kind="BMP")})
        seen = [Image.open(io.BytesIO(base64.b64decode(b["source"]["data"]))) for b in blocks(model, "image")]
    assert [(image.format, max(image.size)) for image in seen] == [("JPEG", 1568), ("JPEG", 8)]


async def test_a_pdf_is_a_document(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    model.window = 20_000
    async with house(agents={"emergency_context_limit": 20_000}):
        await asks_with(room, "read this", {"paper.pdf": pdf(3)})
        [block] = blocks(model, "document")
    assert (block["source"]["media_type"], block["title"]) == ("application/pdf", "files/paper.pdf")


async def test_a_text_file_is_shown_with_its_place(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house():
        await asks_with(room, "read this", {"notes.txt": "The key is under the mat. 钥匙".encode()})
    assert "[File: files/notes.txt" in str(model.requests[-1].request.messages)
    assert "The key is under the mat. 钥匙" in str(model.requests[-1].request.messages)


async def test_a_long_text_file_is_shown_in_part_and_can_be_read_on(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        await asks_with(room, "read this", {"long.txt": b"word " * 10_000})
    said = str(model.requests[-1].request.messages)
    assert "read_file goes on from offset" in said
    assert len(said) < 10_000


async def test_what_cannot_be_read_is_kept_and_said(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house() as opened:
        await asks_with(room, "look", {"data.bin": b"\x00\x01\x02\xff"})
        assert (opened.folder() / "files" / "data.bin").exists()
        await room.until(lambda: any("data.bin" in notice for notice in room.notices()))
    assert "files/data.bin" in str(model.requests[-1].request.messages)


@pytest.mark.parametrize(
    "content",
    [
        picture()[:40],
        picture().replace(b"IDAT", b"XXXX"),
        b"%PDF-1.7\nnothing of the kind",
        b"GIF89a" + b"\xff" * 30,
        b"RIFF\x00\x00\x00\x00WEBPVP8 ",
        b"\xff\xfe\x00",
    ],
    ids=["cut off", "broken inside", "no PDF", "no GIF", "no WebP", "half a character"],
)
async def test_a_broken_file_is_kept_and_the_conversation_goes_on(house: OpenHouse, room: Room, content: bytes) -> None:
    async with house():
        assert await asks_with(room, "look", {"broken.png": content})
        assert await room.asks("and now?")


async def test_a_picture_that_is_a_bomb_is_not_opened(house: OpenHouse, room: Room) -> None:
    async with house():
        assert await asks_with(room, "look", {"bomb.png": picture(8_000, 7_000)})
        await room.until(lambda: any("cannot read" in notice for notice in room.notices()))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("voice.ogg", b"OggS\x00\x02" + bytes(50), "I cannot listen to voice.ogg. Please write it instead."),
        ("a.mp4", b"\0\0\0\x18ftypmp42\0", "I cannot watch a.mp4. Send a picture of it, or some words."),
        ("cat.png", picture()[:40], "I keep cat.png, but cannot read it: it seems to be broken."),
        ("data.bin", b"\x00\x01\x02\xff", "I keep data.bin, but cannot read it: I do not know that kind of file."),
    ],
)
async def test_a_file_that_cannot_be_read_without_a_word_costs_a_sentence_and_no_request(
    house: OpenHouse, room: Room, model: MessagesServer, *, name: str, content: bytes, sentence: str
) -> None:
    async with house():
        assert await asks_with(room, " ", {name: content}) == sentence
        assert room.notices() == []
        assert model.requests == []
        await room.asks("what did I send?")
    assert f"files/{name}" in str(model.requests[-1].request.messages)
    assert "as the person was told" in str(model.requests[-1].request.messages)


async def test_of_several_pictures_one_that_is_broken_is_said_and_the_others_are_seen(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        await asks_with(room, "", {"one.png": picture(), "two.png": picture()[:40], "three.png": picture()})
        await room.until(room.notices)
    assert len(blocks(model, "image")) == 2
    assert room.notices() == ["I keep two.png, but cannot read it: it seems to be broken."]
    assert "files/two.png" in str(model.requests[-1].request.messages)


async def test_files_that_cannot_be_read_are_all_named_in_one_answer(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(files={"most_bytes": 1000}):
        said = await asks_with(
            room, "", {"a.png": picture()[:40], "b.ogg": b"OggS\x00" + bytes(9), "c.bin": bytes(2000)}
        )
    assert said.splitlines() == [
        "I keep a.png, but cannot read it: it seems to be broken.",
        "I cannot listen to b.ogg. Please write it instead.",
        "I did not get c.bin: it is too large (0.0 MB; at most 0 MB).",
    ]
    assert model.requests == []


async def test_what_waits_behind_a_file_that_cannot_be_read_is_answered(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        room.hold_files()
        await room.says("", files={"voice.ogg": b"OggS\x00" + bytes(9)})
        await room.says("and this?")
        room.let_files_go()
        await room.until(lambda: any("and this" in str(one.request.messages) for one in model.requests))
        await room.until(room.notices)
    assert room.notices() == ["I cannot listen to voice.ogg. Please write it instead."]
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("takes", "sentences"),
    [
        (
            frozenset[str](),
            [
                "I keep cat.png, but this model's server takes no pictures.",
                "I keep paper.pdf, but this model's server takes no PDFs.",
            ],
        ),
        (frozenset({"image"}), ["I keep paper.pdf, but this model's server takes no PDFs."]),
        (frozenset({"image", "document"}), []),
    ],
    ids=["neither", "pictures", "both"],
)
async def test_whoever_sends_what_the_models_server_does_not_take_is_told_once(
    room: Room, data_dir: Path, takes: frozenset[str], sentences: list[str]
) -> None:
    link = Link(ScriptedModel("I see.", "As I said."), "text-model", takes=takes)
    async with open_house(Settings(_env_file=None, data_dir=data_dir, access="open"), room, model=link):
        assert await asks_with(room, "look", {"cat.png": picture(), "paper.pdf": pdf()}) == "I see."
        await room.until(lambda: len(room.notices()) == len(sentences))
        assert await room.asks("and now?") == "As I said."
        assert room.notices() == sentences


async def test_a_file_that_takes_too_long_is_said_and_the_words_are_answered(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(files={"seconds": 1}):
        assert await asks_with(room, "what is in it?", {"paper.pdf": hostile_pdf()})
        await room.until(room.notices)
    assert room.notices() == ["I keep paper.pdf, but cannot read it: it takes too long to open."]
    assert "as the person was told: it takes too long to open" in str(model.requests[-1].request.messages)


async def test_whoever_sends_what_takes_long_holds_up_nobody_else(house: OpenHouse, room: Room) -> None:
    async with house(files={"seconds": 3_600}):
        for number in range(6):
            await room.says("look", files={f"{number}.pdf": hostile_pdf()}, chat="mallory")
        await room.says("look", files={"cat.png": picture()}, chat="ada")
        await room.until(lambda: room.replies("ada"))
        assert not room.replies("mallory")


async def test_a_folder_that_cannot_be_written_is_said_and_harms_nobody_else(house: OpenHouse, room: Room) -> None:
    async with house() as opened:
        opened.folder().mkdir(parents=True)
        (opened.folder() / "files").write_text("in the way")
        assert await asks_with(room, "look", {"a.txt": b"hello"})
        await room.until(lambda: any("written down" in notice for notice in room.notices()))


async def test_what_is_too_large_is_said_and_the_words_are_answered(house: OpenHouse, room: Room) -> None:
    async with house(files={"most_bytes": 1000}) as opened:
        assert await asks_with(room, "look", {"film.mp4": b"x" * 2000})
        await room.until(lambda: any("film.mp4" in notice and "too large" in notice for notice in room.notices()))
        assert not (opened.folder() / "files").exists()


async def test_a_file_without_words_is_answered(house: OpenHouse, room: Room) -> None:
    async with house():
        assert await asks_with(room, "", {"cat.png": picture()})


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "..\\..\\x.png", "/etc/passwd", ".bashrc", "a\u202egnp.exe", "", "x" * 500 + ".png"]
)
async def test_no_name_leads_out_of_the_folder(house: OpenHouse, room: Room, name: str) -> None:
    async with house() as opened:
        await asks_with(room, "look", {name: b"hello"})
        [file] = [path for path in opened.folder().rglob("*") if path.is_file() and path.read_bytes() == b"hello"]
        assert file.parent == opened.folder() / "files"
        assert not file.name.startswith(".")
        assert len(file.name) <= 110
        assert file.name.isprintable()


async def test_two_files_of_one_name_are_both_kept(house: OpenHouse, room: Room) -> None:
    async with house() as opened:
        await asks_with(room, "one", {"a.txt": b"first"})
        await asks_with(room, "two", {"a.txt": b"second"})
        assert (opened.folder() / "files" / "a.txt").read_bytes() == b"first"
        assert (opened.folder() / "files" / "a-2.txt").read_bytes() == b"second"


async def test_a_server_that_takes_no_pictures_does_not_brick_the_conversation(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.fail(400, "invalid_request_error", "Could not process image")
    async with house():
        assert await asks_with(room, "look", {"cat.png": picture()})
        await room.until(lambda: any("did not take the files" in notice for notice in room.notices()))
        assert blocks(model, "image") == []
        assert await room.asks("and now?")
        assert blocks(model, "image") == []


async def test_files_are_fetched_after_a_restart_if_need_be(house: OpenHouse, room: Room) -> None:
    async with house(roles=("gateway",)):
        await room.says("look", files={"notes.txt": b"hello"})
    async with house():
        await room.until(room.replies)


async def test_the_model_sends_a_file(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house() as opened:
        await asks_with(room, "keep this", {"notes.txt": b"hello"})
        model.brain = sends_the_file
        await room.says("send it back")
        await room.until(lambda: {"Done.", "As you wished."} <= {*room.replies()})
        [sent] = [message for message in room.shown["1"].values() if message.file]
        assert sent.text == "As you wished."
        assert sent.file
        assert sent.file.name == "notes.txt"
        assert Path(sent.file.path).is_relative_to(opened.folder())
        assert Path(sent.file.path).read_bytes() == b"hello"
        assert room.replies()[-2:] == ["Done.", "As you wished."], "a file stands below what is said in its turn"
