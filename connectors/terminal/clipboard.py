"""Copying out of a terminal: by what the machine has for that, and by asking the terminal itself (OSC 52).

Over SSH only the terminal reaches the person's own clipboard; where the program runs on the person's machine, many
terminals do not take OSC 52, and a tool does. So both are tried. A tool may stay in the background for as long as it
has the clipboard (xclip does), and inherits nothing of ours.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping

_TOOL_SECONDS = 3.0
MOST_BYTES = 74_994
"""What xterm, and whoever follows it, takes with one OSC 52."""


def by_terminal(text: str) -> str:
    """The escape sequence that asks a terminal to take a text; empty where it is too long for one."""
    data = text.encode()
    return f"\x1b]52;c;{base64.b64encode(data).decode()}\x07" if len(data) <= MOST_BYTES else ""


def by_tool(text: str, environment: Mapping[str, str] | None = None) -> str:
    """The tool that took it; empty where there is none. ``environment`` is this process's own unless it is given."""
    given = os.environ if environment is None else environment
    for command in _tools(given):
        path = shutil.which(command[0], path=given.get("PATH"))
        if path is None:
            continue
        try:
            ended = subprocess.run(  # noqa: S603  # a tool of the list below
                [path, *command[1:]], input=text.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=_TOOL_SECONDS, check=False, env=dict(given),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            continue
        if ended.returncode == 0:
            return command[0]
    return ""


def _tools(environment: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    yield ("pbcopy",)
    if environment.get("WAYLAND_DISPLAY"):
        yield ("wl-copy",)
    if environment.get("DISPLAY"):
        yield ("xclip", "-selection", "clipboard")
        yield ("xsel", "--input", "--clipboard")
    yield ("clip.exe",)
    if environment.get("TMUX"):
        yield ("tmux", "load-buffer", "-w", "-")
