"""Telegram Desktop's export as JSON: `result.json` of one chat, or of an account with all its chats.

One chat may be as long as the file, so its messages are read one by one. A text is a string, or a list of strings and
of parts that are formatted. In a chat with a bot its messages are the assistant's; elsewhere everybody is a person, who
is named. The fields are those that Telegram Desktop's own exporter writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ijson

from bot.app.archive.foreign.conversation import (
    ForeignConversation,
    ForeignMessage,
    FormatName,
    Piece,
    Read,
    attached,
    items,
    mapping,
    seconds,
    text_of,
)
from bot.app.archive.foreign.files import BadExport, Part
from bot.history import EntryKind

_RESULT = "result.json"
_CHATS = ("", "chats.list.item", "left_chats.list.item")
_OF_BOTS = "bot_chat"
_ALONE = "saved_messages"
_ABSENT = "(File "
"""What stands in the place of a path where the file was not exported."""
_MEDIA = {
    "voice_message": "voice message",
    "video_message": "video message",
    "video_file": "video",
    "audio_file": "audio",
    "animation": "animation",
    "sticker": "sticker",
}
_SERVICE = ("title", "text", "information_text", "members", "inviter", "new_title", "duration_seconds", "emoticon")


@dataclass
class _Chat:
    """The chat that is being read. Its head stands before its messages."""

    head: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.head.get("id", ""))

    @property
    def type(self) -> str:
        return text_of(self.head.get("type"))

    def conversation(self) -> ForeignConversation:
        title = text_of(self.head.get("name")) or ("Saved Messages" if self.type == _ALONE else "")
        return ForeignConversation("telegram", self.id, title)


class Telegram:
    """See :class:`bot.app.archive.foreign.conversation.Reader`."""

    name: FormatName = "telegram"
    program = "Telegram"

    def parts(self, found: Sequence[Part]) -> Sequence[Part]:
        """The one file."""
        results = [part for part in found if part.base == _RESULT]
        if not results and any(part.base.startswith("messages") and part.base.endswith(".html") for part in found):
            raise BadExport(IS_HTML)
        return results[:1]

    def read(self, parts: Sequence[Part]) -> Read:
        """Chat by chat."""
        for part in parts:
            chats = _Chats(part)
            while (chat := chats.next()) is not None:
                yield chat.conversation(), _messages(chat, chats)


IS_HTML = (
    "That is an export as HTML. In Telegram Desktop choose Export chat history (or Settings, Advanced, Export Telegram "
    "data) again with the format “Machine-readable JSON”, and import its result.json."
)


class _Chats:
    """Walks through a file: to the next chat, and through its messages."""

    def __init__(self, part: Part) -> None:
        self._events = part.events()
        self._chat: _Chat | None = None
        self._place = ""
        self._heads: dict[str, dict[str, Any]] = {}

    def next(self) -> _Chat | None:
        """The next chat that has messages; what is left of this one is passed over."""
        for _ in self.messages():
            pass
        for place, event, value in self._events:
            if event == "start_array" and place.endswith("messages"):
                chat = place.removesuffix("messages").removesuffix(".")
                if chat in _CHATS:
                    self._place = place
                    self._chat = _Chat(self._heads.pop(chat, {}))
                    return self._chat
            elif event in ("string", "number"):
                chat, _, name = place.rpartition(".")
                if name in ("name", "type", "id") and chat in _CHATS:
                    self._heads.setdefault(chat, {})[name] = value
        return None

    def messages(self) -> Iterator[dict[str, Any]]:
        """Those of this chat that were not read yet."""
        if self._chat is None:
            return
        builder, item = None, f"{self._place}.item"
        for place, event, value in self._events:
            if builder is None:
                if event == "end_array" and place == self._place:
                    break
                if event == "start_map" and place == item:
                    builder = ijson.ObjectBuilder()
                    builder.event(event, value)
            else:
                builder.event(event, value)
                if event == "end_map" and place == item:
                    found = builder.value
                    builder = None
                    yield found
        self._chat = None


def _messages(chat: _Chat, chats: _Chats) -> Iterator[ForeignMessage]:
    for found in chats.messages():
        if message := _message(chat, found):
            yield message


def _message(chat: _Chat, found: dict[str, Any]) -> ForeignMessage | None:
    name, at = str(found.get("id", "")), seconds(found.get("date_unixtime")) or seconds(found.get("date"))
    if found.get("type") == "service":
        text = _service(found)
        return ForeignMessage(name, at, [Piece(EntryKind.NOTE, text)]) if text else None
    if found.get("type") != "message" or not name:
        return None
    text = "\n".join(filter(None, [_forwarded(found), _text(found.get("text")), *_media(found)])).strip()
    if not text:
        return None
    sender = text_of(found.get("from_id"))
    if chat.type == _OF_BOTS and sender == f"user{chat.id}":
        return ForeignMessage(name, at, [Piece(EntryKind.REPLY, text)])
    alone = chat.type in (_OF_BOTS, _ALONE)
    return ForeignMessage(
        name,
        at,
        [Piece(EntryKind.SAID, text)],
        speaker="" if alone else text_of(found.get("from")) or "Deleted Account",
        person=sender.removeprefix("user"),
        answers=str(found.get("reply_to_message_id") or ""),
    )


def _text(text: Any) -> str:
    if isinstance(text, str):
        return text
    return "".join(_formatted(part) for part in items(text))


def _formatted(part: Any) -> str:
    if isinstance(part, str):
        return part
    part = mapping(part)
    text = text_of(part.get("text"))
    if part.get("type") == "text_link" and (link := text_of(part.get("href"))) and link != text:
        return f"{text} ({link})"
    if part.get("type") == "pre":
        return f"```{text_of(part.get('language'))}\n{text}\n```"
    return text


def _forwarded(found: dict[str, Any]) -> str:
    if "forwarded_from" not in found:
        return ""
    return f"[Forwarded from {text_of(found['forwarded_from']) or 'a deleted account'}]"


def _media(found: dict[str, Any]) -> Iterator[str]:
    """What is there beside the text: by its name, never itself."""
    if photo := text_of(found.get("photo")):
        yield attached(_base(photo), "photo")
    if "file" in found:
        kind = _MEDIA.get(text_of(found.get("media_type")), "file")
        named = (found.get("sticker_emoji"), found.get("title"), found.get("file_name"), _base(text_of(found["file"])))
        yield attached(next((text for one in named if (text := text_of(one))), ""), kind)
    if place := mapping(found.get("location_information")):
        where = (found.get("place_name"), found.get("address"), place.get("latitude"), place.get("longitude"))
        yield attached(", ".join(str(one) for one in where if one), "location")
    if contact := mapping(found.get("contact_information")):
        told = (contact.get("first_name"), contact.get("last_name"), contact.get("phone_number"))
        yield attached(" ".join(filter(None, map(text_of, told))), "contact")
    if poll := mapping(found.get("poll")):
        answers = ", ".join(text_of(mapping(one).get("text")) for one in items(poll.get("answers")))
        yield attached(f"{text_of(poll.get('question'))} ({answers})", "poll")


def _base(path: str) -> str:
    return "" if path.startswith(_ABSENT) else path.rpartition("/")[2]


def _service(found: dict[str, Any]) -> str:
    who = text_of(found.get("actor")) or text_of(found.get("from"))
    action = text_of(found.get("action")).replace("_", " ")
    told = "; ".join(filter(None, (_told(found[name]) for name in _SERVICE if name in found)))
    said = ": ".join(filter(None, [action, told]))
    return f"[{who}: {said}]" if who and said else f"[{said}]" if said else ""


def _told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(text_of, value))) or _text(value)
    return str(value) if value else ""
