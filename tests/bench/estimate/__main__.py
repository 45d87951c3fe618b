"""``python -m tests.bench.estimate [FILE.jsonl …]``: a table of how far the estimate is, by class of text.

A line of a file is ``{"class", "text", "tokens_older", "tokens_newer"}``, the counts without a message's framing. By
default the pieces of this project's own tests.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import Any

from bot.estimate import Family, text_tokens

OWN = (
    Path(__file__).parents[2] / "unit" / "token_vectors.jsonl",
    Path(__file__).parents[2] / "unit" / "estimate" / "script_vectors.jsonl",
)


def table(vectors: Iterable[dict[str, Any]]) -> str:
    """A row for each class: the error of the sum, the mean error of a piece, and the largest, for both families."""
    by_class: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for vector in vectors:
        by_class[vector["class"]].append(vector)
    families = (Family.NEWER, Family.OLDER)
    head = [f"| {family.value} | mean error | largest " for family in families]
    lines = ["| text | pieces " + "".join(head) + "|", "|---|---:" + "|---:" * 3 * len(families) + "|"]
    for name, pieces in sorted(by_class.items()):
        cells = [cell for family in families for cell in _errors(pieces, family)]
        lines.append(f"| {name} | {len(pieces)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _errors(pieces: list[dict[str, Any]], family: Family) -> tuple[str, str, str]:
    true = [piece[f"tokens_{family.value}"] for piece in pieces]
    guessed = [text_tokens(piece["text"], family=family) for piece in pieces]
    each = [abs(guess / tokens - 1) for guess, tokens in zip(guessed, true, strict=True)]
    return f"{sum(guessed) / sum(true) - 1:+.1%}", f"{mean(each):.1%}", f"{max(each):.1%}"


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]] or OWN
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    sys.stdout.write(table(map(json.loads, lines)) + "\n")


if __name__ == "__main__":
    main()
