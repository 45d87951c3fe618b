"""A server process that belongs to a folder, and not to the process that happened to start it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

LOG_LIMIT = 1_000_000
"""Bytes; a longer log is kept as `<name>.log.1` when the server starts next."""


class Detached:
    """At most one process of this name in this folder. All calls may block, and belong behind the door.

    - It inherits a descriptor whose file it thereby keeps locked: the kernel says whether it lives, whoever
      started it, and the pid in the file is only believed while the lock is held.
    - It has a session of its own, so Ctrl-C in the terminal of its starter does not reach it.
    - A shell starts it and ends at once, so it is nobody's child: whoever is the last one out stops it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._lock = folder / f"{name}.lock"
        self._log = folder / f"{name}.log"
        self._log_start = 0

    @property
    def alive(self) -> bool:
        descriptor = self._open_lock()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    @property
    def pid(self) -> int | None:
        """Its process id; only meaningful while it is alive."""
        try:
            return int(self._lock.read_text())
        except (OSError, ValueError):
            return None

    @property
    def last_words(self) -> str:
        """The end of what it said since it was started here, for an error message."""
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read()[-4000:].decode(errors="replace").splitlines()
        return " | ".join(line.strip() for line in lines[-3:] if line.strip())

    def spawn(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, *, descriptors: Sequence[int] = ()
    ) -> None:
        """Starts it, with the folder as its working directory and with these open files. Does not wait until it
        serves."""
        descriptor = self._open_lock()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._log.exists() and self._log.stat().st_size > LOG_LIMIT:
                self._log.replace(self._log.with_suffix(".log.1"))
            with self._log.open("ab") as log:
                self._log_start = log.tell()
                subprocess.run(
                    ["/bin/sh", "-c", '"$@" & echo $! >"$0"', self._lock.name, *command],
                    check=True,
                    cwd=self._folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(descriptor, *descriptors),
                    start_new_session=True,
                )
        finally:
            os.close(descriptor)

    def wait_until_gone(self, patience: float) -> bool:
        """True when it has ended within `patience` seconds."""
        return wait_until(lambda: not self.alive, patience)

    def end(self, patience: float) -> None:
        """SIGTERM, and SIGKILL to one that has not ended after `patience` seconds."""
        for order in (signal.SIGTERM, signal.SIGKILL):
            pid = self.pid
            if not self.alive or pid is None:
                return
            os.kill(pid, order)
            if self.wait_until_gone(patience):
                return

    def _open_lock(self) -> int:
        return os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def wait_until(condition: Callable[[], bool], patience: float) -> bool:
    """Looks every 10 ms, for at most `patience` seconds."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
