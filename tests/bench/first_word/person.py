"""A person at a terminal, whose keys are counted."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import struct
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

_CONTROL = re.compile(r"\x1b\[[0-9;?<>=]*[a-zA-Z~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[=>78M]|\r")
_PIECE = 65_536
_LINES, _COLUMNS = 50, 140
_SETTLED_SECONDS = 0.4
"""A prompt is drawn in pieces; who answers between two of them is faster than any hand."""
UP = "\x1b[A"


class Person:
    """Types at programs, each in a terminal of its own. ``keys``: how many were pressed; ``waited``: seconds that the
    programs took between a key and what was waited for."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self.environment = environment
        self._child: subprocess.Popen[bytes] | None = None
        self._terminal = -1
        self._shown = ""
        self._read = 0
        self._is_silent = False
        self.keys = 0
        self.waited = 0.0

    def counts(self, keys: int) -> None:
        """Keys that are pressed elsewhere: in an editor, on a telephone."""
        self.keys += keys

    async def runs(self, *command: str, typed: str = "") -> None:
        """Type a command and Enter. ``typed``: as a person writes it, where that is not its words."""
        await self.ends()
        self.counts(len(typed or " ".join(command)) + 1)
        self._terminal, other = os.openpty()
        size = struct.pack("HHHH", _LINES, _COLUMNS, 0, 0)
        _set_size(other, size)
        self._shown, self._read, self._is_silent = "", 0, False
        self._child = subprocess.Popen(
            command,
            cwd=self._folder,
            env=dict(self.environment),
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        asyncio.get_running_loop().add_reader(self._terminal, self._receive)

    async def types(self, text: str) -> None:
        """Character by character, and Enter."""
        self.counts(len(text))
        await self._press(text)
        await self.enters()

    async def pastes(self, text: str) -> None:
        """One key, and Enter."""
        self.counts(1)
        await self._press(text)
        await self.enters()

    async def enters(self) -> None:
        """Enter alone."""
        self.counts(1)
        await self._press("\r")

    async def moves(self, key: str, times: int) -> None:
        """An arrow, and Enter."""
        for _ in range(times):
            self.counts(1)
            await self._press(key)
        await self.enters()

    async def sees(self, what: str, *, seconds: float = 240.0) -> re.Match[str]:
        """Wait until a pattern stands behind what was seen before. Raises AssertionError with the screen."""
        began = time.monotonic()
        wanted = re.compile(what)
        try:
            async with asyncio.timeout(seconds):
                while not (found := wanted.search(self._text, self._read)):
                    await asyncio.sleep(0.01)
                    assert wanted.search(self._text, self._read) or not self.has_left, f"it ended:\n{self.screen}"
        except TimeoutError:
            raise AssertionError(f"{what} was not shown:\n{self.screen}") from None
        self.waited += time.monotonic() - began
        self._read = found.end()
        await asyncio.sleep(_SETTLED_SECONDS)
        return found

    async def ends(self) -> None:
        """The program in this terminal, by what a closed terminal sends, and by force where that is not heard."""
        child, self._child = self._child, None
        if child is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            if child.poll() is None:
                os.killpg(child.pid, number)
            try:
                await asyncio.to_thread(child.wait, 20)
                break
            except subprocess.TimeoutExpired:
                continue
        asyncio.get_running_loop().remove_reader(self._terminal)
        os.close(self._terminal)

    async def finishes(self, *, seconds: float = 300.0) -> None:
        """Wait until the program is done. Raises AssertionError where it fails."""
        assert self._child is not None
        began = time.monotonic()
        code = await asyncio.to_thread(self._child.wait, seconds)
        self.waited += time.monotonic() - began
        assert code == 0, f"it ended with {code}:\n{self.screen}"

    @property
    def has_left(self) -> bool:
        """Whether the program that was run last has ended by itself."""
        return self._child is not None and self._child.poll() is not None and self._is_silent

    @property
    def screen(self) -> str:
        """The end of what it showed."""
        return self._text[-3000:]

    @property
    def _text(self) -> str:
        return _CONTROL.sub("", self._shown)

    async def _press(self, text: str) -> None:
        os.write(self._terminal, text.encode())
        await asyncio.sleep(0.05)  # Enter in one piece with a word is a paste to some

    def _receive(self) -> None:
        try:
            self._shown += os.read(self._terminal, _PIECE).decode(errors="replace")
        except OSError:  # Linux says so when nobody has the other end any more
            self._is_silent = True
            asyncio.get_running_loop().remove_reader(self._terminal)


def _set_size(terminal: int, size: bytes) -> None:
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
