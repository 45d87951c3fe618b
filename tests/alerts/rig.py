"""A fleet as it is run, with a real Prometheus that looks at it: to break something, and to see who is told what, when.

Everything is real but the platform and the provider, which are servers on loopback. The rules are those of deploy/;
only how soon Prometheus looks, and how long something has to be so before it rings (`for`), is shorter here.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from tests.chaos.stores import Postgres, Valkey
from tests.deployed import RULES
from tests.servers.messages.server import MessagesServer, Reply
from tests.servers.prometheus import Prometheus
from tests.servers.proxy import Proxy
from tests.servers.telegram.server import BotApiServer, Person
from tests.wire.program import KEY, Program, Programs

ANSWER = "Yes, I am here."
ADA, GRACE = 1001, 2002
"""Somebody who writes, and the admin."""
_SPEAKS_SECONDS = 4.0
_PATIENCE = 120.0
_HOLDS = "2s"
"""In place of every `for`."""
_MEGABYTES = 1_000
_DATABASE_MEGABYTES = 48


@dataclass(frozen=True)
class Told:
    """What came of a fault. Seconds: from the fault to the first alert that rings for it, and from its end to the first
    answer; ``admins`` and ``people``: what they read meanwhile."""

    seconds: float
    severity: str
    summary: str
    answered_after: float
    admins: Sequence[str]
    people: Sequence[str]


TOLD: dict[tuple[str, str], Told] = {}
"""By fault and alert."""


@dataclass
class Rig:
    """What runs. ``disk`` and ``tables``: small disks of DATA_DIR and of the database, None where none may be made."""

    model: MessagesServer
    provider: Proxy
    telegram: BotApiServer
    postgres: Postgres
    valkey: Valkey
    programs: Programs
    prometheus: Prometheus
    ada: Person
    gateway: Program
    disk: Path | None
    tables: Path | None

    @property
    def address(self) -> str:
        """Where the gateway listens."""
        return str(json.loads(self.gateway.logged("http_listens")[0])["address"])

    async def sql(self, *statements: str) -> None:
        """As the database's owner."""
        await _sql(self.postgres.url, *statements)

    async def rings(self, alert: str) -> dict[str, Any] | None:
        """The labels and the summary of this alert, if it is firing."""
        found = [one for one in await self.prometheus.ringing() if one.name == alert and one.state == "firing"]
        return {**found[0].labels, "summary": found[0].summary} if found else None

    async def speak_until(self, condition: Callable[[], Any], what: str, seconds: float = _PATIENCE) -> Any:
        """Somebody writes again and again, until it is so."""

        async def speak() -> None:
            while True:
                self.ada.says("Are you there? " + "I ask since nobody says a word to me. " * 60)
                await asyncio.sleep(_SPEAKS_SECONDS)

        speaking = asyncio.create_task(speak())
        try:
            return await self.prometheus.until(condition, what, seconds)
        finally:
            speaking.cancel()
            await asyncio.gather(speaking, return_exceptions=True)

    async def answers(self) -> float:
        """Returns after how many seconds there was a new answer."""
        before, began = self._answers(), _now()

        async def is_answered() -> bool:
            return self._answers() > before

        await self.speak_until(is_answered, "Ada is answered")
        return _now() - began

    async def breaks(self, alert: str, begin: Callable[[], Any], end: Callable[[], Any]) -> Told:
        """Break it, see the alert ring, and mend it."""

        async def is_quiet() -> bool:
            return await self.rings(alert) is None

        async def is_firing() -> Any:
            return await self.rings(alert)

        await self.prometheus.until(is_quiet, f"{alert} is quiet before", 300)
        admins, people = len(self.telegram.texts(GRACE)), len(self.telegram.texts(ADA))
        await begin()
        began = _now()
        try:
            found = await self.speak_until(is_firing, f"{alert} rings")
            seconds = _now() - began
        finally:
            await end()
        answered = await self.answers()
        await self._heard_out(admins)
        read = [one for one in self.telegram.texts(ADA)[people:] if one != ANSWER]
        return Told(
            seconds,
            found["severity"],
            found["summary"],
            answered,
            self.telegram.texts(GRACE)[admins:],
            list(dict.fromkeys(read)),
        )

    async def _heard_out(self, since: int) -> None:
        """Whoever was told that it began is told that it is over."""
        if any("tell you when" in one for one in self.telegram.texts(GRACE)[since:]):
            await self.telegram.wait_for(lambda it: "again." in it.texts(GRACE)[-1].lower()[-6:], _PATIENCE)

    def _answers(self) -> int:
        return self.telegram.texts(ADA).count(ANSWER)


@asynccontextmanager
async def open_rig(folder: Path) -> AsyncIterator[Rig]:
    """A gateway, and agents with a worker, on PostgreSQL and Valkey; Grace is the admin, and was answered once."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(MessagesServer(key=KEY, brain=lambda _: Reply(ANSWER)))
        provider = await stack.enter_async_context(Proxy(("127.0.0.1", model.port)))
        telegram = await stack.enter_async_context(BotApiServer())
        telegram.group_flood_control = False
        disk = stack.enter_context(_small_disk(folder / "data", "ext4", _MEGABYTES))
        postgres, valkey = Postgres(), Valkey(folder / "valkey", is_ours=True)
        stack.push_async_callback(valkey.clear)
        stack.callback(postgres.clear)
        await asyncio.gather(postgres.start(), valkey.start())
        tables = stack.enter_context(_small_disk(Path(postgres.socket).parent / "tables", "tmpfs", _DATABASE_MEGABYTES))
        url = await _made(postgres, tables)
        settings = {
            "DATABASE_URL": url,
            "REDIS_URL": f"unix://{valkey.socket}",
            "ANTHROPIC_BASE_URL": f"http://{provider.address}",
            "ADMINS": f"telegram:{GRACE}",
            "RATE__PERSON": "0",
        }
        programs = Programs(folder, model, telegram, book=settings)
        stack.push_async_callback(_killed, programs)
        gateway = await programs.serve("gateway")
        others = await programs.serve("agents", "worker")
        grace, ada = telegram.person(GRACE, "Grace"), telegram.person(ADA, "Ada")
        prometheus = Prometheus(folder / "prometheus", _configuration(folder, [gateway, others]))
        await stack.enter_async_context(prometheus)
        grace.says("It is me.")
        await telegram.wait_for(lambda it: ANSWER in it.texts(GRACE), _PATIENCE)
        rig = Rig(model, provider, telegram, postgres, valkey, programs, prometheus, ada, gateway, disk, tables)
        await rig.answers()
        yield rig


def fill(disk: Path) -> None:
    """Nothing more can be written there."""
    with (disk / "full").open("wb", buffering=0) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free)
            while True:
                file.seek(0, os.SEEK_END)
                file.write(b"\0" * 4096)
        except OSError:
            return


def make_room(disk: Path) -> None:
    """As it was."""
    (disk / "full").unlink(missing_ok=True)


async def _made(postgres: Postgres, tables: Path | None) -> str:
    """A database, on its small disk where there is one; returns the URL for the program."""
    where = ""
    if tables:
        owner = Path(postgres.socket).parent.stat()
        os.chown(tables, owner.st_uid, owner.st_gid)
        await _sql(postgres.url, f"CREATE TABLESPACE small LOCATION '{tables}'")
        where = " TABLESPACE small"
    await _sql(postgres.url, f"CREATE DATABASE book{where}")
    return f"postgresql://postgres@/book?host={Path(postgres.socket).parent}"


async def _sql(url: str, *statements: str) -> None:
    engine = create_async_engine(url, isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        for statement in statements:
            await connection.execute(text(statement))
    await engine.dispose()


class _small_disk:  # noqa: N801  # a context manager, called like a function
    """A file system of its own at this folder; None where this user or this container may not mount any."""

    def __init__(self, folder: Path, kind: str, megabytes: int) -> None:
        self._folder, self._kind, self._megabytes = folder, kind, megabytes
        self._image: Path | None = None
        self._is_mounted = False

    def __enter__(self) -> Path | None:
        self._folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={self._megabytes}m", "tmpfs"]
        if self._kind == "ext4":
            handle, name = tempfile.mkstemp(prefix="palimpsest-disk-")
            os.truncate(handle, self._megabytes * 2**20)  # sparse: what is reserved in it is not written
            os.close(handle)
            self._image = Path(name)
            if _run(["mkfs.ext4", "-q", "-F", "-m", "0", name]):
                command = ["mount", "-o", "loop", name]
        self._is_mounted = _run([*command, str(self._folder)])
        return self._folder if self._is_mounted else None

    def __exit__(self, *_: object) -> None:
        if self._is_mounted:
            _run(["umount", "--lazy", str(self._folder)])
        if self._image:
            self._image.unlink()


def _run(command: Sequence[str]) -> bool:
    if not shutil.which(command[0]):
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


async def _killed(programs: Programs) -> None:
    for program in programs.started:
        program.tell(signal.SIGCONT)
        await program.kill()


def _configuration(folder: Path, programs: Sequence[Program]) -> dict[str, Any]:
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            if "for" in rule:
                rule["for"] = _HOLDS
    path = folder / "rules.yml"
    path.write_text(yaml.safe_dump(rules), encoding="utf-8")
    targets = [json.loads(program.logged("http_listens")[0])["address"] for program in programs]
    return {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(path)],
        "scrape_configs": [{"job_name": "palimpsest", "static_configs": [{"targets": targets}]}],
    }


def _now() -> float:
    return asyncio.get_running_loop().time()
