"""Discord: the connector on discord.py, over HTTP and a websocket against a strict server."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.app.platforms import platforms
from bot.app.resources import Resources
from bot.connector import Connector
from bot.runtime.settings import Settings
from tests.dialogs.pattern import reads
from tests.dialogs.stage import Place, Post, Where, Who
from tests.servers.discord.server import Channel, DiscordServer, Message, Person
from tests.unit.discord_reader import read

_TYPING_SECONDS = 10.0
_PAIR = re.compile(r"(\w+)=(\S+)\s*")
"""What a person puts into the field of this name, who would write it so elsewhere."""


class DiscordStage:
    """Direct channels, a channel of a guild, and two threads in another."""

    name = "discord"
    connector = "discord"
    lease = "discord"
    chat: str | None = None

    def __init__(self) -> None:
        self._server = DiscordServer()
        self._channels: dict[Place, Channel] = {}

    async def open(self, folder: Path) -> Mapping[str, Any]:
        """See :class:`tests.dialogs.stage.Stage`, as for all below."""
        await self._server.__aenter__()
        server = self._server
        return {
            "discord_token": server.token,
            "discord_api_base": server.api_base,
            "discord_gateway": server.gateway,
        }

    def connectors(self, settings: Settings) -> Sequence[Connector]:
        """As the program makes them."""
        return platforms(settings)

    async def admit(self, resources: Resources) -> None:
        await self.until(lambda: self._server.connected > 0 and bool(self._server.commands))
        drinks = self._server.channel("drinks")
        self._channels = {
            Place.GROUP: self._server.channel("general"),
            Place.TEA: await self._server.thread(drinks, "tea"),
            Place.COFFEE: await self._server.thread(drinks, "coffee"),
        }

    async def close(self) -> None:
        await self._server.__aexit__()

    async def says(self, who: Who, text: str, where: Where, *, addressed: bool, answers: str) -> None:
        answered = self._found(where, lambda m: reads(_seen(m), answers) is not None) if answers else None
        await self._person(who).says(text, self._channel(where), mention=addressed, reply_to=answered)

    async def orders(self, who: Who, text: str, where: Where) -> None:
        name, _, argument = text.removeprefix("/").partition(" ")
        registered = {str(command["name"]): command for command in self._server.commands}
        if name not in registered:
            await self.says(who, text, where, addressed=False, answers="")
            return
        options = [str(option["name"]) for option in registered[name].get("options") or []]
        given = {}
        while (pair := _PAIR.match(argument)) and pair[1] in options:
            given[pair[1]], argument = pair[2], argument[pair.end() :]
        if argument:
            given["focus" if "focus" in options else next(iter(options), "")] = argument
        await self._person(who).slash(name, given, self._channel(where))

    async def sends(self, who: Who, text: str, where: Where, files: Mapping[str, bytes], *, as_photo: bool) -> None:
        await self._person(who).says(text, self._channel(where), files=list(files.items()))

    async def edits(self, who: Who, text: str, new: str, where: Where) -> None:
        await self._person(who).edits(self._said(who, text, where), new)

    async def presses(self, who: Who, label: str, where: Where, *, earliest: bool) -> None:
        under = self._found(where, lambda message: label in message.labels, earliest=earliest)
        await self._person(who).presses(under, label)

    async def stops(self, who: Who, where: Where) -> None:
        await self.orders(who, "/abort", where)

    def posts(self, where: Where) -> Sequence[Post]:
        return [
            Post(
                key=str(message.id),
                text=_seen(message),
                buttons=tuple(message.labels),
                files={file.filename: file.content for file in message.files},
                answers=self._answered(message),
                pinged=tuple(message.pinged),
            )
            for message in self._messages(where)
        ]

    def growing(self, where: Where) -> str:
        messages = self._messages(where)
        return _seen(messages[-1]) if messages else ""

    def typed(self, where: Where, since: float) -> bool:
        return any(at >= since for at in self._server.typing(self._channel(where).id))

    def is_typing(self, where: Where) -> bool:
        shown = [at for message in self._messages(where) for at in (message.at, *message.edited_at)]
        last = max([*shown, time.monotonic() - _TYPING_SECONDS])
        return self.typed(where, last)

    def marks(self, who: Who, text: str, where: Where) -> Sequence[str]:
        return self._server.reactions(self._said(who, text, where))

    def complaints(self) -> Sequence[str]:
        refused = [f"{call.verb} {call.path}: {call.status}" for call in self._server.calls if call.status >= 400]
        silent = [f"{one.kind} {one.name} was never acknowledged" for one in self._server.interactions if not one.acked]
        thinking = [
            f"it still says that it thinks, in answer to {message.interaction.name}"
            for channel in self._server.world.channels
            for message in self._server.messages(channel)
            if message.loading and message.interaction
        ]
        return [*refused, *silent, *thinking]

    async def until(self, condition: Callable[[], bool]) -> None:
        await self._server.wait_for(lambda _: condition(), timeout=3600)

    def _person(self, who: Who) -> Person:
        return self._server.person(who.number, who.name)

    def _channel(self, where: Where) -> Channel:
        return self._person(where).channel if isinstance(where, Who) else self._channels[where]

    def _messages(self, where: Where) -> list[Message]:
        return [message for message in self._server.messages(self._channel(where).id) if not message.loading]

    def _found(self, where: Where, fits: Callable[[Message], bool], *, earliest: bool = False) -> int:
        found = [message.id for message in self._messages(where) if fits(message)]
        if not found:
            raise LookupError("there is no such message of the bot")
        return found[0 if earliest else -1]

    def _said(self, who: Who, text: str, where: Where) -> int:
        for message in reversed(self._server.conversation(self._channel(where).id)):
            if message.author.id == who.number and message.text == text:
                return message.id
        raise LookupError(f"{who.name} has not said {text!r}")

    def _answered(self, message: Message) -> str:
        if message.interaction is not None:
            return f"/{message.interaction.name}"
        return self._server.message(message.reply_to).text if message.reply_to else ""


def _seen(message: Message) -> str:
    return read(message.text).text
