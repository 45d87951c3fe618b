"""How soon the program is there, what that costs, and what it holds when nobody talks to it.

Each start is a process of its own, on the code of a clone; with ``beside`` another clone's code is started in turn with
ours, in the same run. Seconds are from the start of the process.

- **telegram**: a message waits at the platform; **first**: on an empty folder, **again**: on the same one.
- **page**: without a platform; somebody writes in the chat page as soon as it can be reached.
- **chat**: the terminal, until its prompt is shown, and until the answer to what was typed then is; more is loaded
  behind the prompt.
- **resident**: of `run`, some seconds after it began to receive, when nobody has written; and after an answer.
- The other rows are short commands, from start to end.
- **CPU**: seconds of it, of the process and of those that it started: where a machine has other work, these still say
  something, and seconds by the clock do not.
"""

from __future__ import annotations

import asyncio
import os
import pty
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

import aiohttp

from tests.bench.speed.figures import Figure
from tests.bench.speed.load import FIRST_CHAT, say, until_answered
from tests.bench.speed.marks import END
from tests.bench.speed.rig import PATIENCE, ROOT, Rig, cpu_of, open_rig
from tests.connectors.browser import Browser
from tests.connectors.page_lines import Line
from tests.ports import free_port

HERE, BESIDE = "this clone", "beside"
_IDLE_SECONDS = 6.0
_LOOK_SECONDS = 0.005
_PROMPT = b">"
_BANNER_END = b"leaves."
_COMMANDS = (("--version",), ("--help",), ("pair", "list"), ("doctor",))

Seen = dict[str, float]
"""Figures of one round, by name; what ends in ` MB` is memory."""


async def measure(*, rounds: int, beside: Path | None = None) -> list[Figure]:
    """The median of so many rounds."""
    clones = {HERE: ROOT, **({BESIDE: beside.resolve()} if beside else {})}
    seen: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(rounds):
        for name, clone in clones.items():
            for figure, value in (await _round(clone)).items():
                seen[name, figure].append(value)
    return [
        Figure("start", name, figure, median(values), "MB" if figure.endswith(" MB") else "s")
        for (name, figure), values in seen.items()
    ]


async def _round(clone: Path) -> Seen:
    environment = {"PYTHONPATH": str(clone)}
    async with open_rig(start=False, environment=environment) as rig:
        seen = await _telegram(rig)
    async with open_rig(start=False, environment={**environment, "TELEGRAM_TOKEN": ""}) as rig:
        return seen | await _page(rig) | await _terminal(rig) | await _commands(rig)


async def _telegram(rig: Rig) -> Seen:
    seen: Seen = {}
    for which in ("first", "again"):
        number = await say(rig, FIRST_CHAT)
        began = time.monotonic()
        await rig.start("all")
        await rig.until_it_polls()
        seen[f"telegram, {which}: receives"] = time.monotonic() - began
        await until_answered(rig, [number])
        seen[f"telegram, {which}: answer"] = time.monotonic() - began
        seen[f"telegram, {which}: CPU until then"] = rig.cpu()["all"]
        await asyncio.sleep(_IDLE_SECONDS)
        seen["telegram: resident after an answer, MB"] = rig.resident()
        await rig.end()
    await rig.start("all")
    await rig.until_it_polls()
    await asyncio.sleep(_IDLE_SECONDS)
    seen["telegram: CPU, idle"] = rig.cpu()["all"]
    seen["telegram: resident, idle, MB"] = rig.resident()
    await rig.end()
    return seen


async def _page(rig: Rig) -> Seen:
    seen: Seen = {}
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    for which in ("first", "again"):
        began = time.monotonic()
        await rig.start("all", HTTP_BIND=f"127.0.0.1:{port}")
        await _until_it_opens(f"{url}/chat/bench")
        seen[f"page, {which}: shown"] = time.monotonic() - began
        async with Browser(url) as browser, browser.tab("bench") as tab:
            await tab.says(f"{which}, tell me more")
            await tab.sees(lambda tab: _ends(tab.lines))
        seen[f"page, {which}: answer"] = time.monotonic() - began
        seen[f"page, {which}: CPU until then"] = rig.cpu()["all"]
        await rig.end()
    await rig.start("all", HTTP_BIND=f"127.0.0.1:{port}")
    await _until_it_opens(f"{url}/healthz")
    await asyncio.sleep(_IDLE_SECONDS)
    seen["page: resident, idle, MB"] = rig.resident()
    await rig.end()
    return seen


def _ends(lines: Sequence[Line]) -> bool:
    """Whether the last that was said is a whole answer."""
    return bool(lines) and lines[-1].who == "model" and END.decode() in lines[-1].text


async def _until_it_opens(url: str) -> None:
    """Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as browser:
        while True:
            with suppress(aiohttp.ClientConnectionError):
                async with browser.get(url) as answer:
                    answer.raise_for_status()
                    return
            await asyncio.sleep(_LOOK_SECONDS)


async def _terminal(rig: Rig) -> Seen:
    seen: Seen = {}
    for which in ("first", "again"):
        ours, theirs = pty.openpty()
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *rig.command,
            "chat",
            "--agent",
            "bench",
            cwd=rig.folder,
            env={**rig.environment, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        os.set_blocking(ours, False)
        screen = _Screen(ours)
        await screen.until(lambda shown: _PROMPT in shown.partition(_BANNER_END)[2])
        seen[f"chat, {which}: prompt"] = time.monotonic() - began
        seen[f"chat, {which}: CPU until the prompt"] = cpu_of(process.pid)
        os.write(ours, f"{which}, tell me more\r".encode())
        await screen.until(lambda shown: END in shown)
        seen[f"chat, {which}: answer"] = time.monotonic() - began
        seen[f"chat, {which}: CPU until the answer"] = cpu_of(process.pid)
        process.terminate()
        await process.wait()
        screen.close()
    return seen


class _Screen:
    """What a program has written to its terminal so far."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._shown = b""
        self._more = asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            self._shown += os.read(self._descriptor, 65_536)
        except BlockingIOError:
            return
        except OSError:  # nobody has the other side any more
            asyncio.get_running_loop().remove_reader(self._descriptor)
        self._more.set()

    async def until(self, is_so: Callable[[bytes], bool]) -> None:
        """Raises TimeoutError, with the screen's end."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not is_so(self._shown):
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError as error:
            raise TimeoutError(f"the terminal shows {self._shown[-1_000:]!r}") from error

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)


async def _commands(rig: Rig) -> Seen:
    seen: Seen = {}
    for words in _COMMANDS:
        began, before = time.monotonic(), _cpu_of_ended()
        process = await asyncio.create_subprocess_exec(
            *rig.command,
            *words,
            cwd=rig.folder,
            env=dict(rig.environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await process.wait()
        seen[f"palimpsest {' '.join(words)}"] = time.monotonic() - began
        seen[f"palimpsest {' '.join(words)}: CPU"] = _cpu_of_ended() - before
    return seen


def _cpu_of_ended() -> float:
    """Seconds of all children that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
