"""The program as real processes on one DATA_DIR, between a Telegram and a model that are the test's own."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil

from bot.embedded.detached import Detached
from bot.embedded.valkey import EmbeddedValkey
from tests.chaos.brain import NOTES, TALK, AnsweringBrain
from tests.chaos.ledger import Ledger
from tests.servers.messages import MessagesServer
from tests.servers.telegram import TOKEN, BotApiServer, SentMessage

ROOT = Path(__file__).parents[2]
WINDOW = 3_000
_LOOK_SECONDS = 0.03
_END_SECONDS = 20.0
_CALM_SECONDS = 0.3
"""An answer that went out may bring about a compaction ahead."""

TOGETHER: Mapping[str, tuple[str, ...]] = {"all": ()}
APART: Mapping[str, tuple[str, ...]] = {role: ("--role", role) for role in ("gateway", "agents", "worker")}
"""The processes of a house: a name, and what `run` is told."""


async def eventually(condition: Callable[[], object], patience: float, state: Callable[[], object]) -> float:
    """Wait until it holds; returns how many seconds that took. Raises TimeoutError with what ``state`` says."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > patience:
            raise TimeoutError(f"not within {patience} s; the state is: {state()}")
        await asyncio.sleep(_LOOK_SECONDS)
    return time.monotonic() - began


class Program:
    """One process, which can be started again after it was killed."""

    def __init__(self, name: str, arguments: tuple[str, ...], data_dir: Path, environment: Mapping[str, str]) -> None:
        self._command = [sys.executable, "-m", "tests.chaos.program", "run", *arguments]
        self._folder = data_dir
        self._log = data_dir / f"{name}.log"
        self._http = ("127.0.0.1", _free_port())
        self._environment = {**environment, "HTTP_BIND": "{}:{}".format(*self._http)}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it writes on at the end of its log."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,  # and not where a developer keeps an .env
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """kill -9; returns when it is gone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll() if self._process else None

    @property
    def serves(self) -> bool:
        """Whether it has got so far that it answers over HTTP."""
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
            return connection.connect_ex(self._http) == 0

    async def end(self) -> int | None:
        """Ask it to end, and see that it does; returns its exit code."""
        assert self._process is not None
        await eventually(lambda: self.serves, _END_SECONDS, self.tail)
        self._process.send_signal(signal.SIGTERM)
        try:
            return await asyncio.to_thread(self._process.wait, _END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGUSR1)
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, 1)
            self.kill()
            return None

    def tail(self, lines: int = 30) -> str:
        """The end of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:]) if self._log.exists() else ""


class House:
    """Some processes on one DATA_DIR, and one person who writes numbered messages."""

    def __init__(
        self, data_dir: Path, telegram: BotApiServer, model: MessagesServer, processes: Mapping[str, tuple[str, ...]]
    ) -> None:
        environment = _environment(data_dir, telegram, model)
        self.data_dir = data_dir
        self.telegram = telegram
        self.model = model
        self.ledger = Ledger(data_dir)
        self.programs = {name: Program(name, words, data_dir, environment) for name, words in processes.items()}
        self.said: list[int] = []
        self._person = telegram.person()
        self._events = 0
        self._valkey = EmbeddedValkey(data_dir)

    def says(self, *wishes: str) -> int:
        """The person's next numbered message; returns its number."""
        number = len(self.said) + 1
        self.said.append(number)
        self._events += 1
        self._person.says(f"«{number}» {TALK}{' '.join(wishes)}")
        return number

    def commands(self, command: str) -> None:
        """The person gives a command."""
        self._events += 1
        self._person.says(command)

    def sees(self, number: int) -> bool:
        """Whether the person sees an answer to this message."""
        return any(f"⟦{number}⟧" in text for text in self.telegram.texts(self._person.id))

    @property
    def seen(self) -> list[SentMessage]:
        """All that the person sees of the bot."""
        return self.telegram.messages(self._person.id)

    @property
    def under_way(self) -> str:
        """What is not done yet of all that the person wrote; empty when everything is."""
        return self.ledger.unsettled(self._events)

    async def settled(self, patience: float = 60.0) -> float:
        """Wait until nothing is under way any more; returns how many seconds that took."""
        began = time.monotonic()
        while True:
            await eventually(lambda: not self.under_way, patience, self.describe)
            took = time.monotonic() - began
            await asyncio.sleep(_CALM_SECONDS)
            if not self.under_way:
                return took

    def signal_valkey(self, number: signal.Signals) -> None:
        """Send the embedded Valkey a signal; when it is killed, whoever misses it starts it again."""
        pid = Detached(self._valkey.folder, "valkey").pid  # asking whether it is alive would take its lock for a moment
        with suppress(psutil.NoSuchProcess):
            if pid and "valkey" in (found := psutil.Process(pid)).name():
                found.send_signal(number)

    async def wipe_redis(self) -> None:
        """FLUSHALL, as soon as there is a Redis to be wiped."""
        await eventually(self._wiped, _END_SECONDS, self.describe)

    def _wiped(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(5)
            try:
                connection.connect(str(self._valkey.socket_path))
                connection.sendall(b"FLUSHALL\r\n")
                return connection.recv(100).startswith(b"+OK")
            except OSError:  # it was killed just now, or is not there yet
                return False

    def describe(self) -> str:
        """What is under way, and what the programs said last."""
        tails = [f"--- {name} ({program.exit_code})\n{program.tail()}" for name, program in self.programs.items()]
        return "\n".join([self.under_way, *tails])

    async def end(self) -> dict[str, int | None]:
        """End all processes in order; returns their exit codes."""
        return {name: await program.end() for name, program in self.programs.items()}

    def clear(self) -> None:
        """Leave nothing behind, whatever happened."""
        for program in self.programs.values():
            if program.exit_code is None:
                program.kill()
        if self._valkey.folder.is_dir():
            Detached(self._valkey.folder, "valkey").end(patience=5)
        self._valkey.socket_path.unlink(missing_ok=True)


@asynccontextmanager
async def open_house(data_dir: Path, processes: Mapping[str, tuple[str, ...]]) -> AsyncIterator[House]:
    """A house whose processes have started; at the end nothing of it runs."""
    async with (
        BotApiServer() as telegram,
        MessagesServer(window=WINDOW, brain=AnsweringBrain(), delta_delay=0.03) as model,
    ):
        house = House(data_dir, telegram, model, processes)
        notes = data_dir / "agents" / "telegram-1001" / NOTES
        notes.parent.mkdir(parents=True)
        notes.write_text(TALK)
        try:
            for program in house.programs.values():
                program.start()
            await eventually(lambda: all(program.serves for program in house.programs.values()), 60, house.describe)
            yield house
        finally:
            await asyncio.to_thread(house.clear)


def _environment(data_dir: Path, telegram: BotApiServer, model: MessagesServer) -> Mapping[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DATA_DIR": str(data_dir),
        "TELEGRAM_TOKEN": TOKEN,
        "TELEGRAM_API_BASE": telegram.url,
        "ACCESS": "open",
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": str(model.key),
        "LOG_FORMAT": "json",
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
