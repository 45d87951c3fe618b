"""When what is slow to load is loaded, and how the garbage collector stays out of the way.

Two thirds of a start are the imports of libraries. So nothing is imported that is not used (the client of one wire,
the libraries of the platforms that have a token; the page at its first request), it is done in a thread, and a platform
is heard before those are there who answer::

    stores, and beside them the platforms ─▶ gateways receive ─▶ agents, the model's client, the worker ─▶ answers
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager

import structlog

from bot.errors import NotReady
from bot.runtime.checks import Check
from bot.runtime.providers import Wire, choice
from bot.runtime.settings import Settings
from bot.runtime.tasks import Work, stop

log = structlog.get_logger(__name__)

WORKER = ("workers.main", "arq.jobs")
AGENTS = ("bot.agent.host", "bot.agent.services", "bot.agent.tools.mcp.servers")
_CLIENTS = {Wire.MESSAGES: "bot.model.anthropic_sdk", Wire.CHAT: "httpx2"}
_PART = "start"
"""What `/readyz` calls it that something is still being loaded."""
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def without_collecting() -> Iterator[None]:
    """Until :func:`keep_what_is_loaded`, or the end of the block: collecting would take a quarter of the time that
    loading takes, and find nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def load(what: str, *modules: str) -> None:
    """Import them in a thread: else whatever this process does waits for it, its leases among that. ``what``: for the
    log, where anything had to be loaded."""
    if any(name not in sys.modules for name in modules):
        seconds = await asyncio.to_thread(_load, modules)
        log.info("loaded", what=what, seconds=round(seconds, 2))


def _load(modules: tuple[str, ...]) -> float:
    with _ONE_AT_A_TIME:
        began = time.monotonic()
        for name in modules:
            importlib.import_module(name)
        return time.monotonic() - began


def clients(settings: Settings) -> tuple[str, ...]:
    """The modules that the models of the settings are asked by."""
    return tuple(sorted(_CLIENTS[wire] for wire in choice.wires(settings)))


class Loading:
    """The roles of one process whose code is not there yet. What they need is loaded beside the rest."""

    def __init__(self, roles: Iterable[str], checks: dict[str, Check]) -> None:
        self._left = set(roles)
        self._checks = checks
        if self._left:
            checks[_PART] = self._check
        else:
            keep_what_is_loaded()

    async def of(self, role: str, *modules: str) -> None:
        """Load what this role needs. With the last one the start is over."""
        await load(role, *modules)
        self._left.discard(role)
        if not self._left:
            self._checks.pop(_PART, None)
            keep_what_is_loaded()

    async def _check(self) -> str | None:
        raise NotReady(f"still being loaded: {', '.join(sorted(self._left))}")


@asynccontextmanager
async def begun(work: Work) -> AsyncIterator[asyncio.Task[None]]:
    """This goes on in the block, and is over at its end."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        await stop(task)


def keep_what_is_loaded() -> None:
    """Neither the garbage collector nor the end of the process looks at it any more: that would take the end 2 s. Nor
    is it looked at now, which would take a tenth of the start, and find 2 MB."""
    gc.freeze()
    gc.enable()
