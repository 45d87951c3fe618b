"""The human's side of a chat."""

import re
from dataclasses import dataclass, field
from typing import Any

from tests.servers.telegram.chats import Chats
from tests.servers.telegram.entities import special_parts
from tests.servers.telegram.membership import membership_change
from tests.servers.telegram.privacy import reaches_bot
from tests.servers.telegram.updates import Updates
from tests.servers.telegram.wire import Chat, Json


@dataclass(frozen=True)
class Person:
    """Somebody who talks to the bot: in private, or in the group that is named.

    What they do returns the id of the update that it makes, 0 where the bot does not get to know.
    """

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

    def last(self, chat: Chat | None = None) -> int:
        """The id of the last message that they have written there; LookupError where there is none."""
        place = self._place(chat)
        written = [
            message_id
            for (chat_id, message_id), message in self._chats.received.items()
            if chat_id == place.id and message["from"]["id"] == self.id
        ]
        if not written:
            raise LookupError(f"{self.name} has written nothing in chat {place.id}")
        return written[-1]

    def says(
        self,
        text: str,
        *,
        chat: Chat | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        media_group: str | None = None,
        entities: list[Json] | None = None,
    ) -> int:
        """Send a text, formatted by `entities`; Telegram finds commands, mentions and addresses by itself."""
        content = _with_entities({"text": text}, "entities", text, entities)
        return self.sends(content, chat=chat, thread=thread, reply_to=reply_to, media_group=media_group)

    def sends(
        self,
        content: Json,
        *,
        caption: str | None = None,
        chat: Chat | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        media_group: str | None = None,
    ) -> int:
        """Send a message of any kind: the fields that make it one, such as `{"location": {…}}`."""
        place = self._place(chat)
        body = dict(content)
        if caption is not None:
            body = _with_entities(body | {"caption": caption}, "caption_entities", caption, None)
        if thread is not None and (place.private or place.forum):
            place.topics.setdefault(thread, f"Topic {thread}")
            body |= {"message_thread_id": thread, "is_topic_message": True}
            if reply_to is None and place.forum and (place.id, thread) in self._chats.received:
                reply_to = thread  # in a forum everything replies to the message that opened the topic
        elif thread is not None:
            body["message_thread_id"] = thread
        if reply_to is not None:
            replied = body["reply_to_message"] = self._chats.wire_of(place.id, reply_to)
            if place.type == "supergroup" and not place.forum:
                # Replies to one message are a thread too, but no topic.
                body.setdefault("message_thread_id", replied.get("message_thread_id", reply_to))
        if media_group is not None:
            body["media_group_id"] = media_group
        place.started = True
        return self._hand_over("message", place, self._chats.receive(place, self.sender, body))

    def sends_file(
        self,
        name: str,
        content: bytes,
        *,
        caption: str | None = None,
        chat: Chat | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        media_group: str | None = None,
        size: int | None = None,
    ) -> int:
        """Send a document; `size` (bytes) is what Telegram says of it, if not the true one."""
        document = self._chats.files.add("document", name, content, size).document()
        return self.sends(
            {"document": document},
            caption=caption,
            chat=chat,
            thread=thread,
            reply_to=reply_to,
            media_group=media_group,
        )

    def sends_photo(
        self,
        content: bytes,
        *,
        caption: str | None = None,
        chat: Chat | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        media_group: str | None = None,
        size: int | None = None,
    ) -> int:
        """Send a photo, which Telegram offers in three sizes; the bytes are those of the largest."""
        sizes = self._chats.files.add_photo(content, size=size)
        return self.sends(
            {"photo": sizes}, caption=caption, chat=chat, thread=thread, reply_to=reply_to, media_group=media_group
        )

    def sends_album(
        self, photos: list[bytes], *, caption: str | None = None, chat: Chat | None = None, thread: int | None = None
    ) -> list[int]:
        """Send photos as one album: a message for each of them, the caption under the first."""
        album = f"album-{self._chats.next_id()}"
        captions = [caption, *[None] * (len(photos) - 1)]
        return [
            self.sends_photo(photo, caption=words, chat=chat, thread=thread, media_group=album)
            for photo, words in zip(photos, captions, strict=True)
        ]

    def sends_voice(
        self, content: bytes, *, seconds: int = 3, caption: str | None = None, chat: Chat | None = None
    ) -> int:
        """Send a voice message."""
        stored = self._chats.files.add("voice", "voice.oga", content)
        voice = stored.wire() | {"duration": seconds, "mime_type": "audio/ogg"}
        return self.sends({"voice": voice}, caption=caption, chat=chat)

    def sends_sticker(self, emoji: str = "👍", *, chat: Chat | None = None) -> int:
        """Send a sticker."""
        stored = self._chats.files.add("sticker", "sticker.webp", b"RIFF")
        looks = {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False}
        return self.sends({"sticker": stored.wire() | looks | {"emoji": emoji}}, chat=chat)

    def edits(self, message_id: int, text: str, *, chat: Chat | None = None, entities: list[Json] | None = None) -> int:
        """Change the text or the caption of one of their own messages, or nothing by the same text."""
        place = self._place(chat)
        message = self._chats.received[place.id, message_id]
        named, marked = ("text", "entities") if "text" in message else ("caption", "caption_entities")
        message.pop(marked, None)
        message |= _with_entities({named: text}, marked, text, entities)
        message["edit_date"] = message.get("edit_date", message["date"]) + 1
        return self._hand_over("edited_message", place, message)

    def presses(self, message_id: int, button: str, *, chat: Chat | None = None) -> int:
        """Press the button with this data, or this label, under a message."""
        place = self._place(chat)
        message = self._chats.sent[place.id, message_id]
        data = [known.get("callback_data") for known in message.buttons]
        if button not in data:
            labels = {str(known["text"]): known.get("callback_data") for known in message.buttons}
            if button not in labels:
                raise LookupError(f"no button {button!r} under message {message_id}, only {data}")
            button = str(labels[button])
        press = f"press-{self._chats.next_id()}"
        self._chats.open_presses.add(press)
        body = {
            "id": press,
            "from": self.sender,
            "message": self._chats.wire_of_sent(message),
            "chat_instance": str(place.id),
            "data": button,
        }
        return self._updates.add("callback_query", body)

    async def stops(self, *, thread: int | None = None) -> int:
        """Press the stop button of the live draft in the private chat; LookupError where there is none."""
        draft = self._chats.drafts.stop(self.id, thread)
        body: dict[str, Any] = {"chat": self._chats.chats[self.id].wire(), "draft_id": draft.draft_id}
        if thread is not None:
            body["message_thread_id"] = thread
        return self._updates.add("stopped_message_generation", body)

    def blocks(self) -> int:
        """Block the bot."""
        self._chats.chats[self.id].blocked = True
        return self._bot_is(self._chats.chats[self.id], "member", "kicked")

    def unblocks(self) -> int:
        """Let the bot write again."""
        self._chats.chats[self.id].blocked = False
        return self._bot_is(self._chats.chats[self.id], "kicked", "member")

    def deletes_account(self) -> None:
        """Be gone from Telegram."""
        self._chats.chats[self.id].deactivated = True

    def adds_bot(self, group: Chat, *, as_admin: bool = False) -> int:
        """Bring the bot into a group, or back; the service message that follows is the second update."""
        before = "kicked" if group.blocked else "left"
        group.blocked, group.member, group.admin = False, True, as_admin
        now = "administrator" if as_admin else "member"
        update = self._bot_is(group, before, now)
        self.sends({"new_chat_members": [self._chats.bot]}, chat=group)
        return update

    def kicks_bot(self, group: Chat) -> int:
        """Take the bot out of a group for good."""
        before = "administrator" if group.admin else "member"
        group.blocked, group.member, group.admin = True, False, False
        return self._bot_is(group, before, "kicked")

    def joins(self, group: Chat) -> int:
        """Come into a group: a service message."""
        return self.sends({"new_chat_members": [self.sender]}, chat=group)

    def leaves(self, group: Chat) -> int:
        """Go out of it: a service message."""
        return self.sends({"left_chat_member": self.sender}, chat=group)

    def pins(self, message_id: int, *, chat: Chat | None = None) -> int:
        """Pin a message: a service message."""
        pinned = self._chats.wire_of(self._place(chat).id, message_id)
        return self.sends({"pinned_message": pinned}, chat=chat)

    def opens_topic(self, name: str, *, chat: Chat | None = None) -> int:
        """Open a topic and return its id, which is that of the service message about it."""
        place = self._place(chat)
        topic = {"name": name, "icon_color": 0x6FB9F0}
        message = self._chats.receive(place, self.sender, {"forum_topic_created": topic, "is_topic_message": True})
        number = int(message["message_id"])
        message["message_thread_id"] = number
        place.topics[number] = name
        self._hand_over("message", place, message)
        return number

    def _place(self, chat: Chat | None) -> Chat:
        return chat or self._chats.chats[self.id]

    def _bot_is(self, chat: Chat, before: str, now: str) -> int:
        change = membership_change(chat, self.sender, self._chats.bot, before, now)
        return self._updates.add("my_chat_member", change)

    def _hand_over(self, kind: str, place: Chat, message: Json) -> int:
        if not reaches_bot(message, place, self._chats.bot, privacy_mode=self._chats.switches.privacy_mode):
            return 0
        return self._updates.add(kind, message)


def _with_entities(body: Json, named: str, text: str, entities: list[Json] | None) -> dict[str, Any]:
    found = [*special_parts(text), *(entities or ())]
    return {**body, named: found} if found else dict(body)
