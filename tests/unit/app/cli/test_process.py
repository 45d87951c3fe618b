"""What the commands do where standard output takes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["--help"], ["estimate", "--help"]], ids=" ".join)
def test_an_answer_that_cannot_be_written_is_one_line_and_exit_code_1(words: list[str]) -> None:
    with FULL.open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "bot.app.cli.main", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == "palimpsest: The answer cannot be written: No space left on device.\n"


_SAYS_MUCH = """
import sys
from bot.app.cli.process import written_or_said
with written_or_said():
    print("x" * int(sys.argv[1]))
"""


@pytest.mark.parametrize("much", [10, 1_000_000])
def test_whoever_has_read_enough_reads_nothing_of_it(much: int) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with os.fdopen(writes, "w") as closed:
        ended = subprocess.run(
            [sys.executable, "-c", _SAYS_MUCH, str(much)],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment,
        )
    assert (ended.returncode, ended.stderr) == (1, "")
