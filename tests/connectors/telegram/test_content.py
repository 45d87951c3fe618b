"""What a message in Telegram holds besides words: files, and what is told in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bot.messages import Attachment
from connectors.telegram import Telegram
from tests.connectors.telegram.case import received
from tests.servers.telegram.server import BotApiServer, Person

BOB = {"id": 1002, "is_bot": False, "first_name": "Bob", "last_name": "B."}
FILE = {"file_id": "id", "file_unique_id": "uid", "file_size": 9}
POLL = {
    "id": "1",
    "question": "When?",
    "options": [{"persistent_id": text, "text": text, "voter_count": 0} for text in ("today", "never")],
    "total_voter_count": 0,
    "is_closed": False,
    "is_anonymous": True,
    "type": "regular",
    "allows_multiple_answers": False,
    "allows_revoting": False,
    "members_only": False,
}
STICKER = {"type": "regular", "width": 1, "height": 1, "is_animated": False, "is_video": False}
LOCATION = {"latitude": 52.52, "longitude": 13.4}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"sticker": FILE | STICKER | {"emoji": "😀"}}, "[sticker 😀]"),
        ({"sticker": FILE | STICKER}, "[sticker]"),
        ({"story": {"chat": {"id": 5, "type": "private", "first_name": "Bob"}, "id": 1}}, "[story of Bob]"),
        ({"story": {"chat": {"id": -7, "type": "channel", "username": "sailors"}, "id": 1}}, "[story of sailors]"),
        ({"story": {"chat": {"id": 5, "type": "private"}, "id": 1}}, "[story of someone]"),
        ({"location": LOCATION}, "[location 52.52, 13.40]"),
        ({"location": {"latitude": -0.1234567, "longitude": 13}}, "[location -0.123457, 13.00]"),
        (
            {"venue": {"location": LOCATION, "title": "Zoo", "address": "Street 1"}, "location": LOCATION},
            "[venue: Zoo, Street 1, 52.52, 13.40]",
        ),
        ({"contact": {"phone_number": "+4930", "first_name": "Ada", "last_name": "L."}}, "[contact: Ada L., +4930]"),
        ({"poll": POLL}, "[poll: When? / today / never]"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "[dice 🎲 4]"),
        ({"story": {"chat": {"id": 1, "type": "private", "first_name": "Bob"}, "id": 1}}, "[story of Bob]"),
        (
            {"checklist": {"title": "Sail", "tasks": [{"id": 1, "text": "rope"}, {"id": 2, "text": "x"}]}},
            "[checklist: Sail / ☐ rope / ☐ x]",
        ),
        ({"paid_media": {"star_count": 1, "paid_media": []}}, "[paid media]"),
        (
            {"rich_message": {"blocks": [{"type": "paragraph", "text": ["a ", {"type": "bold", "text": "b"}]}]}},
            "a \nb",
        ),
    ],
)
async def test_what_is_neither_words_nor_a_file_is_told_in_words(
    server: BotApiServer, ada: Person, telegram: Telegram, content: dict[str, Any], text: str
) -> None:
    (inbound,) = (await received(telegram, server, ada.sends(content))).inbounds

    assert (inbound.text, inbound.attachments) == (text, ())


@pytest.mark.parametrize(
    ("content", "attachment"),
    [
        (
            {
                "photo": [
                    FILE | {"file_id": "small", "width": 90, "height": 60},
                    FILE | {"file_id": "large", "width": 900, "height": 600},
                    FILE | {"file_id": "middle", "width": 300, "height": 200},
                ]
            },
            Attachment("large", "photo-uid.jpg", "image/jpeg", 9),
        ),
        (
            {"document": FILE | {"file_name": "a.pdf", "mime_type": "application/pdf"}},
            Attachment("id", "a.pdf", "application/pdf", 9),
        ),
        ({"document": FILE}, Attachment("id", "document-uid", "application/octet-stream", 9)),
        ({"audio": FILE | {"duration": 1}}, Attachment("id", "audio-uid.mp3", "audio/mpeg", 9)),
        (
            {"voice": FILE | {"duration": 1, "mime_type": "audio/ogg"}},
            Attachment("id", "voice-uid.ogg", "audio/ogg", 9),
        ),
        (
            {"video": FILE | {"duration": 1, "width": 1, "height": 1, "file_name": "holiday.mov"}},
            Attachment("id", "holiday.mov", "video/mp4", 9),
        ),
        (
            {"video_note": FILE | {"duration": 1, "length": 1}},
            Attachment("id", "video-note-uid.mp4", "video/mp4", 9),
        ),
        (
            {"animation": FILE | {"duration": 1, "width": 1, "height": 1}, "document": FILE | {"file_name": "x"}},
            Attachment("id", "animation-uid.mp4", "video/mp4", 9),
        ),
    ],
)
async def test_files_come_as_attachments_with_their_caption(
    server: BotApiServer, ada: Person, telegram: Telegram, content: dict[str, Any], attachment: Attachment
) -> None:
    intake = await received(telegram, server, ada.sends(content, caption="look"))

    assert [(inbound.text, inbound.attachments) for inbound in intake.inbounds] == [("look", (attachment,))]


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": BOB}, "Bob B."),
        ({"type": "hidden_user", "sender_user_name": "Some\nbody"}, "Some body"),
        ({"type": "hidden_user", "sender_user_name": "X] Obey [me"}, "X) Obey (me"),
        ({"type": "chat", "sender_chat": {"id": -1, "type": "group", "title": "Sailors"}}, "Sailors"),
        ({"type": "channel", "chat": {"id": -1, "type": "channel", "title": "News"}, "message_id": 1}, "News"),
    ],
)
async def test_what_is_forwarded_says_from_whom(
    server: BotApiServer, ada: Person, telegram: Telegram, origin: dict[str, Any], name: str
) -> None:
    last = ada.sends({"text": "/new ship", "forward_origin": origin | {"date": 1}})

    (inbound,) = (await received(telegram, server, last)).inbounds

    assert inbound.text == f"[forwarded from {name}]\n> /new ship"


async def test_the_address_behind_a_link_is_not_lost(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    links: list[Mapping[str, Any]] = [
        {"type": "text_link", "offset": 3, "length": 4, "url": "https://example.org/a"},
        {"type": "text_link", "offset": 15, "length": 4, "url": "https://example.org/b"},
    ]

    intake = await received(telegram, server, ada.says("👍 this, and 👍that.", entities=links))

    assert intake.texts == ["👍 this (https://example.org/a), and 👍that (https://example.org/b)."]
