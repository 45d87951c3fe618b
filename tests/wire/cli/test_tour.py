"""The tour, as a newcomer calls it, and the picture that the README has of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from scripts.recording import PICTURE, record

TOUR = [sys.executable, "-m", "bot.app.cli.main", "tour"]


def environment(folder: Path) -> dict[str, str]:
    """Whatever the tour puts aside is in this folder; settings of whoever looks must not matter to it."""
    return {**os.environ, "TMPDIR": str(folder), "MODEL": "openai/none", "AGENTS__STRATEGY": "no-such"}


async def test_the_picture_shows_what_the_tour_does() -> None:
    assert await record() == PICTURE.read_text(encoding="utf-8"), "run `make recording`, and look at the picture"


def test_without_a_terminal_it_is_plain_text_to_its_end_and_nothing_is_left(tmp_path: Path) -> None:
    done = subprocess.run(
        [*TOUR, "--fast"], env=environment(tmp_path), capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    acts = [line[0] for line in done.stdout.splitlines() if line[1:4] == " · "]
    assert acts == ["1", "2", "3", "4", "5", "6"]
    assert "  - The van is booked for 8:30, its number is KR 4821" in done.stdout, "the summary is shown"
    assert "KR 4821, booked for 8:30." in done.stdout
    assert "6 questions, 6 answers: none lost, none given twice." in done.stdout
    assert ".md; the tour keeps none):" in " ".join(done.stdout.split())
    assert not list(tmp_path.iterdir())


def test_ctrl_c_in_the_middle_leaves_nothing_behind(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    tour = subprocess.Popen(TOUR, env=environment(tmp_path), stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        seen = b""
        while b"What goes into the van" not in seen:
            seen += os.read(ours, 4096)
        (folder,) = tmp_path.iterdir()
        assert _processes_on(folder), "the program runs, with what it needs"
        tour.send_signal(signal.SIGINT)
        assert tour.wait(timeout=120) == 130
    finally:
        tour.kill()
        tour.wait()
        os.close(ours)
    assert not list(tmp_path.iterdir())
    assert not _processes_on(folder)


def _processes_on(folder: Path) -> list[str]:
    """Those that name this folder, or work in it."""
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if str(folder) in line]
