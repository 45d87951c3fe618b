"""Debian's PgBouncer before a PostgreSQL of the tests."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import make_url

from tests.ports import free_port
from tests.servers.postgres_user import postgres_user

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
_SECONDS = 10.0


@asynccontextmanager
async def pgbouncer(postgres_url: str, *, pool_mode: str, size: int = 4) -> AsyncIterator[str]:
    """A pooler with ``size`` connections of its own to the database at ``postgres_url``; gives its URL."""
    assert PGBOUNCER
    url, port = make_url(postgres_url), free_port()
    with tempfile.TemporaryDirectory(prefix="palimpsest-pgb-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "users").write_text('"postgres" ""\n')
        (folder / "ini").write_text(
            f"[databases]\n{url.database} = host={url.query['host']} port={url.port or 5432} user=postgres\n"
            f"[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={port}\nauth_type=trust\nauth_file={folder}/users\n"
            f"pool_mode={pool_mode}\ndefault_pool_size={size}\nmax_client_conn=400\nunix_socket_dir=\n"
            "server_login_retry=1\n"
        )
        user = postgres_user()  # whose socket is in a folder of its own
        command = [PGBOUNCER, *(["-u", user] if user else []), str(folder / "ini")]
        log = folder / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            await _serves(process, port, log)
            yield f"postgresql://postgres@127.0.0.1:{port}/{url.database}"
        finally:
            process.kill()
            process.wait()


async def _serves(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    async with asyncio.timeout(_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                assert process.poll() is None, log.read_text()
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
