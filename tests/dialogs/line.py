"""A line of a table: how it is printed, and what it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.dialogs.scene import Scene


@dataclass(frozen=True)
class Line:
    """A step that is a sentence and what it means."""

    told: str
    do: Callable[[Scene], Awaitable[object]]

    async def play(self, scene: Scene) -> None:
        """See :class:`tests.dialogs.scene.Step`."""
        await self.do(scene)

    def __str__(self) -> str:
        return self.told
