"""`python -m tests.servers.messages`: the model server as a process of its own."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from tests.servers.messages.server import MessagesServer


async def _serve(options: argparse.Namespace) -> None:
    server = MessagesServer(
        window=options.window,
        port=options.port,
        key=None,
        delta_delay=options.delta_delay,
    )
    server.journal = options.journal
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await stopped.wait()


def main() -> None:
    """Serve until a signal comes; the first line printed is the URL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--window", type=int, default=200_000, help="tokens")
    parser.add_argument("--journal", type=Path, help="one line of JSON a request")
    parser.add_argument("--delta-delay", type=float, default=0.0, help="seconds")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
