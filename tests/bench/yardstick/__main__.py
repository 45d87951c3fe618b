"""The command: measure every strategy and what it is compared with, and write the page."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.bench.yardstick import made_up
from tests.bench.yardstick.contenders import Contender, baselines, nothing_kept, strategies
from tests.bench.yardstick.figures import Figure, Measure, brief
from tests.bench.yardstick.libraries import embedder, libraries
from tests.bench.yardstick.measures import Data, Extent
from tests.bench.yardstick.page import page

PROCESSES = 2
COMMAND = "make bench-yardstick"
MADE_UP = "generated"
RECALL = "recall"
MEASURES = ("values", "answers", "prose", "chains", MADE_UP, RECALL)
BARE = ", bare summary"
_QUICKLY = ("values", "answers", "prose")
_BRIEFLY = ("memory", f"reset{BARE}")


def contenders() -> list[Contender]:
    """The strategies with both kinds of summary, then what they are compared with."""
    ours = strategies(embedder())
    bare = [contender for contender in strategies(None, nothing_kept, said=BARE) if contender.name.endswith(BARE)]
    return [*ours, *bare, *baselines(), *libraries()]


def main() -> None:
    """Exit 0 when all was measured, 1 when the data cannot be read or a strategy's request is invalid."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.yardstick", description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of conversations, as fetch.py makes it")
    parser.add_argument("--out", type=Path, help="where the page is written; without it, it is printed")
    parser.add_argument("--seed", type=int, default=1, help="for generating and stitching")
    parser.add_argument("--quick", action="store_true", help="a few of each, memory and reset alone, tables alone")
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=[], help="some measures, tables alone")
    parser.add_argument("--contenders", nargs="+", default=[], help="some contenders, by their names")
    chosen = parser.parse_args()
    began = time.perf_counter()
    known = [contender.name for contender in contenders()]
    wanted = chosen.contenders or (list(_BRIEFLY) if chosen.quick else known)
    if unknown := sorted(set(wanted) - set(known)):
        parser.error(f"there is no contender {', '.join(unknown)}; there is: {', '.join(known)}")
    try:
        data = Data.of(chosen.data, Extent.quick() if chosen.quick else Extent(), chosen.seed) if chosen.data else []
    except ValueError as error:
        sys.exit(str(error))
    briefly = chosen.quick or bool(chosen.only)
    figures = measured(data, wanted, chosen.only or (_QUICKLY if chosen.quick else MEASURES), chosen.seed)
    seconds = time.perf_counter() - began
    text = brief(figures, seconds=seconds) if briefly else page(figures, command=COMMAND, seconds=seconds)
    if chosen.out:
        chosen.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    refuse_invalid(figures)


def measured(data: Sequence[Data], wanted: Sequence[str], measures: Sequence[str], seed: int) -> list[Figure]:
    """Every contender on all data, each in one of two processes."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        work = pool.map(partial(_measured, data, [name for name in measures if name != RECALL], seed), wanted)
        recalled = [figure for part in data for figure in part.recall()] if RECALL in measures else []
        return [*(figure for found in work for figure in found), *recalled]


def refuse_invalid(figures: Sequence[Figure]) -> None:
    """Exit 1 where a strategy made a request that a provider refuses."""
    ours = {contender.name for contender in contenders() if contender.ours}
    invalid = [f for f in figures if f.measure is Measure.VALID and f.score.hits < f.score.of]
    if broken := sorted({figure.contender for figure in invalid if figure.contender in ours}):
        sys.exit(f"requests that a provider refuses came from: {', '.join(broken)}")


def _measured(data: Sequence[Data], measures: Sequence[str], seed: int, name: str) -> list[Figure]:
    contender = next(contender for contender in contenders() if contender.name == name)
    wanted = [measure for measure in measures if measure != MADE_UP]
    found = [figure for part in data for figure in part.figures(contender, wanted)]
    if MADE_UP in measures:
        found += made_up.figures(contender, made_up.cases(seed, quick=False))
    return found


if __name__ == "__main__":
    main()
