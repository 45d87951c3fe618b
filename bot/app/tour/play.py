"""Plays the tour: starts the program, talks to it, kills it in the middle of an answer and starts it again.

What is shown is told as it comes from the program; nothing of it is known here before.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import bot
from bot.app.embedded.detached import Detached
from bot.app.tour.script import CUT_SHORT, DETAIL, GROWING, HERE
from bot.compaction.trace import Body, sections_in
from bot.errors import PalimpsestError
from bot.runtime.tasks import to_the_end

SEEN_WORDS = 20
"""Of the answer in which the program is killed: so many are there by then."""
_PATIENCE = 60.0
"""Seconds for an answer, also on a machine that does much else."""
_END_SECONDS = 15.0
_CONTEXT = re.compile(r"Context: ([\d,]+) of ([\d,]+) tokens .*, level (\w+)")
_SUMMARY = "### Summary"
"""Behind this, in a section of the trace."""
_LOOK_SECONDS = 0.05
_COMPACTED = "🗜 Compacted:"
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE")
"""Of the environment. No setting of whoever looks is to change what is shown, and no key is to be seen."""


class TourEnded(PalimpsestError):
    """The program of the tour did not do what it is shown for; the text says what it said last."""


@dataclass(frozen=True)
class Act:
    """What comes next, in one line."""

    line: str


@dataclass(frozen=True)
class Asked:
    """What the person writes."""

    text: str


@dataclass(frozen=True)
class Written:
    """A reply so far (``partial``), or all of it."""

    key: str
    text: str
    partial: bool


@dataclass(frozen=True)
class Noticed:
    """What the program itself says. The same ``key`` again: this stands there now."""

    key: str
    text: str


@dataclass(frozen=True)
class Measured:
    """How full the context is, in tokens."""

    total: int
    limit: int
    level: str


@dataclass(frozen=True)
class Summarised:
    """What the model reads from now on in the place of the rest, as the program has written it down in this file."""

    text: str
    file: str


@dataclass(frozen=True)
class Rest:
    """All that a message set off is done."""


@dataclass(frozen=True)
class Killed:
    """The process with this id was ended by SIGKILL."""

    pid: int


@dataclass(frozen=True)
class Started:
    """The program runs, as this process."""

    pid: int


@dataclass(frozen=True)
class Counted:
    """At the end: what was asked, and how many final replies there were to each."""

    asked: int
    replies: int


Shown: TypeAlias = Act | Asked | Written | Noticed | Measured | Summarised | Rest | Killed | Started | Counted
Show: TypeAlias = Callable[[Shown], Awaitable[None]]

OPENING = Act("A conversation grows. Its limit is small here, so that a minute fills it.")
AHEAD = Act("From 70 % on it is compacted ahead of time, after the answer: nobody waits.")
OLD_DETAIL = Act("An old detail: that message is out of the model's view, and the summary has it.")
UNDONE = Act("Nothing was deleted: /undo brings the whole page back.")
STRUCK = Act("Now the program is killed with kill -9, in the middle of an answer.")
AGAIN = Act("It is started again, and goes on where it was, without being asked.")


async def play(show: Show, pause: Callable[[float], Awaitable[None]], pace: float) -> None:
    """The whole tour. ``show`` is told each thing; ``pause`` waits so many seconds of a reader's time; ``pace``:
    seconds for each word that the model writes. Raises TourEnded."""
    async with _folder() as data_dir:
        program = Program(data_dir, pace, show)
        try:
            await program.start()
            await show(OPENING)
            for question in GROWING[:-1]:
                await program.ask(question)
                await pause(1.0)
            await show(AHEAD)
            await program.ask_until_compacted(GROWING[-1])
            await pause(1.5)
            await program.show_summary()
            await pause(4.0)
            await show(OLD_DETAIL)
            await program.ask(DETAIL)
            await pause(4.0)
            await show(UNDONE)
            await program.ask("/undo")
            await pause(4.0)
            await show(STRUCK)
            await program.ask_and_kill(CUT_SHORT)
            await pause(3.0)
            await show(AGAIN)
            await program.start()
            await show(program.counted)
        finally:
            await to_the_end(program.end())


@asynccontextmanager
async def _folder() -> AsyncIterator[Path]:
    """A DATA_DIR that nobody else knows, and that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-tour-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Program:
    """The program as a process, and what it delivers."""

    def __init__(self, data_dir: Path, pace: float, show: Show) -> None:
        self._data_dir = data_dir
        self._pace = pace
        self._show = show
        self._process: Process | None = None
        self._asked = 0
        self._final: dict[str, str] = {}
        self._is_at_rest = False

    @property
    def counted(self) -> Counted:
        """What was asked of the model, and how many messages with an answer there are. Raises TourEnded where these
        are not the same."""
        if self._asked != len(self._final):
            raise TourEnded(f"{self._asked} questions were asked, and {len(self._final)} answers were given.")
        return Counted(self._asked, len(self._final))

    async def start(self) -> None:
        """Start it; returns when all that it found open is done."""
        environment = {name: value for name in _KEPT if (value := os.environ.get(name))}
        program = (sys.executable, "-P", "-m", "bot.app.tour.stage", str(self._data_dir), str(self._pace))
        with (self._data_dir / "errors.log").open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *program,
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                env={**environment, "PYTHONPATH": str(Path(bot.__file__).parents[1])},
                cwd=self._data_dir,
                start_new_session=True,  # a Ctrl-C is ours to hear
                limit=2**20,
            )
        await self._show(Started(self._process.pid))
        await self._until(lambda shown: isinstance(shown, Rest))

    async def ask(self, text: str) -> None:
        """Say it, and wait until all that it sets off is done."""
        await self._say(text)
        await self._until(lambda shown: isinstance(shown, Rest))
        await self.measure()

    async def ask_until_compacted(self, text: str) -> None:
        """Say it, and wait until the conversation was compacted, which begins when the answer is there."""
        await self._say(text)
        await self._until(lambda shown: isinstance(shown, Noticed) and shown.text.startswith(_COMPACTED))
        if not self._is_at_rest:
            await self._until(lambda shown: isinstance(shown, Rest))
        await self.measure()

    async def show_summary(self) -> None:
        """Show what the last compaction wrote down for people, which it does behind its notice. Raises TourEnded."""
        folder = self._data_dir / "agents" / HERE.agent_id
        try:
            async with asyncio.timeout(_PATIENCE):
                while True:
                    if found := await asyncio.to_thread(_summary_in, folder):
                        break
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            raise TourEnded(f"The tour's program has written down no summary. {self._last_words}") from None
        await self._show(found)

    async def measure(self) -> None:
        """Show how full the context is, as `/context` says it."""
        await self._write("/context")
        await self._until(lambda shown: isinstance(shown, Measured))
        await self._until(lambda shown: isinstance(shown, Rest))

    async def ask_and_kill(self, text: str) -> None:
        """Say it, and kill the process when the answer has begun."""
        await self._say(text)
        await self._until(lambda shown: isinstance(shown, Written) and len(shown.text.split()) >= SEEN_WORDS)
        process = self._running
        process.kill()
        await process.wait()
        await self._show(Killed(process.pid))

    async def end(self) -> None:
        """Close its input, at which it ends, and wait until nothing of it runs."""
        process = self._process
        if process and process.returncode is None:
            assert process.stdin
            process.stdin.close()
            try:
                async with asyncio.timeout(_END_SECONDS):
                    await process.communicate()
            except TimeoutError:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        valkey = self._data_dir / "valkey"
        if valkey.is_dir():
            for name in ("valkey", "watcher"):
                server = Detached(valkey, name)
                if not await asyncio.to_thread(server.wait_until_gone, _END_SECONDS):
                    await asyncio.to_thread(server.end, _END_SECONDS)

    @property
    def _running(self) -> Process:
        assert self._process
        return self._process

    async def _say(self, text: str) -> None:
        await self._show(Asked(text))
        self._asked += not text.startswith("/")
        await self._write(text)

    async def _write(self, text: str) -> None:
        self._is_at_rest = False
        stdin = self._running.stdin
        assert stdin
        stdin.write(json.dumps(text).encode() + b"\n")
        await stdin.drain()

    async def _until(self, reached: Callable[[Shown], bool]) -> None:
        stdout = self._running.stdout
        assert stdout
        try:
            async with asyncio.timeout(_PATIENCE):
                async for line in stdout:
                    shown = _read(json.loads(line))
                    if isinstance(shown, Written) and not shown.partial:
                        self._final[shown.key] = shown.text
                    self._is_at_rest = self._is_at_rest or isinstance(shown, Rest)
                    await self._show(shown)
                    if reached(shown):
                        return
        except TimeoutError:
            raise TourEnded(f"The tour's program does not answer. {self._last_words}") from None
        raise TourEnded(f"The tour's program has ended. {self._last_words}")

    @property
    def _last_words(self) -> str:
        lines = (self._data_dir / "errors.log").read_text(errors="replace").splitlines()
        return " | ".join(line.strip() for line in lines[-2:])


def _summary_in(folder: Path) -> Summarised | None:
    for file in sorted(folder.glob("compaction_*.md"), reverse=True):
        for section in reversed(sections_in(file.read_bytes().decode())):
            if _SUMMARY in section:
                text = next(part.text for part in section[section.index(_SUMMARY) :] if isinstance(part, Body))
                return Summarised(text, file.name)
    return None


def _read(said: dict[str, Any]) -> Shown:
    match said["kind"]:
        case "reply":
            return Written(said["key"], said["text"], said["partial"])
        case "notice":
            return _measured(said["text"]) or Noticed(said["key"], said["text"])
        case _:
            return Rest()


def _measured(text: str) -> Measured | None:
    found = _CONTEXT.match(text)
    return Measured(_number(found[1]), _number(found[2]), found[3]) if found else None


def _number(text: str) -> int:
    return int(text.replace(",", ""))
