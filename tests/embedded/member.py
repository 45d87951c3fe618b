"""A process on the embedded servers, to be killed by tests: `python -m tests.embedded.member NAME DATA_DIR`.

Prints the URL once it is in, and says when it was interrupted; it never leaves by itself.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bot.app.embedded.local_model import LocalModel
from bot.app.embedded.shared_server import SharedServer
from bot.app.embedded.valkey import EmbeddedValkey


async def main(name: str, data_dir: Path) -> None:
    # By the loop: a handler of Python's own waits while the loop sleeps, if the signal comes just
    # before it falls asleep.
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: print("interrupted", flush=True))  # noqa: T201  # a word for the test
    quick = partial(EmbeddedValkey, look_seconds=0.05, deserted_seconds=0.5)
    kinds: dict[str, Callable[[Path], SharedServer]] = {
        "valkey": EmbeddedValkey,
        "quick-valkey": quick,
        "model": LocalModel,
    }
    server = kinds[name](data_dir)
    print(await server.start(), flush=True)  # noqa: T201  # likewise
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
