"""The prompt on a pseudo-terminal, whose own line editing must keep out of it."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit.output import DummyOutput

from connectors.terminal.prompt import Prompt

CTRL_C, CTRL_D, CTRL_R = b"\x03", b"\x04", b"\x12"


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The person's end; the program's end is its standard input."""
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "r") as keyboard:
        monkeypatch.setattr(sys, "stdin", keyboard)
        yield ours
    os.close(ours)


def _prompt(folder: Path, interrupt: Callable[[], None], enter: Callable[[str], None]) -> Prompt:
    return Prompt(
        continues=lambda _: {},
        commands={}, history_file=folder / "history", live=lambda columns, rows: [], facts=list, enter=enter,
        interrupt=interrupt, input=None, output=DummyOutput(),
    )  # fmt: skip


async def _until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - a terminal's mode tells nobody when it changes
            await asyncio.sleep(0.01)


async def test_what_is_typed_while_something_is_printed_are_keys(desk: int, tmp_path: Path) -> None:
    pressed: list[str] = []
    prompt = _prompt(tmp_path, lambda: pressed.append("Ctrl-C"), pressed.append)

    def cooked() -> bool:
        return bool(termios.tcgetattr(sys.stdin.fileno())[3] & (termios.ICANON | termios.ECHO | termios.ISIG))

    def meanwhile(keys: bytes) -> None:
        os.write(desk, keys)
        time.sleep(0.05)  # for the terminal, which is not this process

    with prompt.session():
        running = asyncio.create_task(prompt.run())
        await _until(lambda: not cooked())
        os.write(desk, b"A haiku\r")
        await _until(lambda: pressed == ["A haiku"])

        await prompt.print([("", "meanwhile")], lambda: meanwhile(CTRL_C))
        await _until(lambda: pressed == ["A haiku", "Ctrl-C"])
        await prompt.print([("", "meanwhile")], lambda: meanwhile(CTRL_R + b"haik"))
        os.write(desk, b"\r\r")  # takes what was found, and enters it
        await _until(lambda: pressed[2:] == ["A haiku"])
        await prompt.print([("", "meanwhile")], lambda: meanwhile(CTRL_D))
        async with asyncio.timeout(30):
            await running
    assert cooked()
