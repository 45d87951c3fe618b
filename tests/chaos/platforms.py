"""Telegram and Discord as storms need them: many people, what each of them reads, and connections that break."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from tests.servers.discord.server import DiscordServer
from tests.servers.telegram.server import BotApiServer

FIRST = 1001
"""The first person's id; the others follow."""
PLATFORMS = ("telegram", "telegram webhook", "discord")


class Platform(Protocol):
    """A platform on loopback."""

    name: str

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the program needs to find it."""

    async def ready(self) -> None:
        """Return when the program listens."""

    async def says(self, who: int, text: str) -> None:
        """The person with this number says something in their private chat."""

    def texts(self, who: int) -> Sequence[str]:
        """What they read of the bot now, in order."""

    def break_connection(self, chance: random.Random) -> Callable[[], Any]:
        """A way to cut a connection; call it."""

    def slow_down(self, seconds: float) -> None:
        """From now on each chat takes one message, or edit, in so many seconds."""

    async def until(self, condition: Callable[[], object], seconds: float) -> None:
        """Return once it is so."""


class TelegramPlatform:
    """By long polling, or by webhook."""

    def __init__(self, server: BotApiServer, port: int | None = None) -> None:
        """With a ``port`` for its calls the program gets a webhook."""
        self.name = "telegram"
        self._server = server
        self._port = port

    @property
    def settings(self) -> Mapping[str, Any]:
        """See :class:`Platform`, as for all below."""
        values: dict[str, Any] = {"telegram_token": self._server.token, "telegram_api_base": self._server.url}
        if self._port:
            values |= {
                "telegram_webhook_url": f"http://127.0.0.1:{self._port}/hook",
                "http_bind": f"127.0.0.1:{self._port}",
            }
        return values

    async def ready(self) -> None:
        if self._port:
            await self._server.wait_for(lambda server: server.calls_of("setWebhook"), timeout=20)
        else:
            await self._server.wait_for(lambda server: server.polls, timeout=20)

    async def says(self, who: int, text: str) -> None:
        self._server.person(FIRST + who, f"Person {who}").says(text)

    def texts(self, who: int) -> Sequence[str]:
        return self._server.texts(FIRST + who)

    def break_connection(self, chance: random.Random) -> Callable[[], Any]:
        method = chance.choice(["getUpdates", "sendMessage", "sendMessage", "sendMessageDraft", "sendChatAction", "*"])
        if chance.random() < 0.5:
            return lambda: self._server.lose_answer(method)
        return lambda: self._server.fail(method, 502, "Bad Gateway")

    def slow_down(self, seconds: float) -> None:
        self._server.flood_control = seconds

    async def until(self, condition: Callable[[], object], seconds: float) -> None:
        await self._server.wait_for(lambda _: condition(), timeout=seconds)


class DiscordPlatform:
    """Direct messages."""

    def __init__(self, server: DiscordServer) -> None:
        self.name = "discord"
        self._server = server

    @property
    def settings(self) -> Mapping[str, Any]:
        """See :class:`Platform`, as for all below."""
        return {
            "discord_token": self._server.token,
            "discord_api_base": self._server.api_base,
            "discord_gateway": self._server.gateway,
        }

    async def ready(self) -> None:
        await self._server.wait_for(lambda server: server.connected, timeout=20)

    async def says(self, who: int, text: str) -> None:
        await self._server.person(FIRST + who, f"Person {who}").says(text)

    def texts(self, who: int) -> Sequence[str]:
        return self._server.texts(self._server.person(FIRST + who, f"Person {who}").channel_id)

    def break_connection(self, chance: random.Random) -> Callable[[], Any]:
        def forget() -> Any:
            self._server.forget_sessions()
            return self._server.drop()

        return chance.choice(
            [
                lambda: self._server.drop(code=4000),
                lambda: self._server.drop(code=None),
                self._server.ask_to_reconnect,
                forget,
                lambda: self._server.lose_answer("create_message"),
                lambda: self._server.lose_answer("edit_message"),
                lambda: self._server.fail("create_message", 502, "Bad Gateway"),
            ]
        )

    def slow_down(self, seconds: float) -> None:
        self._server.flood_control = seconds

    async def until(self, condition: Callable[[], object], seconds: float) -> None:
        await self._server.wait_for(lambda _: condition(), timeout=seconds)


@asynccontextmanager
async def open_platform(mode: str, free_port: int) -> AsyncIterator[Platform]:
    """One of PLATFORMS."""
    if mode == "discord":
        async with DiscordServer() as discord:
            yield DiscordPlatform(discord)
        return
    async with BotApiServer() as telegram:
        yield TelegramPlatform(telegram, free_port if mode == "telegram webhook" else None)
