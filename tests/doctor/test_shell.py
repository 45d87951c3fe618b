"""TOOLS__SHELL."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.doctor.shell import check_shell
from tests.doctor.conftest import MakeCase, said, the_one


def bubblewrap(folder: Path, exit_code: int) -> None:
    """A program of that name, which works or does not."""
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    program.chmod(0o755)


async def test_a_shell_that_is_off_is_not_spoken_of(case: MakeCase) -> None:
    assert await said(check_shell, case()) == []


async def test_a_shell_without_walls_is_a_warning(case: MakeCase) -> None:
    finding = await the_one(check_shell, case(tools={"shell": "unconfined"}), "warning")
    assert "all that the program may" in finding.sentence


async def test_a_shell_that_nothing_confines_is_a_problem(
    case: MakeCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = await the_one(check_shell, case(tools={"shell": "on"}), "problem")
    assert "not installed" in finding.sentence
    bubblewrap(tmp_path, exit_code=1)
    finding = await the_one(check_shell, case(tools={"shell": "on"}), "problem")
    assert "cannot confine" in finding.sentence


async def test_a_shell_within_walls_is_well(case: MakeCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bubblewrap(tmp_path, exit_code=0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "network" in (await said(check_shell, case(tools={"shell": "on", "shell_network": True})))[0]
    assert (await said(check_shell, case(tools={"shell": "on"})))[0].startswith("ok: A command sees the system")
