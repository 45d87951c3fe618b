"""What the commands do where standard output takes nothing."""

from __future__ import annotations

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
