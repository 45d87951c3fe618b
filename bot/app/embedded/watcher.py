"""Ends an embedded Valkey that nobody holds any more: a process of its own, which :func:`start` starts.

The last one out stops it; where all were killed, nobody does, and Valkey knows nothing of our locks. So a small process
stands beside it, and looks every so many seconds whether anybody is in. After so many seconds without anybody it shuts
the door, ends Valkey, and ends itself; whoever came meanwhile waits at the door, and starts another one.

It is given open files and not their paths: a folder that was moved is still held by whoever is in, and one that was
removed by nobody, whatever has been made in its place.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import bot
from bot.app.embedded.detached import Detached

EVERY_SECONDS = 5.0
AFTER_SECONDS = 30.0
"""A program that is started again within that time joins the server that runs."""
_END_SECONDS = 10.0
_PROC = Path("/proc")
_FILES = ("door.lock", "members.lock", "valkey.lock")


def start(process: Detached, folder: Path, every: float, after: float) -> None:
    """Let this process watch the folder. Behind the door, where all its files are."""
    # -P and PYTHONPATH: our own package, wherever it is, and nothing that lies in the folder.
    environment = {**os.environ, "PYTHONPATH": str(Path(bot.__file__).parents[1])}
    with _opened(folder) as files:
        numbers = [str(number) for number in (*files, every, after)]
        program = [sys.executable, "-P", "-m", "bot.app.embedded.watcher", *numbers]
        process.spawn(program, environment, descriptors=files)


@contextmanager
def _opened(folder: Path) -> Iterator[Sequence[int]]:
    """The folder and its files. Not what others here have open: locks belong to who opened."""
    files = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        files += [os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for name in _FILES]
        yield files
    finally:
        for file in files:
            os.close(file)


class Watcher:
    """Of one folder: itself, its door, its members, and its server's lock, all open."""

    def __init__(self, folder: int, door: int, members: int, server: int) -> None:
        self._folder = folder
        self._door = door
        self._members = members
        self._server = server

    def run(self, every: float, after: float) -> None:
        """Return when nobody has been in for so long, and no server of ours runs any more. The door stays shut until
        this process ends: whoever comes then starts a watcher too."""
        since = time.monotonic()
        while time.monotonic() - since < after or not self._shut():
            if self._shut():
                self._open()
            else:
                since = time.monotonic()
            time.sleep(every)
        self._end()

    def _shut(self) -> bool:
        """Shut the door, where nobody is in nor stands there."""
        if not _lock(self._door):
            return False
        if not _lock(self._members):
            fcntl.flock(self._door, fcntl.LOCK_UN)
            return False
        return True

    def _open(self) -> None:
        fcntl.flock(self._members, fcntl.LOCK_UN)
        fcntl.flock(self._door, fcntl.LOCK_UN)

    def _end(self) -> None:
        for order in (signal.SIGTERM, signal.SIGKILL):
            number = self._number()
            if number is None:
                return
            try:
                os.kill(number, order)
            except ProcessLookupError:
                return
            deadline = time.monotonic() + _END_SECONDS
            while self._number() is not None and time.monotonic() < deadline:
                time.sleep(0.05)

    def _number(self) -> int | None:
        """The process id of the server, as long as it lives and is ours to end."""
        if _lock(self._server):
            fcntl.flock(self._server, fcntl.LOCK_UN)
            return None
        try:
            number = int(os.pread(self._server, 32, 0))
        except ValueError:
            return None
        return number if self._is_ours(number) else None

    def _is_ours(self, number: int) -> bool:
        """Its id may be one of another container on the same DATA_DIR. Where it works says that it is the one."""
        if not _PROC.is_dir():  # not Linux: there are no containers either
            return True
        try:
            return os.path.samestat((_PROC / str(number) / "cwd").stat(), os.fstat(self._folder))
        except OSError:
            return False


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    Watcher(*map(int, sys.argv[1:5])).run(float(sys.argv[5]), float(sys.argv[6]))
