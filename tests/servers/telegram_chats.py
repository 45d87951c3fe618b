"""What the platform knows: its chats, their messages, and one counter for all ids."""

import time
from typing import Any

from tests.servers.telegram_wire import Chat, Json, SentMessage


class Chats:
    """The platform's state, which outlives any bot."""

    def __init__(self, bot_id: int) -> None:
        self.bot: Json = {
            "id": bot_id,
            "is_bot": True,
            "first_name": "Palimpsest",
            "username": "palimpsest_test_bot",
            "can_join_groups": True,
            "can_read_all_group_messages": True,
            "supports_inline_queries": False,
        }
        self.chats: dict[int, Chat] = {}
        self.sent: dict[tuple[int, int], SentMessage] = {}
        self.received: dict[tuple[int, int], dict[str, Any]] = {}
        self.actions: list[tuple[int, str, float]] = []
        self.reactions: dict[tuple[int, int], list[Json]] = {}
        self.open_presses: set[str] = set()
        self.files: dict[str, bytes] = {}
        self._last_id = 0

    def next_message_id(self) -> int:
        """The next id of anything."""
        self._last_id += 1
        return self._last_id

    def exists(self, chat_id: int, message_id: object) -> bool:
        """Whether there is such a message, of anyone."""
        if not isinstance(message_id, int):
            return False
        sent = self.sent.get((chat_id, message_id))
        return (chat_id, message_id) in self.received or (sent is not None and not sent.deleted)

    def receive(self, chat: Chat, sender: Json, content: Json) -> dict[str, Any]:
        """Store a person's message and return its JSON."""
        message = {
            "message_id": self.next_message_id(),
            "date": int(time.time()),
            "chat": chat.wire(),
            "from": sender,
            **content,
        }
        self.received[chat.id, message["message_id"]] = message
        return message

    def wire_of_sent(self, message: SentMessage) -> Json:
        """The JSON of a message of the bot."""
        body: dict[str, Any] = {
            "message_id": message.message_id,
            "date": int(time.time()),
            "chat": self.chats[message.chat_id].wire(),
            "from": self.bot,
            "text": message.text,
        }
        if message.thread_id is not None:
            body |= {"message_thread_id": message.thread_id, "is_topic_message": True}
        if message.reply_markup and "inline_keyboard" in message.reply_markup:
            body["reply_markup"] = message.reply_markup
        if message.entities:
            body["entities"] = message.entities
        if message.edits:
            body["edit_date"] = int(time.time())
        if message.reply_to is not None:
            body["reply_to_message"] = self.wire_of(message.chat_id, message.reply_to)
        return body

    def wire_of(self, chat_id: int, message_id: int) -> Json:
        """The JSON of any message, without what it replies to."""
        received = self.received.get((chat_id, message_id))
        body = received or dict(self.wire_of_sent(self.sent[chat_id, message_id]))
        return {name: value for name, value in body.items() if name != "reply_to_message"}
