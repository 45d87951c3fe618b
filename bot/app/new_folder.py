"""A DATA_DIR that one message made, and that goes with it where there was no answer: nobody asked for a folder."""

from __future__ import annotations

import asyncio
import fcntl
import shutil
from contextlib import suppress
from uuid import uuid4

from bot.app.embedded import EmbeddedError
from bot.app.embedded.membership import Membership
from bot.errors import StoreUnavailable
from bot.runtime.settings import Settings

_DOOR_SECONDS = 2.0


class NewFolder:
    """That of these settings, if it is not there yet, and all is to be in it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        has_servers = settings.database_url or settings.redis_url
        self.is_new = not (has_servers or settings.data_dir.exists())

    async def remove(self) -> None:
        """Take it away again, unless somebody else has come to use it, or has been there."""
        folder = self._settings.data_dir
        if not self.is_new or not folder.is_dir():
            return
        with suppress(StoreUnavailable, EmbeddedError, OSError):  # then it stays
            if (folder / "palimpsest.db").exists() and await self._conversations() > 1:
                return
            await asyncio.to_thread(self._remove_unless_used)

    async def _conversations(self) -> int:
        from bot.store.book import database_of
        from bot.store.operators import conversations

        database = database_of(self._settings)
        try:
            await database.open()
            async with database.read() as tx:
                return await conversations.count(tx)
        finally:
            await database.close()

    def _remove_unless_used(self) -> None:
        folder = self._settings.data_dir
        with (folder / ".run.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # or OSError: a program runs
            valkey = folder / "valkey"
            valkey.mkdir(exist_ok=True)
            members = Membership(valkey)
            with members.door(_DOOR_SECONDS):
                if members.enter():
                    aside = folder.with_name(f".{folder.name}-{uuid4().hex}")
                    folder.rename(aside)  # whoever comes now makes another one
                    shutil.rmtree(aside, ignore_errors=True)
                members.leave()
