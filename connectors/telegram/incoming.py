"""What an update of Telegram means: something that a person says or presses, or news of a chat. Pure.

https://core.telegram.org/bots/api#update
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from aiogram import types
from aiogram.enums import ChatMemberStatus, ChatType

from bot.messages import ABORT_ANSWER, Address, Attachment, Inbound, Quote, as_quoted, in_brackets
from connectors.telegram.content import (
    attachments_of,
    author_of,
    entities_of,
    forwarded_from,
    is_about,
    name_of,
    named,
    origin_of,
    speaker_of,
    words_of,
)
from connectors.text import quotation, utf16_length

Groups: TypeAlias = Literal["mention", "always"]

ALLOWED_UPDATES = ["message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation"]
"""What this program wants to hear of."""

_COMMAND = re.compile(r"/\w+(?:@(?P<bot>\w+))?(?!\S)")
_GROUPS = frozenset({ChatType.GROUP, ChatType.SUPERGROUP})
_GONE = frozenset({ChatMemberStatus.LEFT, ChatMemberStatus.KICKED})
_MOST_ALBUMS = 100
_LONGEST_TEXT = 4096
"""UTF-16 units of a message. https://core.telegram.org/bots/api#message"""
_MORE_SECONDS = 0.6
"""Clients send the pieces of a text, and what is forwarded together, one request after the other."""


@dataclass(frozen=True)
class Reached:
    """A chat takes our messages (again), or does not any more."""

    chat: str
    yes: bool


@dataclass(frozen=True)
class Moved:
    """A chat has another id by now."""

    chat: str
    moved_to: str


News: TypeAlias = Inbound | Reached | Moved


class Incoming:
    """Reads updates for this bot. ``groups``: answer what is meant for it there, or everything."""

    def __init__(self, bot: types.User, groups: Groups) -> None:
        self._bot = bot
        self._groups = groups
        self._albums: deque[str] = deque(maxlen=_MOST_ALBUMS)
        """Those of which a picture was meant for us: so are the others, though only one has a caption."""

    @property
    def me(self) -> types.User:
        """The bot."""
        return self._bot

    def read(self, update: types.Update) -> News | None:
        """What it means, or None where that is nothing to us."""
        if update.callback_query:
            return self._press(update.callback_query, update.update_id)
        if update.stopped_message_generation:
            return self._stop(update.stopped_message_generation, update.update_id)
        if update.my_chat_member:
            return _membership(update.my_chat_member)
        if update.edited_message:
            return self._edit(update.edited_message, update.update_id)
        if update.message:
            return _moved(update.message) or self._said(update.message, update.update_id)
        return None

    def _press(self, query: types.CallbackQuery, order: int) -> Inbound | None:
        message = query.message
        if not message or not query.data or message.chat.type not in {ChatType.PRIVATE, *_GROUPS}:
            return None
        is_private = message.chat.type == ChatType.PRIVATE
        return Inbound(
            address=_address(message),
            key=f"press:{query.id}",
            kind="press",
            order=order,
            person=str(query.from_user.id),
            person_name=query.from_user.full_name,
            text=query.data,
            speaker="" if is_private else named(query.from_user.full_name, query.from_user.username),
        )

    def _stop(self, stop: types.MessageGenerationStopped, order: int) -> Inbound:
        """The stop button of a draft; only private chats have them, and these have their person's id."""
        thread = str(stop.message_thread_id) if stop.message_thread_id else ""
        return Inbound(
            address=Address("telegram", str(stop.chat.id), thread),
            key=f"stop:{order}",
            kind="press",
            order=order,
            person=str(stop.chat.id),
            person_name=name_of(stop.chat),
            text=ABORT_ANSWER,
        )

    def _edit(self, message: types.Message, order: int) -> Inbound | None:
        """Only words are followed: a live location, say, changes all the time.

        The key begins with that of the message, so that of all its texts the newest can be found.
        """
        if message.text is None and message.caption is None:
            return None
        said = self._said(message, order)
        if said is None:
            return None
        edited_at = message.edit_date or 0
        return replace(
            said,
            key=f"{said.key}:edit:{edited_at}:{order}",
            kind="edit",
            edits=said.key,
            sent_at=datetime.fromtimestamp(edited_at, UTC) if edited_at else said.sent_at,
        )

    def _said(self, message: types.Message, order: int) -> Inbound | None:
        if not _is_of_a_person(message):
            return None
        words, attachments = words_of(message, self._bot), attachments_of(message)
        if not words and not attachments and message.text is None:
            return None
        is_private = message.chat.type == ChatType.PRIVATE
        if not is_private and not self._is_for_us(message):
            return None
        sender = message.sender_chat or message.from_user
        assert sender is not None
        return Inbound(
            address=_address(message),
            key=_key(message),
            kind="message",
            order=order,
            person=str(sender.id),
            person_name=name_of(sender) if isinstance(sender, types.Chat) else sender.full_name,
            text=_with_origin(message, words := self._without_our_name(words)),
            sent_at=message.date,
            ref=str(message.message_id),
            speaker="" if is_private else speaker_of(message),
            attachments=attachments + self._shown_to_us(message),
            quote=self._quote(message, words),
            expects=_MORE_SECONDS if _is_a_piece(message) else 0.0,
        )

    def _is_for_us(self, message: types.Message) -> bool:
        text = message.text or message.caption or ""
        command = _COMMAND.match(text)
        if command and command["bot"] and not self._is_our_name(command["bot"]):
            return False
        is_ours = (
            self._groups == "always"
            or command is not None
            or any(is_about(entity, entity.extract_from(text), self._bot) for entity in entities_of(message))
            or self._is_by_us(_replied(message))
            or message.media_group_id in self._albums
        )
        if is_ours and message.media_group_id and message.media_group_id not in self._albums:
            self._albums.append(message.media_group_id)
        return is_ours

    def _without_our_name(self, text: str) -> str:
        command = _COMMAND.match(text)
        if not command or not command["bot"] or not self._is_our_name(command["bot"]):
            return text
        return text[: command.start("bot") - 1] + text[command.end() :]

    def _is_our_name(self, username: str) -> bool:
        return username.lower() == (self._bot.username or "").lower()

    def _quote(self, message: types.Message, words: str) -> Quote | None:
        """What it answers. A part that somebody chose is told in any case, and so is what we were not told of; a
        command answers nothing."""
        if words.startswith("/") or message.forward_origin:
            return None
        replied = _replied(message)
        if message.external_reply:
            origin = message.external_reply.origin
            who, person = origin_of(origin), author_of(origin)
            return Quote(quotation(message.quote.text, who), person=person) if message.quote else None
        if replied is None:
            return Quote(quotation(message.quote.text)) if message.quote else None
        who, (person, key) = speaker_of(replied), self._whose(replied)
        if message.quote and message.quote.is_manual:
            return Quote(quotation(message.quote.text, who), key=key, person=person)
        files = [f"[{in_brackets(file.name)}]" for file in attachments_of(replied)]
        said = " ".join([*files, *filter(None, [words_of(replied, self._bot)])])
        is_known = self._somebody_elses(message) is None or self._groups == "always"
        ref = str(replied.message_id) if is_known else ""
        return Quote(quotation(said, who), ref, key, person) if said else None

    def _shown_to_us(self, message: types.Message) -> tuple[Attachment, ...]:
        """The files of a message that we were not told of, and are asked about now."""
        replied = self._somebody_elses(message)
        if replied is None or self._groups != "mention":
            return ()
        person, key = self._whose(replied)
        return tuple(replace(file, person=person, key=key) for file in attachments_of(replied))

    def _whose(self, message: types.Message) -> tuple[str, str]:
        """Who said it, and the key of what they said; nothing for our own words."""
        sender = message.sender_chat or message.from_user
        return (str(sender.id), _key(message)) if sender and not self._is_by_us(message) else ("", "")

    def _somebody_elses(self, message: types.Message) -> types.Message | None:
        replied = _replied(message)
        is_private = message.chat.type == ChatType.PRIVATE
        return None if is_private or self._is_by_us(replied) else replied

    def _is_by_us(self, message: types.Message | None) -> bool:
        return bool(message and message.from_user and message.from_user.id == self._bot.id)


def _with_origin(message: types.Message, words: str) -> str:
    origin = forwarded_from(message)
    return f"[forwarded from {origin}]\n{as_quoted(words)}".rstrip() if origin else words


def _is_a_piece(message: types.Message) -> bool:
    """Whether it may be one of several that belong together. A client cuts a text of over 4,096 units at the best place
    in the second half of that."""
    is_cut = utf16_length(message.text or "") > _LONGEST_TEXT // 2
    return is_cut or message.forward_origin is not None or message.media_group_id is not None


def _key(message: types.Message) -> str:
    return f"message:{message.chat.id}:{message.message_id}"


def _replied(message: types.Message) -> types.Message | None:
    """What it answers; in a topic everything seems to answer the message that opened it."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created else replied


def _is_of_a_person(message: types.Message) -> bool:
    """Also of a person who speaks in the name of a group or of a channel; but not a channel itself, nor a bot."""
    if message.chat.type == ChatType.PRIVATE:
        return message.from_user is not None and not message.from_user.is_bot
    if message.chat.type not in _GROUPS or message.is_automatic_forward:
        return False
    return message.sender_chat is not None or (message.from_user is not None and not message.from_user.is_bot)


def _address(message: types.Message | types.InaccessibleMessage) -> Address:
    if isinstance(message, types.Message) and message.is_topic_message and message.message_thread_id:
        return Address("telegram", str(message.chat.id), str(message.message_thread_id))
    return Address("telegram", str(message.chat.id))


def _moved(message: types.Message) -> Moved | None:
    if message.migrate_to_chat_id:
        return Moved(str(message.chat.id), str(message.migrate_to_chat_id))
    if message.migrate_from_chat_id:
        return Moved(str(message.migrate_from_chat_id), str(message.chat.id))
    return None


def _membership(change: types.ChatMemberUpdated) -> Reached | None:
    if change.chat.type == ChatType.CHANNEL:
        return None
    member = change.new_chat_member
    if isinstance(member, types.ChatMemberRestricted):
        return Reached(str(change.chat.id), yes=member.is_member and member.can_send_messages)
    return Reached(str(change.chat.id), yes=member.status not in _GONE)
