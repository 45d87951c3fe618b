"""Many seeded runs, each in a process of its own: `make chaos RUNS=200`, `make chaos SEED=17`; or one that lasts,
`make chaos MINUTES=20`.

Nothing stops it; at the end it lists the seeds that failed, and how to run one again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TextIO

from tests.chaos.plan import HOUSES, HouseKind, short_plan
from tests.chaos.short import LONGEST_SECONDS, how_often, run
from tests.chaos.soak import soak

_STRUCK = "struck: "
"""How a run tells the one that began it what was struck."""
_SETTINGS = ("TELEGRAM_", "DISCORD_", "ANTHROPIC_", "AGENTS__", "COMPACTION__", "STRATEGY__", "MEMORY__", "TOOLS__")


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="tests.chaos.run", description=__doc__)
    parser.add_argument("--runs", type=int, default=1, help="so many seeds, from --seed on")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; 0: a random one")
    parser.add_argument("--minutes", type=float, help="one long run in a fleet instead")
    parser.add_argument("--house", choices=HOUSES, help="this one, whatever the seed says")
    parser.add_argument("--jobs", type=int, default=2, help="so many at a time")
    parser.add_argument("--out", type=Path, help="write the results there, too")
    parser.add_argument("--alone", action="store_true", help="in this process: one run")
    parser.add_argument("--same", action="store_true", help="the same seed each time")
    chosen = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(_SETTINGS)]:
        del os.environ[name]
    first = chosen.seed or random.SystemRandom().randrange(1, 1_000_000)
    if chosen.alone:
        sys.exit(asyncio.run(_to_its_end(_alone(first, chosen.house))))
    if chosen.minutes:
        sys.exit(asyncio.run(_to_its_end(_long(first, chosen.minutes, chosen.out))))
    seeds = [first if chosen.same else first + number for number in range(chosen.runs)]
    sys.exit(asyncio.run(_to_its_end(_all(seeds, chosen.house, chosen.jobs, chosen.out))))


async def _to_its_end(work: Coroutine[Any, Any, int]) -> int:
    """SIGTERM cancels the work, once: then it cleans up, and nothing of it is left."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: task.cancelling() or task.cancel())
    return await task


async def _alone(seed: int, house: HouseKind | None) -> int:
    result = await run(short_plan(seed, house))
    _tell(f"{_STRUCK}{json.dumps(result.struck)}")
    _tell(result.line)
    if result.faults:
        _tell("\n".join([str(result.plan), *(f"- {fault}" for fault in result.faults)]))
        _tell(f"The logs and the book are in {result.folder}")
    return bool(result.faults)


async def _long(seed: int, minutes: float, out: Path | None) -> int:
    report = out.open("w") if out else None
    return bool(await soak(seed, minutes * 60, lambda text: _tell(text, report)))


async def _all(seeds: list[int], house: HouseKind | None, jobs: int, out: Path | None) -> int:
    began = time.monotonic()
    waiting = iter(seeds)
    failed: list[int] = []
    struck = Counter[str]()
    report = out.open("w") if out else None
    async with asyncio.TaskGroup() as tasks:
        for _ in range(jobs):
            tasks.create_task(_work(waiting, house, failed, struck, report))
    lines = [f"struck: {how_often(struck)}"]
    lines += [f"{len(seeds)} runs in {time.monotonic() - began:.0f} s, {len(failed)} failed"]
    again = f" ARGS='--house {house}'" if house else ""
    lines += [f"make chaos SEED={seed} RUNS=1{again}" for seed in sorted(failed)]
    _tell("\n".join(lines), report)
    return bool(failed)


async def _work(
    waiting: Iterator[int], house: HouseKind | None, failed: list[int], struck: Counter[str], report: TextIO | None
) -> None:
    for seed in waiting:
        words = ["--alone", "--seed", str(seed), *(["--house", house] if house else [])]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.chaos.run", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(LONGEST_SECONDS + 120):
                said, _ = await process.communicate()
        except TimeoutError:
            process.terminate()
            said, _ = await process.communicate()
            said = f"{seed:>6} hung\n".encode() + said
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        if process.returncode != 0:
            failed.append(seed)
        lines = said.decode(errors="replace").rstrip().splitlines()
        for line in lines:
            if line.startswith(_STRUCK):
                struck.update(json.loads(line.removeprefix(_STRUCK)))
        _tell("\n".join(line for line in lines if not line.startswith(_STRUCK)), report)


def _tell(text: str, report: TextIO | None = None) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    if report:
        report.write(f"{text}\n")
        report.flush()


if __name__ == "__main__":
    main()
