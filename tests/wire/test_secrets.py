"""No secret in any line, trace or error, with everything at its most talkative."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from bot.app.embedded.valkey import EmbeddedValkey
from tests.servers.discord.server import DiscordServer
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import PATIENCE, Programs

MARK = "m4rk3d"
"""Part of every secret here."""
KEY = f"sk-ant-{MARK}-model-key"
TELEGRAM_TOKEN = f"4200:{MARK}-telegram-token-0123456789abcdef"
WEBHOOK_SECRET = f"{MARK}_webhook_secret"
REDIS_PASSWORD = f"{MARK}-redis-password"
DATABASE_PASSWORD = f"{MARK}-database%40password"


@pytest_asyncio.fixture
async def locked_redis(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """A Valkey with a password; gives its URL."""
    valkey = EmbeddedValkey(tmp_path_factory.mktemp("locked"))
    await valkey.start()
    admin = Redis.from_url(valkey.url)
    await admin.config_set("requirepass", REDIS_PASSWORD)
    await admin.aclose()
    yield f"unix://:{REDIS_PASSWORD}@{valkey.socket_path}"
    admin = Redis.from_url(valkey.url, password=REDIS_PASSWORD)
    await admin.config_set("requirepass", "")
    await admin.aclose()
    await valkey.stop()


def leaks(programs: Programs) -> list[str]:
    """The lines with a secret in them, in what was printed and in every file of a conversation."""
    printed = [line for program in programs.started for line in (*program.out, *program.err)]
    files = [path for path in (programs.data / "agents").rglob("*") if path.is_file()]
    written = [line for path in files for line in path.read_text(errors="replace").splitlines()]
    return [line[:500] for line in (*printed, *written) if MARK in line or DiscordSecrets.are_in(line)]


class DiscordSecrets:
    """Those that Discord's server here gives out."""

    known: frozenset[str] = frozenset()

    @classmethod
    def are_in(cls, line: str) -> bool:
        """Whether one of them is."""
        return any(secret in line for secret in cls.known)


async def test_everything_talks_and_no_secret_is_said(
    tmp_path: Path, locked_redis: str, postgres_database: str, free_port: int
) -> None:
    async with (
        MessagesServer(window=3_000, key=KEY) as model,
        BotApiServer(token=TELEGRAM_TOKEN) as telegram,
        DiscordServer(token=f"{MARK}.discord.token") as discord,
    ):
        database = postgres_database.replace("postgres:@", f"postgres:{DATABASE_PASSWORD}@")
        assert MARK in database
        book = {
            "ANTHROPIC_API_KEY": KEY,
            "DATABASE_URL": database,
            "REDIS_URL": locked_redis,
            "TELEGRAM_WEBHOOK_URL": f"http://127.0.0.1:{free_port}/hook",
            "TELEGRAM_WEBHOOK_SECRET": WEBHOOK_SECRET,
            "HTTP_BIND": f"127.0.0.1:{free_port}",
            "DISCORD_TOKEN": discord.token,
            "DISCORD_API_BASE": discord.api_base,
            "DISCORD_GATEWAY": discord.gateway,
            "LOG_LEVEL": "DEBUG",
        }
        ada, bob = telegram.person(), discord.person()
        book["ADMINS"] = f"telegram:{ada.id}"
        programs = Programs(tmp_path, model, telegram, book=book)
        program = await programs.start("run")
        await telegram.wait_for(lambda it: it.calls_of("setWebhook"), PATIENCE)
        await discord.wait_for(lambda it: it.connected, PATIENCE)
        for number in range(6):
            ada.says(f"My key is {KEY}. This is message {number}. " + "So it goes on. " * 18)
            await telegram.wait_for(lambda it: len(it.texts(ada.id)) > number, PATIENCE)  # noqa: B023
        await _make_trouble(model, telegram, discord)
        ada.says("/compact")
        await bob.says("hello")
        await bob.slash("status")
        ada.sends_file("notes.txt", b"hello", caption="read this")
        await telegram.wait_for(lambda it: any("→" in text for text in it.texts(ada.id)), PATIENCE)
        await discord.wait_for(lambda it: len(it.texts(bob.channel_id)) >= 2, PATIENCE)
        DiscordSecrets.known = frozenset(used.token for used in discord.interactions)
        for command in (["doctor"], ["doctor", "--json"], ["pair", "list"]):
            await (await programs.start(*command)).ends()
        await program.stop()
        assert len(program.err) > 20
        assert programs.trace(f"telegram-{ada.id}").stat().st_size
        assert leaks(programs) == []
        shown = [*telegram.texts(ada.id), *discord.texts(bob.channel_id)]
        assert any("does not accept our key" in text for text in shown)
        assert not [text for text in shown if MARK in text]
        await programs.close()


BROKEN = (
    {"DATABASE_URL": f"postgresql://me:{MARK}@127.0.0.1:1/nothing"},
    {"DATABASE_URL": f"mysql://me:{MARK}@127.0.0.1:1/nothing"},
    {"REDIS_URL": f"redis://:{MARK}@127.0.0.1:1/0"},
    {"REDIS_URL": f"http://:{MARK}@127.0.0.1:1/0"},
    {"TELEGRAM_TOKEN": f"{MARK}-is-no-token"},
    {
        "TELEGRAM_TOKEN": TELEGRAM_TOKEN,
        "TELEGRAM_WEBHOOK_URL": "https://x.org/",
        "TELEGRAM_WEBHOOK_SECRET": f"{MARK} !",
    },
    {"DISCORD_TOKEN": f"{MARK}-is-no-token"},
)


async def test_an_error_of_the_settings_repeats_no_secret(programs: Programs) -> None:
    (programs.data / "agents").mkdir(parents=True)
    few = asyncio.Semaphore(3)

    async def ends(number: int, command: str) -> int:
        folder = str(programs.folder / f"{command}{number}")
        async with few:
            program = await programs.start(command, LOG_LEVEL="DEBUG", DATA_DIR=folder, **BROKEN[number])
            return await program.ends(within=100)

    of_doctor = (0, 2, 4)  # one of each kind: it opens each by the same way as `run`
    commands = [*((n, "run") for n in range(len(BROKEN))), *((n, "doctor") for n in of_doctor)]
    codes = await asyncio.gather(*(ends(number, command) for number, command in commands))
    assert set(codes) == {1}
    assert leaks(programs) == []


async def _make_trouble(model: MessagesServer, telegram: BotApiServer, discord: DiscordServer) -> None:
    """Failures that libraries like to tell all about."""
    model.fail(401, "authentication_error", f"invalid x-api-key {KEY}", when=lambda request: not request.is_summary)
    model.fail(500, "api_error", "oops", times=2)
    telegram.lose_answer("sendMessage")
    telegram.limit("sendMessage", 1)
    telegram.fail("sendChatAction", 502, "Bad Gateway")
    telegram.fail("sendMessageDraft", 400, json.dumps({"token": TELEGRAM_TOKEN}))
    discord.limit("edit_response", 0.2)
    discord.limit("create_message", 0.2)
    discord.lose_answer("create_message")
    discord.fail("typing", 500, "oops")
    await discord.drop(code=4000)
