"""The program as it is, and a tool with an effect: `python -m tests.chaos.program run --role agents`.

The program's own tools may all be run again. This one may not, and it leaves a mark of every run, so that one that
ran twice shows. And its clock may be wrong: by as many seconds as the file says that CHAOS_CLOCK names.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import bot.agent.tools.choosing
from bot.agent.tools.files import FILE_TOOLS
from bot.agent.tools.tool import Occasion, Tool
from bot.agent.tools.toolbox import Toolbox
from bot.app.cli.main import main
from bot.files.parser_pool import Parser
from bot.store import Database

PUNCHES = "punches.txt"
PUNCH_SECONDS = 0.1


def _schema() -> Mapping[str, Any]:
    return {"type": "object", "properties": {"nonce": {"type": "string"}}, "required": ["nonce"]}


@dataclass(frozen=True)
class Punch:
    """Writes one line, and takes its time before and after it."""

    parameters: Mapping[str, Any] = field(default_factory=_schema)
    name: str = "punch"
    description: str = "Punch a card."
    idempotent: bool = False

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str:
        """The line is on the disk when it returns."""
        await asyncio.sleep(PUNCH_SECONDS / 2)
        descriptor = os.open(occasion.folder / PUNCHES, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{arguments['nonce']}\n".encode())
        finally:
            os.close(descriptor)
        await asyncio.sleep(PUNCH_SECONDS / 2)
        return f"punched {arguments['nonce']}"


class PunchingToolbox(Toolbox):
    """The tools of an agent, and the punch."""

    def __init__(self, folder: Path, parser: Parser, tools: Sequence[Tool] = FILE_TOOLS) -> None:
        super().__init__(folder, parser, (*tools, Punch()))


def wrong_clock(file: Path) -> float:
    """What a machine says whose clock was set by hand."""
    try:
        return time.time() + float(file.read_text())
    except (OSError, ValueError):  # nobody has set it
        return time.time()


def _tell_where_it_hangs(*_: object) -> None:
    """Every task's whole chain of awaits; a task's own stack ends at its outermost coroutine."""
    for found in gc.get_objects():
        if isinstance(found, asyncio.Task) and not found.done():
            sys.stderr.write(f"{found.get_name()}\n")
            awaited: Any = found.get_coro()
            while awaited is not None:
                frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
                where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else awaited
                sys.stderr.write(f"    {where}\n")
                awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _tell_where_it_hangs)
    if clock := os.environ.get("CHAOS_CLOCK"):
        assert Database.__init__.__kwdefaults__
        Database.__init__.__kwdefaults__["clock"] = partial(wrong_clock, Path(clock))
    setattr(bot.agent.tools.choosing, "Toolbox", PunchingToolbox)  # noqa: B010  # in this process alone, before anything is made of it
    main()
