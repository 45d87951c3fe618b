"""The real client on a server of this process, and calls without it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
import discord
import yarl
from typing_extensions import override

from tests.servers.discord.server import DiscordServer


@contextmanager
def library_at(server: DiscordServer) -> Iterator[None]:
    """Point discord.py at the server, and back."""
    base, gateway = discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY
    discord.http.Route.BASE = server.api_base
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(server.gateway)
    try:
        yield
    finally:
        discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = base, gateway


class Bot(discord.Client):
    """Keeps what people say and do, and leaves it to the test to answer."""

    def __init__(self, *, contents: bool = True) -> None:
        intents = discord.Intents.default()
        intents.message_content = contents
        super().__init__(intents=intents, guild_ready_timeout=0.01)
        self._news = asyncio.Event()
        self.heard: list[discord.Message] = []
        self.asked: asyncio.Queue[discord.Interaction] = asyncio.Queue()
        self.tree = discord.app_commands.CommandTree(self)

    @override
    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Identify at once: the server does not limit that."""

    async def on_message(self, message: discord.Message) -> None:
        if not message.author.bot:
            self.heard.append(message)
            self._news.set()

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        self.asked.put_nowait(interaction)

    @property
    def texts(self) -> list[str]:
        return [message.content for message in self.heard]

    async def hears(self, count: int) -> list[discord.Message]:
        """What people said, once it is so much."""
        async with asyncio.timeout(5):
            while len(self.heard) < count:
                self._news.clear()
                await self._news.wait()
        return self.heard


@asynccontextmanager
async def running(server: DiscordServer, bot: Bot) -> AsyncIterator[Bot]:
    """A bot that is connected until the end of the block."""
    async with bot:
        running = asyncio.create_task(bot.start(server.token))
        try:
            await server.wait_for(lambda s: s.connected)
            yield bot
        finally:
            await bot.close()
            await running


class Raw:
    """Calls without a library in between."""

    def __init__(self, server: DiscordServer, session: aiohttp.ClientSession, token: str | None = None) -> None:
        self.server = server
        self.session = session
        self.headers = {"Authorization": f"Bot {token or server.token}"}

    async def ask(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        url = f"{self.server.api_base}/{path}"
        async with self.session.request(verb, url, json=body, headers=self.headers) as answer:
            return answer.status, await answer.json() if answer.status != 204 else None

    async def refusal(self, verb: str, path: str, body: Any = None) -> tuple[int, int]:
        status, answer = await self.ask(verb, path, body)
        return status, answer["code"]

    async def error(self, verb: str, path: str, body: Any, *place: str) -> str:
        status, answer = await self.ask(verb, path, body)
        assert (status, answer["code"], answer["message"]) == (400, 50035, "Invalid Form Body")
        tree = answer["errors"]
        for name in place:
            tree = tree[name]
        code: str = tree["_errors"][0]["code"]
        return code
