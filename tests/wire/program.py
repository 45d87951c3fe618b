"""The real program as processes: what a user, a platform and an operator see of it, and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from typing_extensions import override

from bot.app.embedded.detached import Detached
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.servers.watched import Watched
from tests.wire.forked import Forked, fork

ROOT = Path(__file__).parents[2]
KEY = "key-of-the-tests-5f1c09"
"""What the model server wants, and what must be in no file."""
PATIENCE = 90.0


class Program(Watched):
    """One process, in a group of its own; `out` and `err` are the lines that it wrote so far."""

    def __init__(self, process: asyncio.subprocess.Process | Forked) -> None:
        super().__init__()
        self.process = process
        self.out: list[str] = []
        self.err: list[str] = []
        assert process.stdout
        assert process.stderr
        self._reading = asyncio.gather(self._read(process.stdout, self.out), self._read(process.stderr, self.err))

    async def says(self, *lines: str) -> None:
        """Write lines to its standard input."""
        assert self.process.stdin
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        with suppress(ConnectionError):  # who has ended hears nothing
            await self.process.stdin.drain()

    async def asks(self, line: str) -> str:
        """Write a line, and wait for one on its standard output."""
        before = len(self.out)
        await self.says(line)
        await self.wait_for(
            lambda program: len(program.out) > before or program.process.returncode is not None, PATIENCE
        )
        return self.out[before]

    async def ends(self, within: float = PATIENCE) -> int:
        """Let it come to the end of its input, and return its exit code."""
        assert self.process.stdin
        with suppress(ConnectionError):
            self.process.stdin.close()
            await self.process.stdin.wait_closed()
        try:
            async with asyncio.timeout(within):
                code = await self.process.wait()
        except TimeoutError:
            raise TimeoutError(f"it did not end within {within} s; {self.describe()}") from None
        await self._reading
        return code

    def tell(self, number: signal.Signals) -> None:
        """Send a signal to its whole group, as a terminal does with Ctrl-C."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    async def stop(self, number: signal.Signals = signal.SIGTERM, within: float = PATIENCE) -> int:
        """Signal, and return the exit code."""
        self.tell(number)
        return await self.ends(within)

    def logged(self, text: str) -> list[str]:
        """The lines of its standard error that hold this text."""
        return [line for line in self.err if text in line]

    async def kill(self) -> None:
        """End it whatever it does."""
        self.tell(signal.SIGKILL)
        await self.process.wait()
        await self._reading

    @override
    def describe(self) -> str:
        out, err = "\n".join(self.out[-20:]), "\n".join(self.err[-20:])
        return f"exit code {self.process.returncode}\nstandard output:\n{out}\nstandard error:\n{err}"

    async def _read(self, stream: asyncio.StreamReader, lines: list[str]) -> None:
        while line := await stream.readline():
            lines.append(line.decode().removesuffix("\n"))
            self.changed()
        self.changed()


class Programs:
    """Starts processes on one DATA_DIR, on one model server and perhaps on Telegram. ``book`` names other stores than
    the embedded ones."""

    def __init__(
        self,
        folder: Path,
        model: MessagesServer,
        telegram: BotApiServer | None = None,
        *,
        book: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.model = model
        self.telegram = telegram
        self.book = dict(book or {})
        self.started: list[Program] = []

    async def start(self, *command: str, **environment: str) -> Program:
        """`palimpsest` with these arguments; `environment` adds to what every process here gets."""
        self.folder.mkdir(parents=True, exist_ok=True)
        program = Program(await fork(command, self.folder, {**self._environment(), **environment}))
        self.started.append(program)
        return program

    async def execute(self, command: Sequence[str], **environment: str) -> Program:
        """Any command, in the folder of the test; a Python among them loads its code itself."""
        self.folder.mkdir(parents=True, exist_ok=True)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.folder,
            env={**self._environment(), **environment},
            start_new_session=True,
            limit=2**24,
        )
        program = Program(process)
        self.started.append(program)
        return program

    async def chat(self, *lines: str, agent: str = "me", **environment: str) -> Program:
        """Say these lines in `chat`, and wait until it has ended by itself."""
        program = await self.start("chat", "--agent", agent, **environment)
        await program.says(*lines)
        code = await program.ends(within=60)
        assert code == 0, program.describe()
        return program

    async def serve(self, *roles: str, **environment: str) -> Program:
        """`run`, and wait until it serves; with the gateway, until it listens to Telegram."""
        options = [word for role in roles for word in ("--role", role)]
        program = await self.start("run", *options, **environment)
        await program.wait_for(lambda it: it.process.returncode is not None or it.logged("http_listens"), PATIENCE)
        assert program.process.returncode is None, program.describe()
        if self.telegram and (not roles or "gateway" in roles):
            await self.telegram.wait_for(lambda telegram: telegram.polls, PATIENCE)
        return program

    @property
    def valkey(self) -> Detached:
        """The embedded Valkey of this DATA_DIR."""
        return Detached(self.data / "valkey", "valkey")

    def has_valkey(self) -> bool:
        """Whether the embedded Valkey runs."""
        return self.valkey.alive

    def trace(self, agent_id: str) -> Path:
        """The agent's only trace file."""
        (path,) = (self.data / "agents" / agent_id).glob("compaction_*.md")
        return path

    async def close(self) -> None:
        """End everything; a program that crashed on the way fails the test."""
        for program in self.started:
            await program.kill()
        if (self.data / "valkey").is_dir():
            for name in ("watcher", "valkey"):
                Detached(self.data / "valkey", name).end(patience=5)
        for program in self.started:
            assert not (crashed := program.logged("Traceback")), crashed[0]

    def _environment(self) -> dict[str, str]:
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.folder),
            "DATA_DIR": str(self.data),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.model.url,
            "HTTP_BIND": "127.0.0.1:0",
            "MODEL_PATIENCE": "0",
            "LOG_FORMAT": "json",
            **self.book,
        }
        if self.telegram:
            environment |= {
                "TELEGRAM_TOKEN": self.telegram.token,
                "TELEGRAM_API_BASE": self.telegram.url,
                "ACCESS": "open",
            }
        return environment
