"""The human's side of a chat."""

import re
from dataclasses import dataclass, field
from typing import Any

from tests.servers.telegram_chats import Chats
from tests.servers.telegram_text import utf16_units
from tests.servers.telegram_updates import Updates
from tests.servers.telegram_wire import Chat, Json

_COMMAND = re.compile(r"(?:^|(?<=\s))/[A-Za-z0-9_]{1,32}(?:@\w+)?")


@dataclass(frozen=True)
class Person:
    """Somebody who talks to the bot: in private, or in the group that is named."""

    id: int
    name: str
    _chats: Chats = field(repr=False)
    _updates: Updates = field(repr=False)

    @property
    def chat_id(self) -> int:
        """The private chat with the bot."""
        return self.id

    @property
    def sender(self) -> Json:
        """Their JSON as a user."""
        username = re.sub(r"\W", "", self.name).lower()
        return {"id": self.id, "is_bot": False, "first_name": self.name, "username": username}

    def says(
        self,
        text: str,
        *,
        chat: Chat | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        media_group: str | None = None,
    ) -> int:
        """Send a text; returns the update's id."""
        place = chat or self._chats.chats[self.id]
        content: dict[str, Any] = {"text": text}
        if entities := _commands(text):
            content["entities"] = entities
        if thread is not None:
            content |= {"message_thread_id": thread, "is_topic_message": True}
        if reply_to is not None:
            content["reply_to_message"] = self._chats.wire_of(place.id, reply_to)
        if media_group is not None:
            content["media_group_id"] = media_group
        return self._updates.add("message", self._chats.receive(place, self.sender, content))

    def sends_file(self, name: str, content: bytes, *, caption: str | None = None, chat: Chat | None = None) -> int:
        """Send a document; returns the update's id."""
        place = chat or self._chats.chats[self.id]
        file_id = f"file-{len(self._chats.files) + 1}"
        self._chats.files[file_id] = content
        document = {
            "file_id": file_id,
            "file_unique_id": f"unique-{file_id}",
            "file_name": name,
            "file_size": len(content),
        }
        body: dict[str, Any] = {"document": document}
        if caption is not None:
            body["caption"] = caption
        return self._updates.add("message", self._chats.receive(place, self.sender, body))

    def edits(self, message_id: int, text: str, *, chat: Chat | None = None) -> int:
        """Change one of their own messages; returns the update's id."""
        place = chat or self._chats.chats[self.id]
        message = self._chats.received[place.id, message_id]
        message |= {"text": text, "edit_date": message["date"] + 1}
        return self._updates.add("edited_message", dict(message))

    def presses(self, message_id: int, data: str, *, chat: Chat | None = None) -> int:
        """Press the button with this data under a message; returns the update's id."""
        place = chat or self._chats.chats[self.id]
        message = self._chats.sent[place.id, message_id]
        offered = [button.get("callback_data") for button in message.buttons]
        if data not in offered:
            raise LookupError(f"no button {data!r} under message {message_id}, only {offered}")
        press = f"press-{self._chats.next_message_id()}"
        self._chats.open_presses.add(press)
        body = {
            "id": press,
            "from": self.sender,
            "message": self._chats.wire_of_sent(message),
            "chat_instance": str(place.id),
            "data": data,
        }
        return self._updates.add("callback_query", body)

    def blocks(self) -> None:
        """Block the bot."""
        self._chats.chats[self.id].blocked = True

    def unblocks(self) -> None:
        """Let the bot write again."""
        self._chats.chats[self.id].blocked = False


def _commands(text: str) -> list[Json]:
    return [
        {
            "type": "bot_command",
            "offset": utf16_units(text[: found.start()]),
            "length": utf16_units(found[0]),
        }
        for found in _COMMAND.finditer(text)
    ]
