"""What every command does with its process: its errors, its exit code, its log."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from bot.app.cli.text import say
from bot.errors import PalimpsestError

if TYPE_CHECKING:
    from bot.runtime.settings import Settings

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
"""What commands take that machines read."""

_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class WronglyCalled(PalimpsestError):
    """What a command was given cannot be meant; the text is one sentence that says what it takes."""


class one_line_errors:  # noqa: N801  # reads as a word where it is used
    """One clear line on standard error, and exit 1, or 2 after a WronglyCalled."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        causes = error.exceptions if isinstance(error, BaseExceptionGroup) else (error,)
        told = next((cause for cause in causes if isinstance(cause, PalimpsestError)), None)
        if told is None:
            return
        say(f"palimpsest: {told}", sys.stderr)
        raise typer.Exit(2 if isinstance(told, WronglyCalled) else 1) from None


@contextmanager
def written_or_said() -> Iterator[None]:
    """Where standard output takes no more (a full disk) it is said in one line, with exit code 1; where whoever read it
    has read enough (`| head`), the same without a word."""
    try:
        try:
            yield
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except OSError as error:
        if error.errno not in (*_UNWRITABLE, errno.EPIPE):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try it again at its end
        if error.errno != errno.EPIPE:
            print(f"palimpsest: The answer cannot be written: {error.strerror}.", file=sys.stderr)
        raise SystemExit(1) from None


def run_to_its_end(work: Coroutine[Any, Any, T], *, serves: bool = False) -> T:
    """What the work returns; Ctrl-C ends it with exit code 130. ``serves``: for long, so that a fast loop pays."""
    try:
        with asyncio.Runner(loop_factory=_fast_loop if serves else None) as runner:
            return runner.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


async def tidily(work: Coroutine[Any, Any, T]) -> T:
    """Whoever closes the terminal, or ends the process, ends this work as Ctrl-C does: what it made for a while is
    taken away."""
    from bot.runtime.shutdown import until_signal

    async with until_signal(signal.SIGTERM):
        async with until_signal(signal.SIGHUP):
            return await work
        raise typer.Exit(128 + signal.SIGHUP)
    raise typer.Exit(128 + signal.SIGTERM)


def _fast_loop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()


def log_quietly(settings: Settings) -> None:
    """Only errors, on standard error: standard output belongs to what was asked for."""
    from bot.runtime import logs

    logs.configure(settings, level="DEBUG" if settings.log_level == "DEBUG" else "ERROR")
