"""The command: measure every strategy and what it is compared with, and write the page."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.bench.yardstick.contenders import Contender, baselines, nothing_kept, strategies
from tests.bench.yardstick.figures import Figure, brief
from tests.bench.yardstick.libraries import embedder, libraries
from tests.bench.yardstick.measures import Data, Extent
from tests.bench.yardstick.page import page
from tests.bench.yardstick.trials import Trial, generated_cases, trials

PROCESSES = 2
MEASURES = ("values", "answers", "prose", "chains")
BARE = ", bare summary"
_QUICKLY = ("values", "answers", "prose")
_BRIEFLY = ("memory", f"reset{BARE}")


def contenders() -> list[Contender]:
    """The strategies with both kinds of summary, then what they are compared with."""
    ours = [*strategies(embedder()), *strategies(None, nothing_kept, said=BARE)]
    once = {contender.name: contender for contender in reversed([*ours, *baselines(), *libraries()])}
    return list(reversed(once.values()))


def main() -> None:
    """Exit 0 when all was measured, 1 when the data cannot be read or a strategy's request is invalid."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.yardstick", description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of conversations, as fetch.py makes it")
    parser.add_argument("--out", type=Path, help="where the page is written; without it, it is printed")
    parser.add_argument("--seed", type=int, default=1, help="for generating and stitching")
    parser.add_argument("--quick", action="store_true", help="a few of each, memory and reset alone, tables alone")
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=[], help="some measures")
    parser.add_argument("--contenders", nargs="+", default=[], help="some contenders, by their names")
    chosen = parser.parse_args()
    began = time.perf_counter()
    names = chosen.contenders or (list(_BRIEFLY) if chosen.quick else [contender.name for contender in contenders()])
    try:
        data = Data.of(chosen.data, Extent.quick() if chosen.quick else Extent(), chosen.seed) if chosen.data else []
        figures = measured(data, names, chosen.only or (_QUICKLY if chosen.quick else ()))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    if chosen.quick or chosen.only:
        text = brief(figures, seconds=time.perf_counter() - began)
    else:
        planted = generated(chosen.seed, names)
        text = page(planted, command="make bench-yardstick", seconds=time.perf_counter() - began)
        refuse_invalid(planted)
    if chosen.out:
        chosen.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


def measured(data: Sequence[Data], names: Sequence[str], only: Sequence[str]) -> list[Figure]:
    """Every contender on all data, each in one of two processes."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        return [figure for found in pool.map(partial(_measured, data, only), names) for figure in found]


def generated(seed: int, names: Sequence[str]) -> list[Trial]:
    """Every contender on generated conversations."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        return [trial for found in pool.map(partial(_generated, seed), names) for trial in found]


def refuse_invalid(found: Sequence[Trial]) -> None:
    """Exit 1 where a strategy made a request that a provider refuses."""
    ours = {contender.name for contender in contenders() if contender.ours}
    if broken := sorted({trial.contender for trial in found if trial.contender in ours and not trial.valid}):
        sys.exit(f"requests that a provider refuses came from: {', '.join(broken)}")


def _measured(data: Sequence[Data], only: Sequence[str], name: str) -> list[Figure]:
    return [figure for part in data for figure in part.figures(_named(name), only)]


def _generated(seed: int, name: str) -> list[Trial]:
    return list(trials([_named(name)], generated_cases(seed, quick=False)))


def _named(name: str) -> Contender:
    found = next((contender for contender in contenders() if contender.name == name), None)
    if found is None:
        raise ValueError(f"There is no contender {name!r}; there is: {', '.join(c.name for c in contenders())}.")
    return found


if __name__ == "__main__":
    main()
