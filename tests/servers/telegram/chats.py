"""What the platform knows: its chats, their messages, and who gives out ids."""

import copy
import time
from collections import defaultdict
from typing import Any

from tests.servers.telegram.drafts import Drafts
from tests.servers.telegram.files import Files, StoredFile
from tests.servers.telegram.switches import Switches
from tests.servers.telegram.wire import Chat, Json, SentMessage

USERNAME = "palimpsest_test_bot"


class Chats:
    """The platform's state, which outlives any bot."""

    def __init__(self, bot_id: int, switches: Switches) -> None:
        self.switches = switches
        self.bot: Json = {"id": bot_id, "is_bot": True, "first_name": "Palimpsest", "username": USERNAME}
        self.chats: dict[int, Chat] = {}
        self.sent: dict[tuple[int, int], SentMessage] = {}
        self.received: dict[tuple[int, int], dict[str, Any]] = {}
        self.actions: list[tuple[int, str, float]] = []
        self.reactions: dict[tuple[int, int], list[Json]] = {}
        self.open_presses: set[str] = set()
        self.files = Files()
        self.drafts = Drafts(switches)
        self._last_id = 0
        self._last_in_supergroup: dict[int, int] = defaultdict(int)

    def me(self) -> Json:
        """What getMe says about the bot."""
        return {
            **self.bot,
            "can_join_groups": True,
            "can_read_all_group_messages": not self.switches.privacy_mode,
            "supports_guest_queries": False,
            "supports_inline_queries": False,
            "can_connect_to_business": False,
            "has_main_web_app": False,
            "has_topics_enabled": any(chat.private and chat.topics for chat in self.chats.values()),
            "allows_users_to_create_topics": True,
            "can_manage_bots": False,
        }

    def next_id(self) -> int:
        """The next id of anything but a message of a supergroup."""
        self._last_id += 1
        return self._last_id

    def next_message_id(self, chat: Chat) -> int:
        """The next id of a message: a supergroup counts its own, the other chats count together."""
        if chat.type != "supergroup":
            return self.next_id()
        self._last_id += 1  # there are many others who write to the bot
        self._last_in_supergroup[chat.id] += 1
        return self._last_in_supergroup[chat.id]

    def exists(self, chat_id: int, message_id: object) -> bool:
        """Whether there is such a message, of anyone."""
        if not isinstance(message_id, int):
            return False
        sent = self.sent.get((chat_id, message_id))
        return (chat_id, message_id) in self.received or (sent is not None and not sent.deleted)

    def receive(self, chat: Chat, sender: Json, content: Json) -> dict[str, Any]:
        """Store a person's message and return its JSON."""
        message = {
            "message_id": self.next_message_id(chat),
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
            **_content(message),
        }
        if message.thread_id is not None:
            body |= {"message_thread_id": message.thread_id, "is_topic_message": True}
        if message.reply_markup and "inline_keyboard" in message.reply_markup:
            body["reply_markup"] = message.reply_markup
        if message.edits:
            body["edit_date"] = int(time.time())
        if message.reply_to is not None:
            body["reply_to_message"] = self.wire_of(message.chat_id, message.reply_to)
        return body

    def wire_of(self, chat_id: int, message_id: int) -> Json:
        """The JSON of any message, without what it replies to."""
        received = self.received.get((chat_id, message_id))
        body = copy.deepcopy(received) or dict(self.wire_of_sent(self.sent[chat_id, message_id]))
        return {name: value for name, value in body.items() if name != "reply_to_message"}


def _content(message: SentMessage) -> dict[str, Any]:
    if message.rich is not None:
        return {"rich_message": {"blocks": message.rich}}
    named = "text"
    body: dict[str, Any] = {}
    if message.file is not None:
        named = "caption"
        body |= _file(message.file)
    if message.text or not body:
        body[named] = message.text
    if message.entities:
        body["entities" if named == "text" else "caption_entities"] = message.entities
    return body


def _file(file: StoredFile) -> dict[str, Any]:
    if file.kind == "photo":
        return {"photo": [file.wire() | {"width": 1280, "height": 960}]}
    return {"document": file.document()}
