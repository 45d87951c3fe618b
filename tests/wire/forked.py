"""A process of the program that need not load its code, which takes a core for seconds at each start.

The standard library's fork server holds the code, and a start is a fork of it: a process with an id, a group, signals
and pipes of its own, in which the command line runs as in any other. That the code can be loaded is tested by whatever
calls :meth:`tests.wire.program.Programs.execute`, by the chaos tests and by those of the image.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from typing_extensions import override

_LIMIT = 2**24


class Forked:
    """As much of :class:`asyncio.subprocess.Process` as the tests use."""

    def __init__(
        self,
        process: ForkServerProcess,
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
    ) -> None:
        assert process.pid
        self.pid = process.pid
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.returncode: int | None = None
        self._process = process
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(process.sentinel, self._end)

    async def wait(self) -> int:
        """Wait until it has ended, and return the exit code."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        self.returncode = self._process.exitcode
        self._process.close()
        self.stdin.close()
        self._ended.set()


class _Given:
    """A file that is open here, and is to be open in the process that is started."""

    def __init__(self, number: int) -> None:
        self._number = number

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return _as_it_is, (DupFd(self._number),)


def _as_it_is(given: Any) -> Any:
    return given


async def fork(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Forked:
    """`palimpsest` with these words, in this folder, with this environment and no other."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.wire.loaded"])
    with _environment({"PATH": os.environ["PATH"], "PYTHONPATH": environment["PYTHONPATH"]}):
        forkserver.ensure_running()
    stdin, to_stdin = os.pipe()
    from_stdout, stdout = os.pipe()
    from_stderr, stderr = os.pipe()
    begun, begins = os.pipe()
    given = [_Given(number) for number in (stdin, stdout, stderr, begins)]
    process = context.Process(target=_run, args=(words, str(folder), dict(environment), given), daemon=True)
    process.start()
    for number in (stdin, stdout, stderr, begins):
        os.close(number)
    forked = Forked(process, await _writer(to_stdin), await _reader(from_stdout), await _reader(from_stderr))
    await (await _reader(begun)).read()  # from here on it has a group to which signals can be sent
    return forked


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _run(words: Sequence[str], folder: str, environment: Mapping[str, str], given: Sequence[Any]) -> None:
    """In the new process."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    stdin, stdout, stderr, begins = (one.detach() for one in given)
    for number, file in enumerate((stdin, stdout, stderr)):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)  # noqa: SIM115  # stays
    sys.stdout.reconfigure(line_buffering=False)  # type: ignore[union-attr]  # it is a TextIOWrapper; as for any pipe
    sys.argv = ["palimpsest", *words]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.close(begins)
    from bot.app.cli.main import main

    main()


async def _reader(number: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_LIMIT)
    pipe = open(number, "rb", buffering=0)  # noqa: SIM115  # the transport closes it
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _writer(number: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    pipe = open(number, "wb", buffering=0)  # noqa: SIM115  # likewise
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    transport, _ = await loop.connect_write_pipe(lambda: protocol, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)
