"""`palimpsest setup` for scripts: every answer is a flag, no secret is an argument, and nothing is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.setup.conftest import EXAMPLE, KEY
from tests.wire.forked import fork


@dataclass(frozen=True)
class Ended:
    """How a call ended, and what it wrote."""

    code: int
    out: str
    err: str


Call = Callable[..., Awaitable[Ended]]


@pytest.fixture
def call(folder: Path, environment: dict[str, str]) -> Call:
    """Calls it with these words, and with this on its standard input."""

    async def called(*words: str, said: str = "") -> Ended:
        process = await fork(words, folder, environment)
        process.stdin.write(said.encode())
        process.stdin.close()
        out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
        return Ended(await process.wait(), out.decode(), err.decode())

    return called


async def test_all_is_answered_by_flags_and_a_second_call_adds_to_it(
    call: Call, folder: Path, environment: dict[str, str], telegram: BotApiServer
) -> None:
    environment["MY_KEY"] = KEY
    ended = await call("setup", "--provider", "anthropic", "--key-env", "MY_KEY", "--yes")
    assert (ended.code, ended.err) == (0, "")
    token = ("setup", "--telegram-token-stdin", "--admin", "telegram:1001", "--admin", "Discord:7", "--yes")
    ended = await call(*token, said=f"{telegram.token}\n")
    assert (ended.code, ended.err) == (0, "")
    text = (folder / ".env").read_text(encoding="utf-8")
    for line in (f"ANTHROPIC_API_KEY={KEY}", f"TELEGRAM_TOKEN={telegram.token}", "ADMINS=telegram:1001,Discord:7"):
        assert f"\n{line}\n" in text
    assert not any(secret in ended.out for secret in (KEY, telegram.token))


async def test_what_is_wrong_is_one_line_and_nothing_of_it_is_kept(
    call: Call, folder: Path, environment: dict[str, str], model: MessagesServer
) -> None:
    kept = folder / ".env"
    kept.write_text("LOG_LEVEL=INFO\n", encoding="utf-8")
    dead = f"http://127.0.0.1:{free_port()}"
    tries = {
        ("--provider", "anthropic", "--key-stdin"): ("not accept our key", 1, "sk-ant-of-nobody\n"),
        ("--provider", "custom", "--base-url", dead, "--model", "mine"): ("could not be tried", 1, ""),
        ("--provider", "nobody"): ("nobody is no provider", 1, ""),
        ("--telegram-token-stdin",): ("is no token of a bot", 1, "hello\n"),
        ("--admin", "1001"): ("telegram:1001", 1, ""),
        ("--key-env", "NOWHERE"): ("NOWHERE, which the environment does not set", 2, ""),
        ("--key-stdin",): ("has to have a line", 2, ""),
        (): ("Standard input is no terminal", 2, ""),
    }
    for words, (told, code, said) in tries.items():
        ended = await call("setup", *words, said=said)
        assert (ended.code, told in ended.err, ended.err.count("\n")) == (code, True, 1), (words, ended)
    assert kept.read_text(encoding="utf-8") == "LOG_LEVEL=INFO\n"
    untried = await call("setup", "--provider", "custom", "--base-url", dead, "--model", "mine", "--yes")
    assert untried.code == 0
    assert kept.read_text(encoding="utf-8").endswith(f"CUSTOM_BASE_URL={dead}\nMODEL=custom/mine\n")


async def test_where_there_is_no_folder_of_its_own_it_is_kept_for_the_user_and_counts_everywhere(
    call: Call, folder: Path, environment: dict[str, str]
) -> None:
    (folder / EXAMPLE).unlink()
    environment["ANTHROPIC_API_KEY"] = KEY
    assert (await call("setup", "--admin", "telegram:1", "--yes")).code == 0
    own = folder.parent / ".config" / "palimpsest" / ".env"
    data = folder.parent / ".local" / "share" / "palimpsest"
    assert f"\nDATA_DIR={data}\n" in own.read_text(encoding="utf-8")
    ended = await call("chat", said="hello\n")
    assert (ended.code, "Noted" in ended.out) == (0, True)
    assert (data / "palimpsest.db").exists()
    assert not any(folder.iterdir())
    assert (await call("setup", "--here", "--admin", "telegram:2", "--yes")).code == 0
    assert "ADMINS=telegram:2" in (folder / ".env").read_text(encoding="utf-8")


async def test_alone_and_without_a_terminal_it_says_what_there_is(call: Call) -> None:
    ended = await call()
    assert ended.code == 2
    assert "setup" in ended.out
