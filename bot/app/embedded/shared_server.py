"""A server that the processes on a DATA_DIR share: the first starts it, the last one out stops it."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from bot.app.embedded import EmbeddedError
from bot.app.embedded.membership import Membership
from bot.runtime.tasks import to_the_end


class SharedServer(ABC):
    """The life of a member. What is shared says how it is brought up and shut down; both run behind the door.

    All methods raise EmbeddedError. A cancelled call first brings its step to an end, so that nobody stays a
    member without knowing.
    """

    def __init__(self, folder: Path, title: str) -> None:
        self.folder = folder
        self.alone = False
        """Nobody else was in when we entered: whatever is left behind by earlier members may be cleared."""
        self._title = title
        self._membership = Membership(folder)

    async def start(self) -> str:
        """Enters, and starts the server unless it runs. Returns its URL."""
        try:
            return await to_the_end(asyncio.to_thread(self._enter))
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def ensure(self) -> str:
        """Starts the server again if it died, also when several processes ask at once. Returns its URL."""
        return await to_the_end(asyncio.to_thread(self._ensure))

    async def find(self) -> str | None:
        """The URL of a server that runs and answers, or None. Nothing is started, and nobody enters."""
        with self._clear_errors():
            return await asyncio.to_thread(self._find)

    async def stop(self) -> None:
        """Leaves; the last one out shuts the server down and waits for its end. Harmless when not in."""
        await to_the_end(asyncio.to_thread(self._leave))

    @abstractmethod
    def _find(self) -> str | None:
        """The URL of a server that answers, or None. Must not rely on the door."""

    @abstractmethod
    def _bring_up(self) -> str:
        """Joins the running server or starts one, behind the door."""

    @abstractmethod
    def _shut_down(self) -> None:
        """Ends the server behind the door, and returns when it is gone."""

    def _enter(self) -> str:
        with self._clear_errors():
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._membership.door():
                self.alone = self._membership.enter()
                try:
                    return self._bring_up()
                except BaseException:
                    if self._membership.leave():
                        self._shut_down()
                    raise

    def _ensure(self) -> str:
        with self._clear_errors():
            found = self._find()
            if found is not None:
                return found
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._membership.door():
                return self._bring_up()

    def _leave(self) -> None:
        if not self._membership.is_inside:
            return
        with self._clear_errors():
            self.folder.mkdir(parents=True, exist_ok=True)  # where DATA_DIR was deleted, its server still runs
            with self._membership.door():
                if self._membership.leave():
                    self._shut_down()

    @contextlib.contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise EmbeddedError(f"{self._title} cannot run in {self.folder}: {error}") from error
