"""The terminal without a terminal: a script or a file asks, line by line, and only final replies come out."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TextIO
from uuid import uuid4

from bot.connector import Intake
from bot.errors import DeliveryDelayed, StoreUnavailable
from bot.messages import Address, Attachment, Edit, Inbound, Outbound, Say
from connectors.terminal.attach import CannotAttachError, attached, copy, told
from connectors.terminal.typeset import clean, typeset

LEAVING: Final = frozenset({"/quit", "/exit"})
SEVERAL: Final = (
    "Each line is a message of its own. For one message: palimpsest chat -p - < FILE; to ask something about a file: "
    'palimpsest chat -p "QUESTION" < FILE.'
)
_CHUNK_BYTES = 65536
_ELSEWHERE_SECONDS = 60.0
_REMEMBERED = 1000
_STORE_ATTEMPTS = 5
_WAITS = "⏳"
"""How a line begins that says why there is no answer yet; it stands last in what is written so far."""
_TELL_SECONDS = 5.0
_USUAL_COLUMNS = 80
"""Of a terminal that does not say how wide it is."""


class Pipe:
    """Each line of the input is a message; the next is read when all that it set off has come to rest."""

    name = "terminal"

    def __init__(
        self,
        address: Address,
        *,
        says: Iterable[str] | None = None,
        lines: AsyncIterator[str] | None = None,
        files: Sequence[Attachment] = (),
        out: TextIO,
        err: TextIO,
        waiting: str = "",
        tell_after: float = _TELL_SECONDS,
        retry_every: float = 1.0,
    ) -> None:
        """``says``: the messages; else each of the ``lines``, by default of standard input, is one. ``files`` go with
        the first of them. ``out`` gets the final replies, ``err`` what the program says, also that it is still
        ``waiting``, when nothing of an answer has come after so many seconds; ``retry_every`` is in seconds, too."""
        self._address = address
        self._messages = _each(says) if says is not None else lines
        self._files = tuple(files)
        self._out = out
        self._err = err
        self._waiting = waiting
        self._tell_after = tell_after
        self._retry_every = retry_every
        self._begins = False
        """Something of an answer to what was said last has come."""
        self._told = ""
        """Why there is none yet, as it was said last."""
        self._written: dict[str, str] = {}
        self._writing = asyncio.Lock()
        self._nobody_reads = asyncio.Event()
        self._unwritten: OSError | None = None
        self._closed = asyncio.Event()

    async def run(self, intake: Intake) -> None:
        """Ask line by line until the input ends, says ``/quit``, or nobody reads the output any more.

        Raises :class:`~bot.errors.StoreUnavailable` when a line could not be stored after several attempts, and
        OSError when the output takes no more although somebody reads it (a full disk).
        """
        asking = asyncio.create_task(self._ask(intake))
        ends = [asyncio.create_task(event.wait()) for event in (self._nobody_reads, self._closed)]
        try:
            await asyncio.wait([asking, *ends], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (asking, *ends):
                task.cancel()
            await asyncio.wait([asking, *ends])
        error = None if asking.cancelled() else asking.exception()
        if self._unwritten is not None:
            raise self._unwritten
        if error is not None and not self._nobody_reads.is_set():
            raise error

    def pace(self, address: Address) -> float:  # noqa: ARG002 - the Protocol's
        """See :class:`bot.connector.Connector`; what grows is not written."""
        return 1.0

    def drafts(self, address: Address) -> bool:  # noqa: ARG002 - the Protocol's
        """See :class:`bot.connector.Connector`."""
        return False

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """Copy a file that was attached."""
        await copy(attachment, target, most_bytes=most_bytes)

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """Write a final reply or a notice, and why there is none yet; what else is partial, and all signals, leave no
        trace.

        Raises :class:`~bot.errors.DeliveryDelayed` for a message of another conversation, and when nobody
        reads the output any more: the reply then waits for the next time that somebody does.
        """
        if not isinstance(outbound, Say | Edit):
            return ()
        if outbound.address != self._address:
            problem = f"{outbound.address.agent_id} is not open here"
            raise DeliveryDelayed(problem, _ELSEWHERE_SECONDS)
        key = outbound.refs[0] if isinstance(outbound, Edit) and outbound.refs else outbound.token
        if outbound.partial:
            await self._wait(outbound.text)
            return (key,)
        async with self._writing:
            if self._written.get(key) == outbound.text:
                return (key,)
            file = outbound.file if isinstance(outbound, Say) else None
            text = told(file, outbound.text) if file else outbound.text
            aside = outbound.notice or file is not None
            try:
                await asyncio.to_thread(write, self._err if aside else self._out, text)
            except (OSError, ValueError) as error:  # a broken pipe, a full disk, a closed file
                if not aside:
                    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                        self._unwritten = error
                    self._abandon_output()
                    problem = f"standard output: {error}"
                    raise DeliveryDelayed(problem, _ELSEWHERE_SECONDS) from error
            self._written[key] = outbound.text
            if len(self._written) > _REMEMBERED:
                del self._written[next(iter(self._written))]
        return (key,)

    async def find(
        self,
        outbound: Outbound,  # noqa: ARG002 - the Protocol's
        after: str | None,  # noqa: ARG002 - likewise
        known: frozenset[str],  # noqa: ARG002 - likewise
    ) -> tuple[str, ...] | None:
        """Nothing can be read back from a pipe."""
        return None

    async def close(self) -> None:
        """End :meth:`run` without reading on."""
        self._closed.set()

    async def _wait(self, text: str) -> None:
        """What is written so far may say why there is no more of it."""
        last = text.rpartition("\n")[2]
        if not last.startswith(_WAITS):
            self._begins = self._begins or bool(text.strip())
        elif last != self._told:
            self._told = last
            await self._say(last)

    async def _tell_what_is_waited_for(self) -> None:
        await asyncio.sleep(self._tell_after)
        if self._waiting and not (self._begins or self._told):
            await self._say(self._waiting)

    async def _say(self, text: str) -> None:
        """To nobody, where nobody reads it."""
        with suppress(OSError, ValueError):
            async with self._writing:
                await asyncio.to_thread(write, self._err, text)

    async def _until_settled(self, intake: Intake) -> None:
        self._begins, self._told = False, ""
        telling = asyncio.create_task(self._tell_what_is_waited_for())
        try:
            await intake.settled(self._address)
        finally:
            telling.cancel()
            await asyncio.wait([telling])

    async def _ask(self, intake: Intake) -> None:
        order = 0
        async for line in self._messages if self._messages is not None else self._standard_input():
            text = clean(line.replace("\r", "\n")).rstrip()  # as machines once ended lines
            if text in LEAVING:
                break
            if text or self._files:
                order = max(order + 1, time.time_ns())
                try:
                    file = await asyncio.to_thread(attached, text)
                except CannotAttachError as error:
                    await asyncio.to_thread(write, self._err, str(error))
                    continue
                inbound = Inbound(self._address, uuid4().hex, "message", order, "me", text, attachments=self._files)
                self._files = ()
                if file:
                    inbound = replace(inbound, text=file[1], attachments=(*inbound.attachments, file[0]))
                await self._store(intake, inbound)
                await self._until_settled(intake)
        if not order:  # what the process before it left open is seen through too, and not cut off once more
            await self._until_settled(intake)

    def _standard_input(self) -> AsyncIterator[str]:
        return lines_of(sys.stdin.fileno(), on_several=lambda: write(self._err, SEVERAL))

    async def _store(self, intake: Intake, inbound: Inbound) -> None:
        for _ in range(_STORE_ATTEMPTS - 1):
            try:
                await intake.store([inbound])
            except StoreUnavailable:
                await asyncio.sleep(self._retry_every)
            else:
                return
        await intake.store([inbound])

    def _abandon_output(self) -> None:
        self._nobody_reads.set()
        # What is still in the buffer would be written, and would complain, when Python ends:
        # https://docs.python.org/3/library/signal.html#note-on-sigpipe
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())


def write(file: TextIO, text: str) -> None:
    """A text and the end of a line, without what a terminal would obey; what the file cannot encode is replaced."""
    encoding = file.encoding or "utf-8"
    file.write(clean(text).encode(encoding, "replace").decode(encoding) + "\n")
    file.flush()


def write_answer(file: TextIO, text: str) -> None:
    """An answer, set as the interactive terminal sets it where the file is one, else as :func:`write` has it."""
    if not file.isatty():
        write(file, text)
        return
    shown = typeset(clean(text), os.get_terminal_size(file.fileno()).columns or _USUAL_COLUMNS)
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    encoding = file.encoding or "utf-8"
    file.write((clean(shown) if is_plain else shown).encode(encoding, "replace").decode(encoding) + "\n")
    file.flush()


async def _each(texts: Iterable[str]) -> AsyncIterator[str]:
    for text in texts:
        yield text


async def lines_of(descriptor: int, on_several: Callable[[], None] = lambda: None) -> AsyncIterator[str]:
    """The lines of a file descriptor, without their ends; what is no UTF-8 is replaced. ``on_several`` is called once,
    before the first of several lines that are there together.

    A thread reads, because a file cannot be awaited, and only when a line is wanted. It may stay blocked for
    ever without keeping the process: it is a daemon, and it reads the descriptor because the lock of a Python
    file, held at exit, is a fatal error.
    """
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    wanted = threading.Semaphore(0)

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed
            while wanted.acquire():
                try:
                    chunk = os.read(descriptor, _CHUNK_BYTES)
                except OSError:
                    chunk = b""
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
                if not chunk:
                    return

    threading.Thread(target=read, name="standard-input", daemon=True).start()
    begun: list[bytes] = []
    is_told = False
    while True:
        wanted.release()
        chunk = await chunks.get()
        first, *others = chunk.split(b"\n")
        begun.append(first)
        if others or not chunk:
            whole = [b"".join(begun), *others[:-1]]
            begun = others[-1:]
            if not is_told and sum(bool(line.strip()) for line in (*whole, *begun)) > 1:
                is_told = True
                on_several()
            for line in whole:
                yield line.decode("utf-8", "replace").removeprefix("\ufeff").removesuffix("\r")
        if not chunk:
            return
