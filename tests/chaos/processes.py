"""The program's processes, which can be struck and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from tests.ports import free_port

_LOOK_SECONDS = 0.03
START_SECONDS = 120.0
"""Until a process serves: most of a start is loading code, which takes long where many start on few cores."""
END_SECONDS = 30.0
_GIVES_UP = ("palimpsest: The database cannot be opened", "palimpsest: REDIS_URL: no Redis answers")
"""What a process says last that waited in vain for a store at its start (docs/operations.md)."""


async def eventually(
    condition: Callable[[], object | Awaitable[object]], patience: float, state: Callable[[], object]
) -> float:
    """Wait until it holds; returns how many seconds that took. Raises TimeoutError with what ``state`` says."""
    began = time.monotonic()
    while True:
        found = condition()
        if await found if isinstance(found, Awaitable) else found:
            return time.monotonic() - began
        if time.monotonic() - began > patience:
            raise TimeoutError(f"not within {patience} s; the state is: {state()}")
        await asyncio.sleep(_LOOK_SECONDS)


class Program:
    """One process. ``clock`` is a file that says how many seconds its clock is wrong."""

    def __init__(self, name: str, arguments: tuple[str, ...], data_dir: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.http = ("127.0.0.1", free_port())
        self.clock = data_dir / f"{name}.clock"
        self._command = [sys.executable, "-m", "tests.chaos.program", "run", *arguments]
        self._folder = data_dir
        self._log = data_dir / f"{name}.log"
        self._environment: dict[str, str] = {
            **environment,
            "HTTP_BIND": "{}:{}".format(*self.http),
            "CHAOS_CLOCK": str(self.clock),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def tell(self, more: Mapping[str, str]) -> None:
        """Also this is in its environment from its next start on."""
        self._environment |= more

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

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._process is not None and self.exit_code is None:
            self._process.send_signal(number)

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll() if self._process else None

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more, and will not be started again by whatever supervises it."""
        return self.exit_code is not None and not self._gave_up

    def supervise(self) -> None:
        """Start it again where it gave up."""
        if self._gave_up:
            self.start()

    @property
    def _gave_up(self) -> bool:
        return self.exit_code == 1 and self.tail(1).startswith(_GIVES_UP)

    @property
    def serves(self) -> bool:
        """Whether it has got so far that it answers over HTTP."""
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
            return connection.connect_ex(self.http) == 0

    async def end(self) -> int | None:
        """Ask it to end, and see that it does; returns its exit code, None where it had to be killed."""
        assert self._process is not None
        await eventually(lambda: self.serves or self.has_ended, START_SECONDS, self.tail)
        self.send(signal.SIGTERM)
        try:
            return await asyncio.to_thread(self._process.wait, END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGUSR1)
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, 1)
            self.kill()
            return None

    def tail(self, lines: int = 30) -> str:
        """The end of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:]) if self._log.exists() else ""


def processes_of(data_dir: Path) -> list[psutil.Process]:
    """All processes of this machine that work for this house."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("DATA_DIR") == str(data_dir) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def environment_of(data_dir: Path, **more: str) -> Mapping[str, str]:
    """What every process of a house is told."""
    root = Path(__file__).parents[2]
    return {**os.environ, "PYTHONPATH": str(root), "DATA_DIR": str(data_dir), "LOG_FORMAT": "json", **more}
