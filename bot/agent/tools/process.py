"""A program that somebody else thought of: run with limits, and gone without a rest when it ends."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bot.estimate.cuts import cut_after, cut_before
from bot.runtime.tasks import stop, told_of

_MARK = "PALIMPSEST_CALL"
"""In the environment of everything that a call starts: how it is found again."""
_PROCESSES = Path("/proc")
_LOOK_SECONDS = 0.1
_DRAIN_SECONDS = 1.0
_DYING_SECONDS = 5.0
"""What was killed is gone once it has a processor again, which on a busy machine takes a while; so long at most."""
_DYING_LOOK_SECONDS = 0.01
_CHUNK_BYTES = 65_536
_MOST_ROUNDS = 200
_NICE = 15


@dataclass(frozen=True)
class Limits:
    """Bytes of memory of each process, of each file, of output that is kept (its beginning and its end) and of output
    at which a program is stopped; and how many processes there may be at once."""

    memory: int = 2_000_000_000
    file: int = 200_000_000
    output: int = 2_000_000
    flood: int = 50_000_000
    processes: int = 128

    def imposed_on(self, command: Sequence[str], seconds: int) -> list[str]:
        """The command, with what the kernel enforces. A limit that a system does not have is passed over."""
        wanted = {"t": seconds, "v": self.memory // 1024, "f": self.file // 1024, "u": 8 * self.processes, "c": 0}
        limits = "; ".join(f"ulimit -{letter} {value} 2>/dev/null" for letter, value in wanted.items())
        # Others come first: whoever has to stop it must not wait for it.
        return ["bash", "-c", f'{limits}; exec nice -n {_NICE} "$@"', "bash", *command]


@dataclass(frozen=True)
class Ended:
    """What became of it. ``stopped`` says why it was ended before its time, if it was."""

    output: str
    code: int | None
    stopped: str = ""


class _Output:
    """What is kept of an output: its beginning and its end."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._head, self._tail = bytearray(), bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        left = self._half - len(self._head)
        self._head += data[:left]
        self._tail += data[left:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def text(self) -> str:
        head, tail = bytes(self._head), bytes(self._tail[-self._half :])
        if self.total == len(head) + len(tail):
            return (head + tail).decode(errors="replace")
        # What stands across either place is left out whole: half a number is another number.
        begins, ends = head.decode(errors="surrogateescape"), tail.decode(errors="surrogateescape")
        head = begins[: cut_before(begins, len(begins) - 1)].encode(errors="surrogateescape") or head
        tail = ends[cut_after(ends, 1) :].encode(errors="surrogateescape") or tail
        between = f"\n[… {self.total - len(head) - len(tail):,} bytes are left out here]\n".encode()
        return (head + between + tail).decode(errors="replace")


async def run(
    command: Sequence[str], folder: str, environment: Mapping[str, str], *, seconds: float, limits: Limits
) -> Ended:
    """Run it to its end, and see that nothing of it goes on. Cancelling kills it."""
    mark = f"{_MARK}={secrets.token_hex(8)}"
    output = _Output(limits.output)
    reading, writing = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *_marked(command, mark),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            cwd=folder,
            env={**environment, _MARK: mark.partition("=")[2]},
            start_new_session=True,
        )
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    pump = told_of(asyncio.create_task(_pump(reading, output)), "tool_output")
    waiting = asyncio.create_task(process.wait())
    watching = asyncio.create_task(_watch(mark, output, limits))
    try:
        await asyncio.wait({waiting, watching}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        stopped = ""
        if watching.done():
            stopped = watching.result()
        elif not waiting.done():
            stopped = f"it took longer than {seconds:g} s"
        code = process.returncode if not stopped else None
    finally:
        _kill(process.pid, mark)
        await asyncio.wait({waiting})
        with suppress(TimeoutError):
            async with asyncio.timeout(_DYING_SECONDS):
                while await asyncio.to_thread(_marked_processes, mark, 1):  # noqa: ASYNC110  # sets no event
                    await asyncio.sleep(_DYING_LOOK_SECONDS)
        await asyncio.wait({pump}, timeout=_DRAIN_SECONDS)
        await stop(pump, watching)
    return Ended(output.text, code, stopped)


def _marked(command: Sequence[str], mark: str) -> list[str]:
    """bubblewrap empties the environment too, so the mark is set again where it stands in the way."""
    if "--clearenv" not in command:
        return list(command)
    at = command.index("--clearenv") + 1
    name, _, value = mark.partition("=")
    return [*command[:at], "--setenv", name, value, *command[at:]]


async def _pump(descriptor: int, output: _Output) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "rb", 0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        while data := await reader.read(_CHUNK_BYTES):
            output.add(data)
    finally:
        transport.close()


async def _watch(mark: str, output: _Output, limits: Limits) -> str:
    """Why it has to be stopped, as soon as it has to."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        if output.total > limits.flood:
            return f"it wrote more than {limits.flood:,} bytes"
        if len(await asyncio.to_thread(_marked_processes, mark, limits.processes + 1)) > limits.processes:
            return f"it started more than {limits.processes} processes"


def _marked_processes(mark: str, most: int = sys.maxsize) -> list[int]:
    """What was started with this mark in its environment, so many at most; nothing where there is no /proc."""
    found: list[int] = []
    wanted = mark.encode()
    with suppress(OSError):
        for name in os.listdir(_PROCESSES):  # noqa: PTH208  # names only, of hundreds, ten times a second
            if name.isdigit():
                with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123  # likewise
                    if wanted in file.read():
                        found.append(int(name))
            if len(found) >= most:
                break
    return found


def _kill(leader: int, mark: str) -> None:
    """All of it: the session, and what left it. What may fork is stopped first, so that none gets away."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    stopped: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        new = set(_marked_processes(mark)) - stopped
        for process in new or stopped:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGSTOP if new else signal.SIGKILL)
        if not new:
            return
        stopped |= new
