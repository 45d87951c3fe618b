"""A shell in the agent's own folder, for admins. Off by default.

A command has its own session, which is killed as a whole when it ends, takes too long or is stopped; limits on time,
memory, file size, processes and output; an environment without anything of ours; and, with bubblewrap, no sight of
anything but the system and this folder.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bot.agent.tools import shell_confinement
from bot.agent.tools.process import Limits, run
from bot.agent.tools.tool import Occasion, ToolError, schema

MOST_SECONDS = 120
_SECONDS = 30
_GRACE_SECONDS = 2
_LONGEST_COMMAND = 20_000

LIMITS = Limits()
FOR_ADMINS = "The shell is for admins alone, and not all who are answered now are admins."
NO_WALLS = (
    "The shell is off: bubblewrap, which confines it, is not there or does not work on this machine. "
    "`palimpsest doctor` says what to do."
)


@dataclass(frozen=True)
class Shell:
    """``walls``: ``on`` confines with bubblewrap or refuses; ``unconfined`` runs with all that this program may do.
    ``secret``: places that no command may see."""

    parameters: Mapping[str, Any]
    walls: Literal["on", "unconfined"]
    limits: Limits = LIMITS
    network: bool = False
    secret: tuple[Path, ...] = ()
    bubblewrap: str | None = None
    name: str = "shell"
    description: str = (
        "Run a shell command in this conversation's folder, for admins. Nothing of it goes on after it has ended. "
        f"timeout is in seconds ({_SECONDS}, and at most {MOST_SECONDS})."
    )
    idempotent: bool = False

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str:
        """What it wrote, and its exit code."""
        if not occasion.by_admin:
            raise ToolError(FOR_ADMINS)
        command, seconds = _command(arguments.get("command")), _seconds(arguments.get("timeout", _SECONDS))
        await asyncio.to_thread(shell_confinement.prepare, occasion.folder)
        line = await asyncio.to_thread(self._line, occasion.folder, command, seconds)
        home = str(occasion.folder.resolve())
        began = time.monotonic()
        try:
            ended = await run(line, home, shell_confinement.environment(home), seconds=seconds, limits=self.limits)
        finally:
            await asyncio.to_thread(shell_confinement.prepare, occasion.folder)
        took = time.monotonic() - began
        what = f"stopped: {ended.stopped}" if ended.stopped else f"exit code {ended.code}"
        return f"{ended.output.rstrip()}\n[{what}, after {took:.1f} s]".lstrip()

    def _line(self, folder: Path, command: str, seconds: int) -> list[str]:
        limited = self.limits.imposed_on(["bash", "-c", command], seconds)
        if self.walls == "unconfined":
            return [*_ends_by_itself(seconds), *limited]
        if self.bubblewrap is None or not shell_confinement.works(self.bubblewrap):
            raise ToolError(NO_WALLS)
        secret = self.secret
        return shell_confinement.confined(self.bubblewrap, folder, limited, network=self.network, secret=secret)


def shell(
    walls: Literal["on", "unconfined"], *, network: bool, secret: Sequence[Path], limits: Limits = LIMITS
) -> Shell:
    """The tool as the settings want it."""
    parameters = schema(["command"], command="string", timeout="integer")
    found = shell_confinement.find_bubblewrap() if walls == "on" else None
    return Shell(parameters, walls, limits, network, tuple(secret), found)


def _ends_by_itself(seconds: int) -> list[str]:
    """Even when this program is killed meanwhile; bubblewrap sees to that itself."""
    program = shutil.which("timeout")
    return [program, "--signal=KILL", str(seconds + _GRACE_SECONDS)] if program else []


def _command(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ToolError("Give a command, for example 'ls -l'.")
    if len(value) > _LONGEST_COMMAND:
        raise ToolError(f"A command has {_LONGEST_COMMAND:,} characters at most; write a file and run that.")
    return value.encode(errors="replace").decode()


def _seconds(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MOST_SECONDS:
        raise ToolError(f"timeout is a whole number of seconds from 1 to {MOST_SECONDS}.")
    return value
