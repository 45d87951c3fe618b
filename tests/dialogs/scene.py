"""A dialog while it is played: what has been read of it, who was asked, and what was seen when it stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from bot.app.resources import Resources
from tests.dialogs.pattern import Exactly, reads, squeezed
from tests.dialogs.program import at_rest
from tests.dialogs.stage import Place, Post, Stage, Where
from tests.servers.messages.server import MessagesServer

PATIENCE = 60.0
_LONGEST_SHOWN = 300


class Step(Protocol):
    """A line of a table; its `str` is how it is printed."""

    async def play(self, scene: Scene) -> None:
        """Do it, or wait until it is so."""


class NotSoError(Exception):
    """Something is otherwise than the table has it, and waiting will not help."""


class Scene:
    """One dialog on one stage. What the bot says is read in order, and each message once."""

    def __init__(self, stage: Stage, resources: Resources, model: MessagesServer) -> None:
        self.stage = stage
        self.resources = resources
        self.model = model
        self.held = False
        self.names: dict[str, str] = {}
        self.acted_at = time.monotonic()
        self._read: dict[Where, list[Post]] = {}

    async def play(self, steps: Sequence[Step]) -> None:
        """Play a table to its end. Raises AssertionError with the table, a mark where it stopped, and what was seen."""
        for number, step in enumerate(steps):
            try:
                async with asyncio.timeout(PATIENCE):
                    await step.play(self)
            except (TimeoutError, NotSoError, LookupError) as problem:
                raise AssertionError(self._told(steps, number, problem)) from None
        try:
            async with asyncio.timeout(PATIENCE):
                await self._end()
        except (TimeoutError, NotSoError) as problem:
            raise AssertionError(self._told(steps, len(steps), problem)) from None

    async def about_to_act(self, where: Where) -> None:
        """People act when all that came before is done, except while the table holds the model."""
        self._read.setdefault(where, [])
        if not self.held:
            await at_rest(self.resources)
        self.acted_at = time.monotonic()

    async def read(self, where: Where, pattern: str | Exactly, *, several: bool = False) -> Post:
        """Wait until what the bot says next there reads so, and take it for read. ``several``: it may be cut into
        several messages."""
        read = self._read.setdefault(where, [])
        found: list[tuple[list[Post], dict[str, str]]] = []

        def says_so() -> bool:
            unread = self.unread(where)
            for count in range(1, len(unread) + 1 if several or self._is_cut else 2):
                together = " ".join(post.text for post in unread[:count])
                if unread and (names := reads(together, self.filled(pattern))) is not None:
                    found.append((unread[:count], names))
            return bool(found)

        await self.stage.until(says_so)
        posts, names = found[-1] if several else found[0]
        read += posts
        self.names |= names
        return posts[-1]

    async def changes(self, where: Where, pattern: str | Exactly) -> Post:
        """Wait until a message that was read reads so now, in its place."""
        earlier = self._read[where]
        live = next((post for post in earlier if post.live), None)

        def now() -> Post | None:
            here = {post.key for post in earlier}
            there = [post for post in self.stage.posts(where) if post.key in here]
            return next((p for p in there if reads(p.text, self.filled(pattern)) is not None), None)

        if live is not None:  # what it is now stands apart from what it was, which is gone
            earlier.remove(live)
            return await self.read(where, pattern)
        if now() is None and self._is_cut:  # a line that was printed stays, and another one says what became of it
            return await self.read(where, pattern)
        await self.stage.until(lambda: now() is not None)
        changed = now()
        assert changed is not None
        return changed

    def unread(self, where: Where) -> list[Post]:
        """What the bot has said there that no line of the table has named yet."""
        read = {post.key for post in self._read.get(where, [])}
        return [post for post in self.stage.posts(where) if post.key not in read]

    def last_read(self, where: Where) -> Post:
        """The message that was read last, as it is now."""
        if not self._read.get(where):
            raise NotSoError("the bot has said nothing there")
        last = self._read[where][-1]
        return next((post for post in self.stage.posts(where) if post.key == last.key), last)

    def filled(self, pattern: str | Exactly) -> str | Exactly:
        """With what was remembered in the place of its name."""
        if isinstance(pattern, str):
            for name, word in self.names.items():
                pattern = pattern.replace(f"{{{name}}}", word)
        return pattern

    async def wait(self, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Wait for what people see."""
        async with asyncio.timeout(seconds):
            await self.stage.until(lambda: bool(condition()))

    @property
    def _is_cut(self) -> bool:
        return self.stage.name == "terminal"  # it prints a reply paragraph by paragraph

    async def _end(self) -> None:
        """Nothing runs, nobody writes, and nothing was said that the table does not have."""
        await at_rest(self.resources)
        for where in self._read:
            await self.wait(partial(self._is_silent, where))
            if (rest := self.stage.growing(where)) and rest not in [post.text for post in self.stage.posts(where)]:
                raise NotSoError(f"it still seems to write {rest!r}")
            if unread := self.unread(where):
                raise NotSoError(f"and then the bot said, which the table does not have: {unread[0].text!r}")
        if refused := self.model.refused:
            raise NotSoError(f"the model's server refused: {[str(record.error) for record in refused]}")
        if complaints := self.stage.complaints():
            raise NotSoError(f"the platform complains: {complaints}")

    def _is_silent(self, where: Where) -> bool:
        return not self.stage.is_typing(where)

    def _told(self, steps: Sequence[Step], stopped: int, problem: Exception) -> str:
        lines = [f"On {self.stage.name} it went otherwise: {str(problem) or f'not within {PATIENCE:.0f} s'}"]
        lines += [f" {'→' if number == stopped else ' '} {step}" for number, step in enumerate(steps)]
        lines += [" → (the end)"] if stopped == len(steps) else []
        for where in self._read:
            lines.append(f"What is seen in {_named(where)}, ✓ where a line of the table has it:")
            unread = {post.key for post in self.unread(where)}
            lines += [f" {' ' if post.key in unread else '✓'} {_shown(post)}" for post in self.stage.posts(where)]
            if growing := self.stage.growing(where):
                lines.append(f" … being written: {growing}")
            if self.stage.is_typing(where):
                lines.append(" … typing")
        lines.append(f"The model: {self.model.describe()}")
        return "\n".join(lines)


def _named(where: Where) -> str:
    return where.value if isinstance(where, Place) else f"{where.name}'s private chat"


def _shown(post: Post) -> str:
    text = squeezed(post.text)
    text = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}[…]"
    extra = [f"[{label}]" for label in post.buttons] + [f"📎 {name}" for name in post.files]
    return " ".join([text, *extra, *(["(live)"] if post.live else [])])
