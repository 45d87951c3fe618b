"""An MCP server as a child process: a line on its standard input or output is a message.

The SDK's own transport reads a line of any length into memory; this one ends a server that floods. It gives the child
only the environment that the SDK takes for harmless and what `mcp.json` names, writes its standard error to our log,
and lets nothing of it live on: neither the child nor what the child started.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import structlog
from anyio import to_thread
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from bot.agent.tools.mcp.allowance import MOST_MESSAGE_BYTES, Allowance, Flooding
from bot.agent.tools.mcp.config import ServerConfig
from bot.agent.tools.mcp.state import Lost
from bot.runtime.redact import redact

log = structlog.get_logger(__name__)

_GRACE_SECONDS = 2.0
"""For a server whose input was closed, and again after SIGTERM."""
_LAST_WORDS_SECONDS = 0.5
"""For what it wrote on its standard error and nobody has read yet."""
_MOST_ERROR_LINES = 50
"""Of its standard error in a minute; more are left out."""
_LONGEST_ERROR_LINE = 500

_Incoming = SessionMessage | Exception
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


class ChildServer:
    """One run of a server. ``ended`` says why it is over, where that is known."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._allowance = Allowance(anyio.current_time)
        self.ended = ""
        self.last_words = ""
        """The last line of its standard error."""
        self._silent = anyio.Event()
        self._is_ending = False

    @asynccontextmanager
    async def streams(
        self,
    ) -> AsyncIterator[tuple[MemoryObjectReceiveStream[_Incoming], MemoryObjectSendStream[SessionMessage]]]:
        """What it says and what it is told, while the block runs. Raises Lost when it cannot be started."""
        config, environment = self._config, get_default_environment() | dict(self._config.env)
        try:
            process = await anyio.open_process(
                [config.command, *config.args], env=environment, cwd=config.cwd, start_new_session=True
            )
        except OSError as error:
            raise await to_thread.run_sync(_not_started, config, environment.get("PATH", ""), error) from error
        received, incoming = anyio.create_memory_object_stream[_Incoming](0)
        outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks, received, incoming, outgoing, to_send:
                tasks.start_soon(self._listen, process, received)
                tasks.start_soon(self._send, process, to_send, received)
                tasks.start_soon(self._log_errors, process)
                try:
                    yield incoming, outgoing
                finally:
                    self._is_ending = True
                    with anyio.CancelScope(shield=True):
                        incoming.close()
                        await _end(process)
                        with anyio.move_on_after(_LAST_WORDS_SECONDS):
                            await self._silent.wait()
                    tasks.cancel_scope.cancel()
        finally:
            _kill(process)  # also when the waiting above was cut short
            with anyio.CancelScope(shield=True):
                await process.aclose()

    async def _listen(self, process: Process, received: MemoryObjectSendStream[_Incoming]) -> None:
        assert process.stdout
        async with received:
            try:
                async for line in _lines(process.stdout):
                    self._allowance.take(len(line))
                    with suppress(ValueError):  # what is no message: some servers greet on their standard output
                        await received.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
            except Flooding as flooding:
                self.ended = str(flooding)
            except _CLOSED:
                pass
            await self._note_exit(process)
        with suppress(*_CLOSED):  # it may have to write before it can end
            while True:
                await process.stdout.receive()

    async def _note_exit(self, process: Process) -> None:
        if not self.ended and not self._is_ending:
            with anyio.move_on_after(_GRACE_SECONDS):
                self.ended = _exit_text(await process.wait())

    async def _send(
        self,
        process: Process,
        to_send: MemoryObjectReceiveStream[SessionMessage],
        received: MemoryObjectSendStream[_Incoming],
    ) -> None:
        assert process.stdin
        try:
            async for item in to_send:
                await process.stdin.send(
                    item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                )
        except _CLOSED:
            received.close()  # who waits for an answer learns that none will come

    async def _log_errors(self, process: Process) -> None:
        assert process.stderr
        counted, until = 0, 0.0
        with suppress(*_CLOSED):
            async for line in _lines(process.stderr, cut=True):
                text = redact(line.decode(errors="replace")[:_LONGEST_ERROR_LINE].strip(), self._config.secrets)
                if anyio.current_time() >= until:
                    counted, until = 0, anyio.current_time() + 60.0
                counted += 1
                self.last_words = text or self.last_words
                if text and counted <= _MOST_ERROR_LINES:
                    log.info("mcp_server_says", server=self._config.name, text=text)
        self._silent.set()


async def _lines(stream: ByteReceiveStream, *, cut: bool = False) -> AsyncIterator[bytes]:
    """Line by line, without the end of line. The rest of one that is too long is passed over, where it may be ``cut``.

    Raises Flooding otherwise.
    """
    most = _LONGEST_ERROR_LINE * 4 if cut else MOST_MESSAGE_BYTES
    pieces: list[bytes] = []
    size = 0
    async for chunk in stream:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join([*pieces, line]) if pieces else line
            pieces, size = [], 0
        size += len(rest)
        if size <= most:
            pieces.append(rest)
        elif not cut:
            raise Flooding(f"it sent more than {most:,} bytes in one message")


async def _end(process: Process) -> None:
    """Close its input, as the protocol says, and wait; a server that goes on is asked to end, and then killed."""
    assert process.stdin
    with suppress(*_CLOSED):
        await process.stdin.aclose()
    if not await _has_ended(process):
        _signal(process, signal.SIGTERM)
        await _has_ended(process)
    _kill(process)


async def _has_ended(process: Process) -> bool:
    """Whether it ends in the time it has."""
    with anyio.move_on_after(_GRACE_SECONDS):
        await process.wait()
    return process.returncode is not None


def _kill(process: Process) -> None:
    _signal(process, signal.SIGKILL)


def _signal(process: Process, number: signal.Signals) -> None:
    """To the server and everything that it started and that did not leave its session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _not_started(config: ServerConfig, path: str, error: OSError) -> Lost:
    """What is in the way, found by a look: the error itself names no file with every event loop. Looks at the disk."""
    command, folder = config.command, Path(config.cwd) if config.cwd else None
    if folder and not folder.is_dir():
        what = "is no folder" if folder.exists() else "is not there"
        return Lost(f"the folder {folder}, its cwd, {what}")
    if "/" not in command:
        places = [Path(place) / command for place in path.split(os.pathsep) if place]
        found = shutil.which(command, path=path) or next((str(one) for one in places if one.is_file()), None)
        if not found:
            parts = " What follows the command belongs into args." if " " in command.strip() else ""
            hint = f"It was looked for in PATH, which is {path}; its whole path would be found too.{parts}"
            return Lost(f"the command {command} is not found", hint=hint)
        command = found
    program = (folder or Path()) / command
    if program.is_dir():
        return Lost(f"the command {command} is a folder")
    if not program.exists():
        return Lost(f"the command {command} is not there")
    if isinstance(error, PermissionError) and not os.access(program, os.X_OK):
        return Lost(f"the command {command} is not executable", hint=f"chmod +x {command} makes it so.")
    if isinstance(error, FileNotFoundError):
        return Lost(f"the command {command} needs an interpreter that is not there", hint="Its first line names it.")
    return Lost(f"it cannot be started: {error.strerror or error}")


def _exit_text(code: int) -> str:
    if code < 0:
        return f"it was ended by signal {-code}"
    return f"it ended with exit code {code}"
