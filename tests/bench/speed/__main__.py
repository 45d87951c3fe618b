"""`python -m tests.bench.speed [PART …]` measures, prints a table, and writes JSON with `--json FILE`."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from tests.bench.speed import turns
from tests.bench.speed.figures import HEADER, Figure
from tests.bench.speed.parts import PARTS, stores_of
from tests.bench.speed.stores import STORES


async def run(chosen: argparse.Namespace) -> list[Figure]:
    """All chosen parts, each printed when it is done. SIGTERM ends it as Ctrl-C does: no process stays behind."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, partial(_cancel, asyncio.current_task()))
    found: list[Figure] = []
    sys.stdout.write(f"{HEADER}\n")
    for name in chosen.part:
        for store in stores_of(name, chosen.store):
            figures = await PARTS[name](chosen, store)
            found += figures
            sys.stdout.write("".join(f"{figure}\n" for figure in figures))
            sys.stdout.flush()
    compared = turns.compared_with_floor(found)
    sys.stdout.write("".join(f"{figure}\n" for figure in compared))
    return found + compared


def _cancel(task: asyncio.Task[list[Figure]] | None) -> None:
    if task:
        task.cancel()


def main(arguments: Sequence[str] | None = None) -> None:
    """Raises SystemExit for wrong arguments."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.speed", description=__doc__)
    parser.add_argument(
        "part",
        nargs="*",
        default=[part for part in PARTS if part != "replay"],
        help=f"of {', '.join(PARTS)}; default: all but replay",
    )
    parser.add_argument("--store", nargs="*", choices=STORES, help="default: both, and the first for memory")
    parser.add_argument("--rate", nargs="*", type=float, default=[5.0, 10.0, 20.0], help="turns a second")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement under load")
    parser.add_argument("--agents", type=int, default=2_000, help="that have gone idle, for their memory")
    parser.add_argument(
        "--turns", type=int, default=50_000, help="of the replay; from 40,000 on it is warm where it begins to compare"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of the starts; each figure is their median")
    parser.add_argument("--beside", type=Path, metavar="CLONE", help="whose starts are measured in turn with ours")
    parser.add_argument("--even", action="store_true", help="messages at equal distances, not at random moments")
    parser.add_argument("--apart", action="store_true", help="a process for each role")
    parser.add_argument("--profile", default="", metavar="PATH", help="sample with py-spy, into PATH-<role>.txt")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args(arguments)
    if wrong := set(chosen.part) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(wrong))}")
    found = asyncio.run(run(chosen))
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(figure) for figure in found], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
