"""What happens on Discord, as inbound events: what counts, and what it says."""

from __future__ import annotations

from typing import Literal

import discord

from bot.messages import Address, Inbound, Quote, in_brackets
from connectors.discord.places import NAME, Place
from connectors.discord.said import attachments_of, our_role, speaker_of, text_of
from connectors.text import quotation

Groups = Literal["mention", "always"]
_TALK = frozenset({discord.MessageType.default, discord.MessageType.reply})


class Reader:
    """Reads for one bot, whose user id is ``me``."""

    def __init__(self, me: int, groups: Groups) -> None:
        self._me = me
        self._groups = groups

    def counts(self, message: discord.Message, *, direct: bool) -> bool:
        """Whether a person says it, and to us; ``direct``: nobody else is there."""
        if message.author.bot or message.webhook_id or message.type not in _TALK:
            return False
        if direct or self._groups == "always":
            return True
        return self._calls(message) or self._replies(message)

    def message(self, message: discord.Message, place: Place) -> Inbound:
        """What was said."""
        return Inbound(
            address=place.address,
            key=_key(message),
            kind="message",
            order=message.id,
            person=str(message.author.id),
            text=text_of(message, self._me),
            person_name=message.author.display_name,
            sent_at=message.created_at,
            ref=str(message.id),
            speaker="" if place.direct else speaker_of(message.author),
            attachments=attachments_of(message),
            quote=self._quote(message, place),
        )

    def edit(self, message: discord.Message, place: Place) -> Inbound | None:
        """What a message says now; None where only its looks have changed: a link's preview came, it was pinned.

        Files cannot be added by an edit.
        """
        text = text_of(message, self._me)
        if message.edited_at is None or not text:
            return None
        milliseconds = round(message.edited_at.timestamp() * 1000)
        return Inbound(
            address=place.address,
            key=f"{_key(message)}:edit:{milliseconds}",
            kind="edit",
            order=discord.utils.time_snowflake(message.edited_at, high=True),
            person=str(message.author.id),
            text=text,
            person_name=message.author.display_name,
            sent_at=message.edited_at,
            ref=str(message.id),
            speaker="" if place.direct else speaker_of(message.author),
            edits=_key(message),
        )

    def _calls(self, message: discord.Message) -> bool:
        if any(user.id == self._me for user in message.mentions):
            return True
        role = our_role(message)
        return role is not None and role.id in {mentioned.id for mentioned in message.role_mentions}

    def _quote(self, message: discord.Message, place: Place) -> Quote | None:
        """What it answers, unless that is gone; where it was not said to us, it is told in any case."""
        replied_to = message.reference.resolved if message.reference else None
        if message.type is not discord.MessageType.reply or not isinstance(replied_to, discord.Message):
            return None
        files = [f"[{in_brackets(file.name)}]" for file in attachments_of(replied_to)]
        said = " ".join([*files, *filter(None, [text_of(replied_to, self._me)])])
        is_known = replied_to.author.id == self._me or self.counts(replied_to, direct=place.direct)
        quote = quotation(said, speaker_of(replied_to.author))
        ref = str(replied_to.id) if is_known else ""
        if replied_to.author.id == self._me:
            return Quote(quote, ref) if said else None
        return Quote(quote, ref, _key(replied_to), str(replied_to.author.id)) if said else None

    def _replies(self, message: discord.Message) -> bool:
        replied_to = message.reference.resolved if message.reference else None
        return isinstance(replied_to, discord.Message) and replied_to.author.id == self._me


def unread(message: discord.Message, place: Place) -> Inbound:
    """That somebody said something, where it cannot be read what."""
    return Inbound(
        address=place.address,
        key=_key(message),
        kind="message",
        order=message.id,
        person=str(message.author.id),
        text="",
        person_name=message.author.display_name,
        ref=str(message.id),
        speaker="" if place.direct else speaker_of(message.author),
        is_unread=True,
    )


def deletion(channel: int, message: int) -> Inbound:
    """That a message is gone. Discord does not say who deleted it."""
    key = _key_of(channel, message)
    return Inbound(Address(NAME, str(channel)), f"delete:{key}", "delete", message, person="", text="", edits=key)


def _key(message: discord.Message) -> str:
    return _key_of(message.channel.id, message.id)


def _key_of(channel: int, message: int) -> str:
    return f"message:{channel}:{message}"
