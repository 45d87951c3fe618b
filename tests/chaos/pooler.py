"""PgBouncer between the processes and PostgreSQL."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.chaos.plan import Pooler
from tests.chaos.processes import END_SECONDS, eventually
from tests.chaos.stores import NAME, Postgres

HERE = shutil.which("pgbouncer")
"""Where it is installed; None: it is not, and the processes talk to PostgreSQL itself."""
_PORT = 6432  # of its socket's name alone


class PgBouncer:
    """In one of its modes, on a Unix socket beside the server's."""

    def __init__(self, postgres: Postgres, mode: Pooler) -> None:
        self._postgres = postgres
        self.mode = mode
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> str:
        """The path of its Unix socket."""
        return str(self._postgres.folder / f".s.PGSQL.{_PORT}")

    async def start(self) -> None:
        """Returns when it serves; PostgreSQL's folder has to be there."""
        assert HERE
        settings = self._postgres.folder / "pgbouncer.ini"
        settings.write_text(self._settings())
        log = (self._postgres.folder / "pgbouncer.log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [HERE, str(settings)],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._postgres.user,
            )
        await eventually(lambda: Path(self.socket).exists(), END_SECONDS, lambda: "no PgBouncer")

    def clear(self) -> None:
        """Nothing stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _settings(self) -> str:
        folder = self._postgres.folder
        return "\n".join(
            [
                "[databases]",
                f"{NAME} = host={folder} user=postgres",
                "[pgbouncer]",
                "listen_addr =",
                f"listen_port = {_PORT}",
                f"unix_socket_dir = {folder}",
                "auth_type = any",
                f"pool_mode = {self.mode}",
                "default_pool_size = 40",
                "max_client_conn = 400",
                "server_login_retry = 1",
            ]
        )
