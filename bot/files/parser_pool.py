"""Opens the files that people send, and pictures that tools come by, in processes that can be ended.

A parser of a hostile file may take for ever, all memory, or the process that it runs in; a thread cannot be ended. So
files are opened by :mod:`bot.files.parser_process`, in children that hold nothing of ours. They are started when they
are needed and end when nothing was to be opened for a while, so that nobody pays for them who sends no files. There are
so many at once, one for each chat, and chats take turns.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

import structlog

import bot
from bot.files.pictures import MEDIA_TYPES, View, smaller
from bot.runtime.settings import FilesSettings

log = structlog.get_logger(__name__)

_MODULE = "bot.files.parser_process"
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""Of the environment: where libraries are. Nothing else of it is a child's business."""
_CLOCK = 4
_LONGEST_ANSWER = 64_000_000
_LONGEST_REASON = 200
TOO_LONG = "it takes too long to open"
TOO_MUCH_MEMORY = "it takes too much memory to open"
BROKEN = "it seems to be broken"
BUSY = "too much else is being opened just now; send it again later"
DEFECT = "something went wrong in me"


class CannotOpen(Exception):
    """Why a file is not shown, as the end of a sentence for people."""


@dataclass(frozen=True)
class Document:
    """A PDF that models take, with so many pages."""

    pages: int


@dataclass(frozen=True)
class Text:
    """A text: what is shown of it at once, whether that is all, and how many characters the file has."""

    shown: str
    is_whole: bool
    characters: int


@dataclass(frozen=True)
class Unknown:
    """Something else."""


Parsed: TypeAlias = View | Document | Text | Unknown


class Parser(Protocol):
    """Opens files. ``of``: whose file it is, so that nobody waits for another one's; ``room``: characters that are
    shown of a text. Raises CannotOpen."""

    async def parse(self, path: Path, *, of: str, room: int = 0) -> Parsed:
        """What it is, by what it holds."""


@dataclass(frozen=True)
class Bounds:
    """Children at once; seconds of the clock and of a processor that one file may take; bytes of memory and of a file
    that is written; seconds to wait for a turn; seconds after which a child with nothing to do ends, and files after
    which it is not used again."""

    processes: int = 2
    seconds: float = 20.0
    cpu_seconds: int = 5
    memory: int = 800_000_000
    written: int = 20_000_000
    patience: float = 60.0
    idle: float = 60.0
    files: int = 200


def bounds_of(files: FilesSettings) -> Bounds:
    """As an operator sets them. By the clock a file has more time: others want the processor too."""
    seconds = float(_CLOCK * files.seconds)
    return Bounds(files.at_once, seconds, files.seconds, files.memory)


class ParserPool:
    """A Parser; its children end with the block."""

    def __init__(self, bounds: Bounds = Bounds()) -> None:  # frozen
        self._bounds = bounds
        self._slots = FairSlots(bounds.processes)
        self._resting: list[_Child] = []
        self._children: dict[_Child, asyncio.Task[int]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.kill()
        await asyncio.gather(*self._children.values(), return_exceptions=True)

    @property
    def pids(self) -> list[int]:
        """Of the children that live."""
        return [child.pid for child in self._children if child.is_alive]

    async def parse(self, path: Path, *, of: str, room: int = 0) -> Parsed:
        """See :class:`Parser`."""
        try:
            async with self._slots.slot(of, self._bounds.patience):
                return await self._parse(path, room)
        except TimeoutError:
            log.warning("file_not_opened", reason="too much else is being opened")
            raise CannotOpen(BUSY) from None

    async def _parse(self, path: Path, room: int) -> Parsed:
        try:
            child = await self._child()
        except OSError as error:
            log.error("parser_not_started", reason=str(error))  # noqa: TRY400  # it says it all
            raise CannotOpen(DEFECT) from error
        bounds = self._bounds
        request = {
            "path": str(path),
            "room": room,
            "memory": bounds.memory,
            "written": bounds.written,
            "cpu_seconds": bounds.cpu_seconds,
        }
        try:
            async with asyncio.timeout(bounds.seconds):
                answer = await child.ask(request)
        except TimeoutError:
            raise await self._ended(child, TOO_LONG) from None
        except (_Gone, OSError):
            raise await self._ended(child, None) from None
        except BaseException:
            child.kill()
            raise
        parsed = understood(answer, path)
        if isinstance(parsed, str):
            raise await self._ended(child, parsed)
        self._rest(child)
        if isinstance(parsed, CannotOpen):
            raise parsed
        return parsed

    async def _child(self) -> _Child:
        while self._resting:
            child = self._resting.pop()
            child.wake()
            if child.is_alive:
                return child
        child = await _Child.start()
        watching = self._children[child] = asyncio.create_task(child.wait())
        watching.add_done_callback(lambda _: self._children.pop(child, None))
        return child

    def _rest(self, child: _Child) -> None:
        if child.files >= self._bounds.files:
            child.kill()
            return
        self._resting.append(child)
        child.rest(self._bounds.idle)

    async def _ended(self, child: _Child, why: str | None) -> CannotOpen:
        """A child that is not used again: the file was too much for it."""
        if why is not None:
            child.kill()
        code = await child.wait()
        reason = why or _REASONS.get(-code, BROKEN)
        log.warning("file_not_opened", reason=reason, code=code)
        return CannotOpen(reason)


_REASONS: Mapping[int, str] = {signal.SIGXCPU: TOO_LONG, signal.SIGKILL: TOO_MUCH_MEMORY}
"""By what ended a child that we did not end: its bound of the processor; a kernel without memory."""


class FairSlots:
    """So many at once and one for each name; who waits takes turns by name, not by who asks most."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._holding: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def slot(self, name: str, patience: float) -> AsyncIterator[None]:
        """Raises TimeoutError when there is none within so many seconds."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, deque()).append(turn)
        self._hand_out()
        try:
            async with asyncio.timeout(patience):
                await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._take_back(name)
            turn.cancel()  # who gives up is passed over when its turn comes
            raise
        try:
            yield
        finally:
            self._take_back(name)

    def _take_back(self, name: str) -> None:
        self._free += 1
        self._holding.discard(name)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._free and (name := next((one for one in self._waiting if one not in self._holding), None)):
            line = self._waiting.pop(name)
            turn = line.popleft()
            if line:
                self._waiting[name] = line  # behind all others
            if turn.done():
                continue
            self._free -= 1
            self._holding.add(name)
            turn.set_result(None)


class _Gone(Exception):
    """The child has ended, or says what it never says."""


class _Child:
    """One process that opens files, one after the other."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._bell: asyncio.TimerHandle | None = None
        self._is_over = False
        self.files = 0

    @classmethod
    async def start(cls) -> Self:
        """Raises OSError."""
        places = [str(Path(bot.__file__).parents[1]), *sys.path]
        start = f"import sys; sys.path[:] = {places!r}; from {_MODULE} import main; main()"
        # Isolated and without site: none of it is needed, and it starts twice as fast.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", start),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in _KEPT if name in os.environ} | {"MALLOC_ARENA_MAX": "2"},
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return not self._is_over and self._process.returncode is None

    async def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Raises _Gone, OSError."""
        self.files += 1
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        await self._process.stdin.drain()
        try:
            length = int(await self._process.stdout.readuntil(b"\n"))
            if length > _LONGEST_ANSWER:
                raise _Gone
            answer = json.loads(await self._process.stdout.readexactly(length))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, RecursionError) as error:
            raise _Gone from error
        if not isinstance(answer, dict):
            raise _Gone
        return answer

    def rest(self, seconds: float) -> None:
        """It ends when nobody needs it for so long."""
        self._bell = asyncio.get_running_loop().call_later(seconds, self.kill)

    def wake(self) -> None:
        if self._bell:
            self._bell.cancel()

    def kill(self) -> None:
        self.wake()
        self._is_over = True
        with suppress(ProcessLookupError):
            self._process.kill()

    async def wait(self) -> int:
        return await self._process.wait()


def understood(answer: Mapping[str, Any], path: Path) -> Parsed | CannotOpen | str:
    """What a child answers of this file; a text says why it is not used again. It has read what a stranger wrote, so
    each value is looked at."""
    match answer:
        case {"picture": {"path": str(shown), "media_type": str(kind), "width": int(width), "height": int(height)}} if (
            kind in MEDIA_TYPES and Path(shown) in (path, smaller(path))
        ):
            return View(Path(shown), kind, width, height)
        case {"document": {"pages": int(pages)}}:
            return Document(pages)
        case {"text": {"shown": str(shown), "is_whole": bool(is_whole), "characters": int(characters)}}:
            return Text(shown, is_whole, characters)
        case {"unknown": _}:
            return Unknown()
        case {"cannot": str(why)}:
            return CannotOpen(why[:_LONGEST_REASON])
        case {"failed": "memory"}:
            return TOO_MUCH_MEMORY
        case {"failed": str(kind)}:
            log.info("file_not_shown", reason=kind)
            return CannotOpen(BROKEN)
        case _:
            return BROKEN
