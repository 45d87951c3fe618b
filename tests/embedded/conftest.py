from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.app.embedded.detached import Detached

StartMember = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A DATA_DIR. Whatever a failed test leaves running on it is ended."""
    yield tmp_path
    for folder, name in (("valkey", "watcher"), ("valkey", "valkey"), ("model", "server")):
        if (tmp_path / folder).is_dir():
            Detached(tmp_path / folder, name).end(patience=5)


@pytest.fixture
def start_member(data_dir: Path) -> Iterator[StartMember]:
    """Starts another process on the DATA_DIR, and returns it when it is in."""
    started: list[subprocess.Popen[str]] = []

    def start(name: str) -> subprocess.Popen[str]:
        member = subprocess.Popen(
            [sys.executable, "-m", "tests.embedded.member", name, str(data_dir)],
            cwd=Path(__file__).parents[2],
            env=os.environ,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(member)
        assert member.stdout is not None
        assert "//" in member.stdout.readline(), "it prints the URL when it is in"
        return member

    yield start
    for member in started:
        member.kill()
        member.wait()
        assert member.stdout is not None
        member.stdout.close()
