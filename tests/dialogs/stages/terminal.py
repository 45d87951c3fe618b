"""The terminal: the real one, with keys from a pipe and a screen that is read back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from prompt_toolkit.input import create_pipe_input

from bot.agent.commands.table import offered
from bot.app.resources import Resources
from bot.connector import Connector
from bot.messages import Address
from bot.runtime.settings import Settings
from connectors.terminal.connector import Terminal
from tests.dialogs.pattern import reads
from tests.dialogs.stage import Post, Where, Who
from tests.dialogs.stages.paper import HINT, NOTICE, Paper, Row

HERE = Address("terminal", "me")
_CTRL_C, _ENTER = "\x03", "\r"
_SPINNER = re.compile(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] …")
_WAITS = re.compile(r"(\S+) Your (?:message waits|\d+ messages wait) for this answer\.")
_BUTTON = re.compile(r"\[([^:\]]+): (/[^\]]+)\]")
_BUTTONS = re.compile(r"(?:\[[^:\]]+: /[^\]]+\]\s*)+")
_FILE = re.compile(r"📎 ([^:]+): (.+)")


class TerminalStage:
    """One person in front of it."""

    name = "terminal"
    connector = "terminal"
    lease: str = HERE.agent_id
    chat: str | None = HERE.chat

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._paper = Paper()

    async def open(self, folder: Path) -> Mapping[str, Any]:
        """See :class:`tests.dialogs.stage.Stage`, as for all below."""
        self._folder = folder
        self._keys = self._stack.enter_context(create_pipe_input())
        return {}

    def connectors(self, settings: Settings) -> Sequence[Connector]:
        """The terminal, as `palimpsest chat` makes it."""
        self._terminal = Terminal(
            HERE,
            history_file=self._folder / "input_history",
            unsent_file=self._folder / ".unsent",
            commands=offered(),
            input=self._keys,
            output=self._paper,
        )
        return [self._terminal]

    async def admit(self, resources: Resources) -> None:
        await self.until(lambda: any(row.text == ">" for row in self._paper.live))

    async def close(self) -> None:
        self._stack.close()

    async def says(self, who: Who, text: str, where: Where, *, addressed: bool, answers: str) -> None:
        self._type(text)
        await self.until(lambda: reads(self._echoes[-1] if self._echoes else "", "> " + text) is not None)

    async def orders(self, who: Who, text: str, where: Where) -> None:
        await self.says(who, text, where, addressed=False, answers="")

    async def sends(self, who: Who, text: str, where: Where, files: Mapping[str, bytes], *, as_photo: bool) -> None:
        for name, content in files.items():
            path = self._folder / name
            await asyncio.to_thread(path.write_bytes, content)
            self._type(f'/attach "{path}" {text}')

    async def edits(self, who: Who, text: str, new: str, where: Where) -> None:
        raise NotImplementedError

    async def presses(self, who: Who, label: str, where: Where, *, earliest: bool) -> None:
        commands = [m[2] for text in [*self._paper.printed, self._live_text] for m in _BUTTON.finditer(text)
                    if m[1] == label]  # fmt: skip
        if not commands:
            raise LookupError(f"no [{label}: …] is shown")
        self._type(commands[0 if earliest else -1])

    async def stops(self, who: Who, where: Where) -> None:
        self._keys.send_text(_CTRL_C)

    def posts(self, where: Where) -> Sequence[Post]:
        printed = [text.strip("\n") for text in self._paper.printed]
        posts = [_post(str(n), text) for n, text in enumerate(printed) if text and not text.startswith("> ")]
        if self._live_text:
            posts.append(_post("live", self._live_text, live=True))
        return posts

    def growing(self, where: Where) -> str:
        """What is printed of a reply already counts too: it is being written as long as some of it is live."""
        rest = "\n".join(row.text for row in self._shown_live if row.color != NOTICE).strip()
        if not rest:
            return ""
        before = next((text for text in reversed(self._paper.printed)), "")
        return rest if before.startswith("\n> ") or not before.startswith("\n") else f"{before}\n{rest}"

    def typed(self, where: Where, since: float) -> bool:
        return self.is_typing(where)

    def is_typing(self, where: Where) -> bool:
        return any(_SPINNER.fullmatch(row.text.strip()) for row in self._paper.live)

    def marks(self, who: Who, text: str, where: Where) -> Sequence[str]:
        return [found[1] for row in self._paper.live if (found := _WAITS.fullmatch(row.text.strip()))]

    def complaints(self) -> Sequence[str]:
        return []

    async def until(self, condition: Callable[[], bool]) -> None:
        await self._paper.wait_for(lambda _: condition(), timeout=3600)

    def _type(self, text: str) -> None:
        self._keys.send_text(f"\x1b[200~{text}\x1b[201~{_ENTER}")

    @property
    def _echoes(self) -> list[str]:
        return [text.strip("\n") for text in self._paper.printed if text.startswith("\n> ")]

    @property
    def _shown_live(self) -> list[Row]:
        """The rows above the line to type in, without the spinner and what is said of waiting messages."""
        rows = self._paper.live
        typed = max((number for number, row in enumerate(rows) if row.text.startswith(">")), default=0)
        return [
            row
            for row in rows[:typed]
            if not _SPINNER.fullmatch(row.text.strip()) and not _WAITS.fullmatch(row.text.strip())
            and row.color != HINT
        ]  # fmt: skip

    @property
    def _live_text(self) -> str:
        return "\n".join(row.text for row in self._shown_live if row.color == NOTICE).strip()


def _post(key: str, text: str, *, live: bool = False) -> Post:
    *lines, last = text.split("\n")
    labels: tuple[str, ...] = ()
    if _BUTTONS.fullmatch(last.strip()):
        labels = tuple(found[1] for found in _BUTTON.finditer(last))
        text = "\n".join(lines)
    if found := _FILE.match(text):
        caption = text[found.end() :].strip()
        return Post(key, caption, labels, {found[1]: Path(found[2]).read_bytes()}, live=live)
    return Post(key, text, labels, live=live)
