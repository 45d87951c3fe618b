"""What a message of a person holds: words, files, and words for what is neither. Pure.

https://core.telegram.org/bots/api#message
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from aiogram import types

from bot.messages import Attachment, in_brackets

_LONGEST_NAME = 60


def words_of(message: types.Message, bot: types.User) -> str:
    """Its text or caption, without this bot's name and with the addresses of links; else what can be said of it."""
    text = message.text or message.caption
    if text is None:
        return _instead_of_words(message)
    cut = _Units(text)
    for entity in reversed(entities_of(message)):
        part = entity.extract_from(text)
        if is_about(entity, part, bot):
            cut.take_out(entity.offset, entity.offset + entity.length)
        elif entity.type == "text_link" and entity.url and entity.url != part:
            cut.put_in(entity.offset + entity.length, f" ({entity.url})")
    return cut.text


def entities_of(message: types.Message) -> list[types.MessageEntity]:
    """The marked parts of its text or its caption, by their places."""
    return sorted(message.entities or message.caption_entities or [], key=lambda entity: entity.offset)


def is_about(entity: types.MessageEntity, part: str, bot: types.User) -> bool:
    """Whether this part of a text names this bot."""
    if entity.type == "text_mention":
        return entity.user is not None and entity.user.id == bot.id
    return entity.type == "mention" and part.lower() == f"@{bot.username or ''}".lower()


def attachments_of(message: types.Message) -> tuple[Attachment, ...]:
    """Its files; of a photo the largest size."""
    if message.photo:  # also the picture of a live photo
        size = max(message.photo, key=lambda one: one.width * one.height)
        return (Attachment(size.file_id, f"photo-{size.file_unique_id}.jpg", "image/jpeg", size.file_size),)
    for kind, ending, media_type in _FILES:
        file = getattr(message, kind)
        if file is not None:
            name = getattr(file, "file_name", None) or f"{kind.replace('_', '-')}-{file.file_unique_id}{ending}"
            found = getattr(file, "mime_type", None) or media_type
            return (Attachment(file.file_id, name, found, file.file_size),)
    return ()


_FILES = (
    ("animation", ".mp4", "video/mp4"),  # before the document that it is for older programs
    ("document", "", "application/octet-stream"),
    ("audio", ".mp3", "audio/mpeg"),
    ("voice", ".ogg", "audio/ogg"),
    ("video", ".mp4", "video/mp4"),
    ("video_note", ".mp4", "video/mp4"),
)


def forwarded_from(message: types.Message) -> str:
    """Who said first what is forwarded here; empty where nothing is."""
    return origin_of(message.forward_origin) if message.forward_origin else ""


def origin_of(origin: types.MessageOriginUnion) -> str:
    """Whose a message was, wherever it stands now."""
    match origin:
        case types.MessageOriginUser(sender_user=user):
            return in_brackets(user.full_name)
        case types.MessageOriginHiddenUser(sender_user_name=name):
            return in_brackets(name)
        case types.MessageOriginChat(sender_chat=chat) | types.MessageOriginChannel(chat=chat):
            return name_of(chat)


def author_of(origin: types.MessageOriginUnion) -> str:
    """The id of whoever's message it was; empty where Telegram does not tell."""
    match origin:
        case types.MessageOriginUser(sender_user=author):
            return str(author.id)
        case types.MessageOriginChat(sender_chat=author) | types.MessageOriginChannel(chat=author):
            return str(author.id)
        case _:
            return ""


def name_of(chat: types.Chat) -> str:
    """What a chat is called. Of chats that a bot is not in, Telegram may say no more than their id."""
    name = chat.title or " ".join(filter(None, [chat.first_name, chat.last_name])) or chat.username or ""
    return in_brackets(name) or "someone"


def speaker_of(message: types.Message) -> str:
    """How the one who says it is named where several talk: one line, which no name can be made to break out of."""
    if message.sender_chat:
        return named(name_of(message.sender_chat))
    return named(message.from_user.full_name, message.from_user.username) if message.from_user else ""


def named(name: str, username: str | None = None) -> str:
    """A name of at most 60 characters; only the platform's own, unique one stands behind an @."""
    unique = f" (@{username})" if username else ""
    plain = in_brackets(name.replace("@", "").replace(":", " ").replace("：", " "))
    room = max(0, _LONGEST_NAME - len(unique))
    return (plain[:room].rstrip() + unique).strip()[:_LONGEST_NAME] or "someone"


def _instead_of_words(message: types.Message) -> str:
    """What is neither words nor a file; empty for service messages, in which nobody says anything."""
    return next((words for describe in (_sent, _shared) for words in describe(message)), "")


def _sent(message: types.Message) -> Iterator[str]:
    if message.sticker:
        yield f"[sticker {message.sticker.emoji or ''}".rstrip() + "]"
    if message.venue:  # before the location that it is for older programs
        venue = message.venue
        yield f"[venue: {in_brackets(f'{venue.title}, {venue.address}')}, {_place(venue.location)}]"
    if message.location:
        yield f"[location {_place(message.location)}]"
    if message.contact:
        contact = message.contact
        name = " ".join(part for part in (contact.first_name, contact.last_name) if part)
        yield f"[contact: {in_brackets(f'{name}, {contact.phone_number}')}]"
    if message.poll:
        yield _listed("poll", message.poll.question, [option.text for option in message.poll.options])
    if message.dice:
        yield f"[dice {message.dice.emoji} {message.dice.value}]"
    if message.checklist:
        tasks = [f"{'☑' if task.completion_date else '☐'} {task.text}" for task in message.checklist.tasks]
        yield _listed("checklist", message.checklist.title, tasks)


def _shared(message: types.Message) -> Iterator[str]:
    """What is seldom a person's own."""
    if message.story:
        yield f"[story of {name_of(message.story.chat)}]"
    if message.game:
        yield f"[game: {in_brackets(message.game.title)}]"
    if message.paid_media:
        yield "[paid media]"
    if message.giveaway or message.giveaway_winners:
        yield "[giveaway]"
    if message.invoice:
        yield f"[invoice: {in_brackets(message.invoice.title)}]"
    if message.rich_message:
        yield "\n".join(_texts(message.rich_message.model_dump(exclude_none=True)))


def _place(location: types.Location) -> str:
    return f"{_degrees(location.latitude)}, {_degrees(location.longitude)}"


def _degrees(value: float) -> str:
    """Two to six digits behind the point: six are 10 cm."""
    return re.sub(r"(\.\d\d\d*?)0+$", r"\1", f"{value:.6f}")


def _listed(kind: str, title: str, items: list[str]) -> str:
    return f"[{kind}: {in_brackets(' / '.join([title, *items]))}]"


def _texts(blocks: object) -> Iterator[str]:
    """All the texts in the blocks of a rich message, in order."""
    match blocks:
        case str():
            yield blocks
        case list():
            for block in blocks:
                yield from _texts(block)
        case Mapping():
            for name, value in blocks.items():
                if name in _WITH_TEXTS:
                    yield from _texts(value)


_WITH_TEXTS = frozenset({"text", "texts", "blocks", "items", "cells", "caption", "credit", "label", "summary"})


class _Units:
    """A text that is changed at places counted in UTF-16 units, from its end to its beginning."""

    def __init__(self, text: str) -> None:
        self.text = text

    def take_out(self, start: int, end: int) -> None:
        """Without this name, and without what stands around a name only because of it."""
        before, after = self._before(start), self._after(end)
        if not before.strip():
            self.text = re.sub(r"^[\s,:;]+", "", after)
        elif not after.strip():
            self.text = re.sub(r"[\s,]+$", "", before)
        else:
            self.text = (before.rstrip(" ") if after[0] in " ,.;:!?\n" else before) + after

    def put_in(self, place: int, more: str) -> None:
        """With more text there."""
        self.text = self._before(place) + more + self._after(place)

    def _before(self, place: int) -> str:
        return self.text.encode("utf-16-le", "surrogatepass")[: 2 * place].decode("utf-16-le", "surrogatepass")

    def _after(self, place: int) -> str:
        return self.text.encode("utf-16-le", "surrogatepass")[2 * place :].decode("utf-16-le", "surrogatepass")
