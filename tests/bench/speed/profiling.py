"""Where the time goes: py-spy looks at the program from outside while it is measured.

It counts who has the interpreter lock, which is what a core is spent on; waiting is left out. py-spy is not among the
dependencies: `pip install py-spy`. Its samples are kept as collapsed stacks (one line each, for a flame graph), and
the most frequent functions are listed beside them.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.bench.speed.rig import Rig

_HERTZ = "200"
_LISTED = 60


@asynccontextmanager
async def profiled(rig: Rig, path: str) -> AsyncIterator[None]:
    """Sample each process of the program until the end of the block, into `PATH-<role>.txt` and `.top.txt`; an empty
    path is no profile. Raises FileNotFoundError when py-spy is not installed."""
    if not path:
        yield
        return
    spies = []
    for role, process in rig.programs.items():
        raw = Path(f"{path}-{role}.txt")
        spies.append((raw, await _spy(process.pid, raw)))
    try:
        yield
    finally:
        for raw, spy in spies:
            spy.send_signal(signal.SIGINT)
            await spy.wait()
            if raw.exists():
                raw.with_suffix(".top.txt").write_text(summary(raw.read_text()))


async def _spy(pid: int, raw: Path) -> asyncio.subprocess.Process:
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.exists() else shutil.which("py-spy")
    if found is None:
        raise FileNotFoundError("py-spy is not installed: pip install py-spy")
    return await asyncio.create_subprocess_exec(
        found,
        *("record", "--pid", str(pid), "--rate", _HERTZ, "--format", "raw", "--output", str(raw)),
        *("--gil", "--duration", "unlimited"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )


def summary(stacks: str) -> str:
    """Of collapsed stacks (`outer;inner 12`): the functions that are most often innermost, and most often there."""
    innermost: Counter[str] = Counter()
    there: Counter[str] = Counter()
    total = 0
    for line in stacks.splitlines():
        names, _, count = line.rpartition(" ")
        frames = names.split(";")
        total += int(count)
        innermost[frames[-1]] += int(count)
        for frame in set(frames):
            there[frame] += int(count)
    lines = [f"{total} samples at {_HERTZ} Hz"]
    for title, counted in (("innermost", innermost), ("on the stack", there)):
        lines.append(f"\n{title}")
        lines += [f"{count / max(1, total):6.1%}  {frame}" for frame, count in counted.most_common(_LISTED)]
    return "\n".join([*lines, ""])
