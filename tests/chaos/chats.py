"""The chats of a house, whatever platform they are on: what can be done in one, and what it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from bot.messages import Address
from tests.servers.discord import server as discord
from tests.servers.discord.server import DiscordServer
from tests.servers.telegram import server as telegram
from tests.servers.telegram.chats import USERNAME
from tests.servers.telegram.server import BotApiServer

Files: TypeAlias = Mapping[str, bytes]


@dataclass(frozen=True)
class Seen:
    """A message of the bot as people see it now. ``texts``: all that it ever showed; ``buttons``: what they are called
    when they are pressed."""

    ref: str
    texts: Sequence[str]
    buttons: Sequence[str]

    @property
    def text(self) -> str:
        return self.texts[-1]


class Written(Protocol):
    """Something that somebody wrote, which its author can change."""

    def edit(self, text: str) -> None:
        """Write something else in its place."""


class Chat(Protocol):
    """A private chat with the bot, or a group."""

    connector: str
    chat: str
    """The platform's id of it, as it stands in the book."""

    def says(self, who: int, text: str, files: Files) -> Written:
        """The person with this number says something; in a private chat there is one."""

    def commands(self, who: int, text: str) -> None:
        """They give a command."""

    def presses(self, who: int, ref: str, button: str) -> None:
        """They press a button under a message."""

    def sees(self) -> Sequence[Seen]:
        """All that the chat shows of the bot, oldest first."""

    def glimpses(self) -> Sequence[str]:
        """What it showed of answers that were still being written, apart from messages."""


def address_of(chat: Chat) -> Address:
    """Where its conversation is."""
    return Address(chat.connector, chat.chat)


@dataclass(frozen=True)
class _TelegramWritten:
    chat: TelegramChat
    person: telegram.Person
    message: int

    def edit(self, text: str) -> None:
        mentioned = self.chat.mention + text
        self.chat.log.append(self.person.edits(self.message, mentioned, chat=self.chat.group))


class TelegramChat:
    """With one person, or a group of several. ``log``: the ids of all updates that were made, for all chats."""

    connector = "telegram"

    def __init__(
        self,
        server: BotApiServer,
        people: Sequence[telegram.Person],
        group: telegram.Chat | None = None,
        *,
        log: list[int],
    ) -> None:
        self.group = group
        self.log = log
        self.id = group.id if group else people[0].id
        self.chat = str(self.id)
        self.mention = f"@{USERNAME} " if group else ""
        self._server = server
        self._people = people

    def says(self, who: int, text: str, files: Files) -> _TelegramWritten:
        person = self._people[who % len(self._people)]
        text = self.mention + text
        if files:
            ((name, content),) = files.items()
            self.log.append(person.sends_file(name, content, caption=text, chat=self.group))
        else:
            self.log.append(person.says(text, chat=self.group))
        return _TelegramWritten(self, person, person.last(self.group))

    def commands(self, who: int, text: str) -> None:
        self.log.append(self._people[who % len(self._people)].says(text, chat=self.group))

    def presses(self, who: int, ref: str, button: str) -> None:
        self.log.append(self._people[who % len(self._people)].presses(int(ref), button, chat=self.group))

    def sees(self) -> Sequence[Seen]:
        return [
            Seen(
                str(message.message_id),
                [*message.edits, message.text],
                [str(button["callback_data"]) for button in message.buttons if "callback_data" in button],
            )
            for message in self._server.messages(self.id)
        ]

    def glimpses(self) -> Sequence[str]:
        return [text for draft in self._server.chats.drafts.all(self.id) for text in draft.history]


class _DiscordWritten:
    def __init__(self, chat: DiscordChat, said: asyncio.Task[int]) -> None:
        self._chat = chat
        self._said = said

    def edit(self, text: str) -> None:
        self._chat.does(self._edit(text))

    async def _edit(self, text: str) -> None:
        await self._chat.person.edits(await self._said, text)


class DiscordChat:
    """Direct messages with one person. What they do happens soon: :attr:`doing` has what is still to happen."""

    connector = "discord"

    def __init__(self, server: DiscordServer, person: discord.Person) -> None:
        self.person = person
        self.chat = str(person.channel_id)
        self.doing: set[asyncio.Task[Any]] = set()
        self._server = server

    def says(self, who: int, text: str, files: Files) -> _DiscordWritten:
        return _DiscordWritten(self, self.does(self.person.says(text, files=list(files.items()))))

    def commands(self, who: int, text: str) -> None:
        self.does(self.person.says(text))

    def presses(self, who: int, ref: str, button: str) -> None:
        self.does(self.person.presses(int(ref), button))

    def does(self, doing: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Let it happen."""
        task = asyncio.create_task(doing)
        self.doing.add(task)
        task.add_done_callback(self.doing.discard)
        return task

    def sees(self) -> Sequence[Seen]:
        return [
            Seen(
                str(message.id),
                [*message.edits, message.text],
                [str(button["label"]) for button in message.buttons if not button.get("disabled")],
            )
            for message in self._server.messages(self.person.channel_id)
            if not (message.ephemeral or message.loading)
        ]

    def glimpses(self) -> Sequence[str]:
        return []
