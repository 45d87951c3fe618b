"""The program as a bench needs it: `IDLE_SECONDS=3 python -m tests.bench.speed.program run`.

Conversations are put aside after `IDLE_SECONDS`, and the queues are cleaned every `CLEAN_SECONDS`, if these are set:
how long that takes is no setting of the program, and nobody wants to wait for it here. SIGUSR1 writes what the process
holds into `holds.json` where it was started: its tasks, its open files, and how many pieces of memory its objects take.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
from pathlib import Path
from types import ModuleType

import bot.agent.inbox_loop
import bot.app.housekeeping
import bot.gateway.chat_delivery
from bot.app.cli.main import main

HOLDS = Path("holds.json")
_TIMES: dict[str, list[tuple[ModuleType, str]]] = {
    "IDLE_SECONDS": [(bot.agent.inbox_loop, "IDLE_SECONDS"), (bot.gateway.chat_delivery, "_IDLE_SECONDS")],
    "CLEAN_SECONDS": [(bot.app.housekeeping, "EVERY_SECONDS")],
}


def _write_what_it_holds(*_: object) -> None:
    gc.collect()
    blocks = sys.getallocatedblocks()
    files = len(list(Path("/proc/self/fd").iterdir()))
    tasks = sorted(str(getattr(task.get_coro(), "__qualname__", task)) for task in asyncio.all_tasks())
    HOLDS.write_text(json.dumps({"blocks": blocks, "files": files, "tasks": tasks}))


if __name__ == "__main__":
    for setting, places in _TIMES.items():
        for module, name in places:
            assert hasattr(module, name), f"{module.__name__} has no {name} any more"
            if setting in os.environ:
                setattr(module, name, float(os.environ[setting]))
    signal.signal(signal.SIGUSR1, _write_what_it_holds)
    main()
