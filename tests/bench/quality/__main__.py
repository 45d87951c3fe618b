"""The command: measure every strategy and what it is compared with, and write the page."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.bench.quality.contenders import Contender, baselines, strategies
from tests.bench.quality.libraries import embedder, libraries
from tests.bench.quality.page import page
from tests.bench.quality.recorded import read
from tests.bench.quality.trials import Case, Trial, generated_cases, recorded_cases, trials

PROCESSES = 2


def contenders() -> list[Contender]:
    """The strategies first, then what they are compared with."""
    return [*strategies(embedder()), *baselines(), *libraries()]


def main() -> None:
    """Exit 0 when all was measured, 1 when the data cannot be read or a strategy's request is invalid."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.quality", description=__doc__)
    parser.add_argument("--data", type=Path, help="recorded conversations, a JSON object with messages on each line")
    parser.add_argument("--out", type=Path, help="where the page is written; without it, it is printed")
    parser.add_argument("--seed", type=int, default=1, help="for generating and stitching")
    parser.add_argument("--quick", action="store_true", help="a few conversations of each kind")
    chosen = parser.parse_args()
    began = time.perf_counter()
    try:
        recorded = read(chosen.data) if chosen.data else []
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    cases = generated_cases(chosen.seed, quick=chosen.quick)
    cases += recorded_cases(recorded, chosen.seed, quick=chosen.quick)
    found = measured(cases)
    data = " DATA=FILE.jsonl" if chosen.data else ""
    text = page(found, command=f"make bench-quality{data}", seconds=time.perf_counter() - began)
    if chosen.out:
        chosen.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    ours = {contender.name for contender in contenders() if contender.ours}
    broken = sorted({trial.contender for trial in found if trial.contender in ours and not trial.valid})
    if broken:
        sys.exit(f"requests that a provider refuses came from: {', '.join(broken)}")


def measured(cases: Sequence[Case]) -> list[Trial]:
    """Every contender, each in one of two processes."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        names = [contender.name for contender in contenders()]
        return [trial for found in pool.map(partial(_measured, cases), names) for trial in found]


def _measured(cases: Sequence[Case], name: str) -> list[Trial]:
    return list(trials([contender for contender in contenders() if contender.name == name], cases))


if __name__ == "__main__":
    main()
