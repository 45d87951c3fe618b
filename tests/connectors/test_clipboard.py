"""Copying out of a terminal."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from connectors.terminal.clipboard import MOST_BYTES, by_terminal, by_tool


def test_a_terminal_is_asked_to_take_a_text_unless_it_is_too_long_for_that() -> None:
    asked = by_terminal("Grüße\n")
    assert asked.startswith("\x1b]52;c;")
    assert asked.endswith("\x07")
    assert base64.b64decode(asked[7:-1]).decode() == "Grüße\n"
    assert by_terminal("x" * (MOST_BYTES + 1)) == ""


def test_the_tool_of_the_machine_takes_it_and_one_that_fails_does_not(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    tool = tmp_path / "xsel"
    tool.write_text(f"#!/bin/sh\n/bin/cat > {kept}\n")
    broken = tmp_path / "xclip"
    broken.write_text("#!/bin/sh\nexit 1\n")
    for path in (tool, broken):
        path.chmod(0o700)
    environment = {"PATH": str(tmp_path), "DISPLAY": ":0", "HOME": os.environ.get("HOME", "/")}
    assert by_tool("Grüße", environment) == "xsel"
    assert kept.read_text(encoding="utf-8") == "Grüße"
    assert by_tool("x", {"PATH": str(tmp_path)}) == "", "there is no display to copy for"
