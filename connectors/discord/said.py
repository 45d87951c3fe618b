"""What a person said on Discord, as text and files. Looks at the message alone."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import discord

from bot.messages import Attachment, as_quoted, in_brackets

NOTHING_SAID = "[no text]"
_MENTION = re.compile(r"<(@[!&]?|#)(\d+)>")
_EMOJI = re.compile(r"<a?(:\w+:)\d+>")
_COMMAND = re.compile(r"<(/[^:<>]+):\d+>")
_LONGEST_SPEAKER, _LONGEST_ACCOUNT = 60, 32


@dataclass(frozen=True)
class FileRef:
    """What a file is fetched by: links run out, and the message gives a new one."""

    channel: int
    message: int
    file: int
    url: str

    def written(self) -> str:
        """As the ref of an attachment."""
        return json.dumps([self.channel, self.message, self.file, self.url])

    @classmethod
    def read(cls, ref: str) -> FileRef:
        """The other way. Raises ValueError."""
        channel, message, file, url = json.loads(ref)
        return cls(int(channel), int(message), int(file), str(url))


def text_of(message: discord.Message, me: int) -> str:
    """The text that people see, without our own mention; what is no text is named in brackets."""
    parts = [_readable(message, me), *_stickers(message.stickers)]
    if message.poll:
        answers = " / ".join(answer.text for answer in message.poll.answers)
        parts.append(f"[poll: {in_brackets(f'{message.poll.question} ({answers})')}]")
    for snapshot in message.message_snapshots:
        embeds = [" - ".join(filter(None, (embed.title, embed.description, embed.url))) for embed in snapshot.embeds]
        forwarded = "\n".join(filter(None, [snapshot.content, *_stickers(snapshot.stickers), *embeds]))
        parts.append(f"[forwarded]\n{as_quoted(forwarded)}".rstrip())
    said = "\n".join(part for part in parts if part)
    return said or ("" if attachments_of(message) else NOTHING_SAID)


def attachments_of(message: discord.Message) -> tuple[Attachment, ...]:
    """The files of a message, and of one that was forwarded in it."""
    files = [*message.attachments, *(file for snapshot in message.message_snapshots for file in snapshot.attachments)]
    return tuple(
        Attachment(
            FileRef(message.channel.id, message.id, file.id, file.url).written(),
            file.filename,
            (file.content_type or "").partition(";")[0].strip(),
            file.size,
        )
        for file in files
    )


def speaker_of(user: discord.abc.User) -> str:
    """Who says it, for the model: one line without colons, and nothing that could be taken for another name."""
    account = f" (@{_plain(user.name)[:_LONGEST_ACCOUNT]})"
    return _plain(user.display_name)[: _LONGEST_SPEAKER - len(account)].strip() + account


def _plain(name: str) -> str:
    kept = "".join(" " if _is_hidden(character) else character for character in name.replace(":", " "))
    return in_brackets(kept)


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character).startswith("C")


def _stickers(stickers: list[discord.StickerItem]) -> Iterator[str]:
    return (f"[sticker: {in_brackets(sticker.name)}]" for sticker in stickers)


def _readable(message: discord.Message, me: int) -> str:
    ours = re.compile(rf" ?<@!?{me}>" + (rf"| ?<@&{role.id}>" if (role := our_role(message)) else ""))
    text = message.content
    called = ours.match(text)
    if called:
        text = text[called.end() :].lstrip(" ,:\n")
    text = _MENTION.sub(lambda found: _named(found, message), ours.sub("", text))
    return _COMMAND.sub(r"\1", _EMOJI.sub(r"\1", text)).strip()


def our_role(message: discord.Message) -> discord.Role | None:
    """The role that Discord made for this bot: people take it for the bot itself."""
    return message.guild.self_role if message.guild else None


def _named(mention: re.Match[str], message: discord.Message) -> str:
    """A mention as people see it; as it is written where that is not known."""
    kind, snowflake = mention[1], int(mention[2])
    guild = message.guild
    if kind == "#":
        channel = guild.get_channel_or_thread(snowflake) if guild else None
        return f"#{channel.name}" if channel else mention[0]
    if kind == "@&":
        role = guild.get_role(snowflake) if guild else None
        return f"@{in_brackets(role.name)}" if role else mention[0]
    user = discord.utils.get(message.mentions, id=snowflake)
    return f"@{in_brackets(user.display_name)}" if user else mention[0]
