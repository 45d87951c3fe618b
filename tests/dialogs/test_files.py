"""Files both ways."""

from __future__ import annotations

import io

from PIL import Image
from pypdf import PdfWriter

from tests.dialogs.behind import heard, requests, sees, thinks
from tests.dialogs.conftest import Play
from tests.dialogs.stages import ALBUMS, everywhere
from tests.dialogs.table import ada, bot, bot_sends
from tests.servers.messages.server import MessagesRequest, Reply, ToolCall

NOTES = "The key is under the mat. 钥匙".encode()


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "teal").save(file, "PNG")
    return file.getvalue()


def pdf() -> bytes:
    writer, file = PdfWriter(), io.BytesIO()
    writer.add_blank_page(72, 72)
    writer.write(file)
    return file.getvalue()


def sends_the_file(request: MessagesRequest) -> Reply:
    """A model that sends back what it got, once."""
    if "goes to the chat" in request.all_text:
        return Reply("Done.")
    return Reply("", [ToolCall("send_file", {"path": "files/notes.txt", "caption": "As you wished."})])


@everywhere()
async def test_the_model_sees_a_picture(play: Play) -> None:
    await play(
        ada.sends("what is this?", {"cat.png": picture()}),
        bot("Noted*"),
        sees("image"),
        heard("what is this?", "files/cat"),
        window=20_000,
    )


@everywhere(ALBUMS)
async def test_photos_that_were_sent_together_are_answered_together(play: Play) -> None:
    await play(
        ada.sends("look", {"one.png": picture(), "two.png": picture()}, as_photo=True),
        bot("Noted*"),
        sees("image", times=2),
        heard("look"),
        requests(1),
        window=20_000,
    )


@everywhere()
async def test_the_model_sees_a_pdf(play: Play) -> None:
    await play(
        ada.sends("read this", {"paper.pdf": pdf()}),
        bot("Noted*"),
        sees("document"),
        window=20_000,
    )


@everywhere()
async def test_the_model_reads_a_text_file(play: Play) -> None:
    await play(
        ada.sends("read this", {"notes.txt": NOTES}),
        bot("Noted*"),
        heard("files/notes.txt", NOTES.decode()),
    )


@everywhere()
async def test_a_file_without_words_is_answered(play: Play) -> None:
    await play(
        ada.sends("", {"notes.txt": NOTES}),
        bot("Noted*"),
        heard(NOTES.decode()),
    )


@everywhere()
async def test_a_voice_message_without_words_costs_a_sentence_and_no_request(play: Play) -> None:
    await play(
        ada.sends("", {"voice.ogg": b"OggS\x00\x02" + bytes(50)}),
        bot("I cannot listen to voice.ogg. Please write it instead."),
        requests(0),
        ada("I said hello"),
        bot("Noted*"),
        heard("I said hello", "files/voice.ogg"),
        requests(1),
    )


@everywhere()
async def test_what_is_too_large_is_said_and_the_words_are_answered(play: Play) -> None:
    await play(
        ada.sends("look at this", {"film.mp4": b"x" * 2000}),
        bot("I did not get film.mp4: *too large*"),
        bot("Noted*"),
        heard("look at this"),
        files={"most_bytes": 1000},
    )


@everywhere()
async def test_the_model_sends_a_file(play: Play) -> None:
    await play(
        ada.sends("keep this", {"notes.txt": NOTES}),
        bot("Noted*"),
        thinks(sends_the_file),
        ada("send it back"),
        bot("Done."),
        bot_sends("notes.txt", NOTES, "As you wished."),
    )
