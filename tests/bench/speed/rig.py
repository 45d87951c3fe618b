"""Everything that a measurement runs on: the two servers, the stores and the program, each a process of its own.

The program is `palimpsest run` with all roles, or a process for each; `ACCESS=open`, no limits on how much people may
write, warnings alone in the log, the log in a file, HTTP on a free port. Everything else is as it is by default.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bot.app.embedded.detached import Detached
from bot.app.embedded.valkey import EmbeddedValkey
from bot.runtime.tasks import stop
from tests.bench.speed.marks import KEY, MODEL, TOKEN
from tests.bench.speed.stores import Store, open_store
from tests.bench.speed.wire import Control

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0
"""Seconds that anything may take that is not measured."""
MACHINE = "machine"
ROLES = ("gateway", "agents", "worker")


@dataclass
class Rig:
    """A running program between its servers. ``programs`` are its processes by role (`all` when it is one)."""

    folder: Path
    platform: Control
    model: Control
    environment: Mapping[str, str]
    store: Store
    programs: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    servers: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    command: Sequence[str] = ()
    _counted: dict[int, float] = field(default_factory=dict)

    async def start(self, role: str, **environment: str) -> None:
        """Start the program in this role; `all` is every role, `floor` the bare bot."""
        words = [*self.command] if role == "floor" else [*self.command, "run"]
        if role not in ("all", "floor"):
            words += ["--role", role.split("-", maxsplit=1)[0]]
        with (self.folder / f"{role}.log").open("ab") as log:
            self.programs[role] = await asyncio.create_subprocess_exec(
                *words,
                cwd=self.folder,
                env={**self.environment, **environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    async def until_it_polls(self) -> None:
        """Return when the program listens to the platform."""
        before = (await self.platform.ask("/bench/status"))["polls"]
        waiting = asyncio.create_task(self.platform.until("/bench/polled", patience=PATIENCE, before=before))
        ending = [asyncio.create_task(process.wait()) for process in self.programs.values()]
        await asyncio.wait({waiting, *ending}, return_when=asyncio.FIRST_COMPLETED)
        await stop(*ending)
        if not waiting.done():
            await stop(waiting)
            raise RuntimeError(f"the program has ended:\n{self.logged()}")
        waiting.result()

    async def kill(self, role: str) -> None:
        """kill -9."""
        process = self.programs.pop(role)
        process.kill()
        await process.wait()

    async def end(self) -> None:
        """Stop the program as a service manager does."""
        for process in self.programs.values():
            if process.returncode is None:
                process.terminate()
        for process in self.programs.values():
            try:
                await asyncio.wait_for(process.wait(), 20)
            except TimeoutError:
                process.kill()
                await process.wait()
        self.programs.clear()
        if (self.folder / "data" / "valkey").is_dir():  # after a kill -9 nobody else does
            await asyncio.to_thread(Detached(self.folder / "data" / "valkey", "valkey").end, 5.0)

    def logged(self) -> str:
        """What the program wrote, for an error message."""
        return "\n".join(path.read_text(errors="replace")[-2_000:] for path in self.folder.glob("*.log"))

    def cpu(self) -> dict[str, float]:
        """CPU seconds so far of each process: the program's, the stores', the two servers', ours (`load`); and MACHINE,
        all that its cores did or were kept from doing."""
        used = {role: cpu_of(process.pid) for role, process in self.programs.items()}
        used |= {name: cpu_of(process.pid) for name, process in self.servers.items()}
        used |= {name: cpu_of(pid) for name, pid in self.store_pids().items()}
        own, all_ = psutil.Process().cpu_times(), psutil.cpu_times()
        used["load"] = own.user + own.system
        used[MACHINE] = sum(all_) - all_.idle - all_.iowait
        return used

    def store_pids(self) -> dict[str, int]:
        """The stores' processes that run, by name."""
        own = Detached(self.folder / "data" / "valkey", "valkey")
        embedded = own.pid if (self.folder / "data" / "valkey").is_dir() else None
        return {**({"valkey": embedded} if embedded else {}), **self.store.pids()}

    @property
    def redis_url(self) -> str:
        """Of the Valkey that the program uses."""
        return self.environment.get("REDIS_URL") or EmbeddedValkey(self.folder / "data").url

    def resident(self) -> float:
        """Resident megabytes of the program's processes together."""
        return sum(psutil.Process(process.pid).memory_info().rss for process in self.programs.values()) / 1e6


def cpu_of(pid: int) -> float:
    """A process and what it started, also what has ended."""
    process = psutil.Process(pid)
    times = process.cpu_times()
    used = times.user + times.system + times.children_user + times.children_system
    for child in process.children(recursive=True):
        try:
            spent = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used += spent.user + spent.system
    return float(used)


@asynccontextmanager
async def open_rig(
    *,
    store: str = "sqlite",
    apart: bool = False,
    floor: bool = False,
    start: bool = True,
    counted: bool = False,
    model: Sequence[str] = (),
    command: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Rig]:
    """The program on this store (see :data:`tests.bench.speed.stores.STORES`), until the end of the block.

    ``apart``: a process for each role; ``floor``: the bare bot instead; ``start``: or leave that to the caller;
    ``counted``: see :func:`tests.bench.speed.stores.open_store`; ``model``: options of the model server; ``command``:
    another way to start the program; ``environment``: settings beside the usual ones.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="speed-", ignore_cleanup_errors=True)))
        platform_process, platform = await stack.enter_async_context(_server("platform_server"))
        model_process, model_control = await stack.enter_async_context(_server("model_server", *model))
        opened = await stack.enter_async_context(open_store("none" if floor else store, folder, counted=counted))
        urls = (f"http://127.0.0.1:{platform_process[1]}", f"http://127.0.0.1:{model_process[1]}")
        usual = [sys.executable, "-m", "bot.app.cli.main"]
        rig = Rig(
            folder,
            platform,
            model_control,
            {**_environment(folder, *urls), **opened.environment, **(environment or {})},
            opened,
            servers={"platform": platform_process[0], "model": model_process[0]},
            command=[sys.executable, "-m", "tests.bench.speed.floor", *urls] if floor else (command or usual),
        )
        stack.push_async_callback(rig.end)
        if start:
            for role in ("floor",) if floor else ROLES if apart else ("all",):
                await rig.start(role)
            await rig.until_it_polls()
        yield rig


def _environment(folder: Path, platform: str, model: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "DATA_DIR": str(folder / "data"),
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": model,
        "MODEL": MODEL,
        "TELEGRAM_TOKEN": TOKEN,
        "TELEGRAM_API_BASE": platform,
        "ACCESS": "open",
        "RATE__PERSON": "0",
        "RATE__CHAT": "0",
        "HTTP_BIND": "127.0.0.1:0",
        "LOG_LEVEL": "WARNING",
        "LOG_FORMAT": "json",
    }


@asynccontextmanager
async def _server(name: str, *options: str) -> AsyncIterator[tuple[tuple[asyncio.subprocess.Process, int], Control]]:
    """A server of this bench; it ends with its standard input."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"tests.bench.speed.{name}",
        *options,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    port = int(await process.stdout.readline())
    control = Control(port)
    try:
        yield (process, port), control
    finally:
        await control.close()
        process.stdin.close()
        await process.wait()
