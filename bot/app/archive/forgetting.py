"""Forgets a conversation, or a person: in the book, in the folders, and on the disk.

::

    epoch raised, its host told ─▶ its lease taken ─▶ one transaction: rows gone, folder renamed ─▶ folder removed
                                                                             ... of each ─▶ the disk scrubbed

A conversation is taken first (:mod:`bot.app.archive.taking`). A message that comes meanwhile is removed with the rest,
or the first of a new conversation. All of it may be done again, also after it was cut off.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from bot.agent.compacting import trace_files
from bot.app.archive.taking import Hold, taken, wake
from bot.app.embedded.valkey import EmbeddedValkey
from bot.bus.bus import Bus
from bot.bus.redis_server import forget_past
from bot.compaction.notices import aborted
from bot.errors import PalimpsestError
from bot.files.blocks import folder_of, remove_sent
from bot.files.contents import LOCK, contents
from bot.messages import AgentId
from bot.runtime.settings import Settings
from bot.store import Database
from bot.store.archive import forgetting, forgetting_person, whereabouts
from bot.store.operators import parked, traces

_ASIDE = ".forgotten-"
"""What folders are called that are about to be removed."""
NOBODY_TOLD = "Redis cannot be reached, so no process could be told. What one has in memory it cannot write any more."
STILL_HELD = (
    "A process does not let go of it. It can write nothing to the database any more; files that a tool of it writes "
    "now would stay: do this again when that process has ended."
)


class CannotForget(PalimpsestError):
    """Nothing was removed; the text is one sentence that says what to do."""


@dataclass
class Forgotten:
    """What was removed. ``rows``: by table, of conversations that went wholly; ``parts``: by what it was, of those that
    others share; ``notes``: what could not be done, and what is kept elsewhere."""

    conversations: list[AgentId] = field(default_factory=list)
    shared: list[AgentId] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)
    files: int = 0
    bytes: int = 0
    unknown: Mapping[AgentId, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        """Whether there was something to remove."""
        return bool(self.rows or self.parts or self.files or self.conversations or self.shared)

    def as_json(self) -> dict[str, Any]:
        """For a JSON document."""
        return {
            "conversations": self.conversations,
            "shared": self.shared,
            "rows": dict(sorted(self.rows.items())),
            "parts": dict(sorted(self.parts.items())),
            "files": self.files,
            "bytes": self.bytes,
            "unknown": dict(self.unknown),
            "notes": self.notes,
        }

    def note(self, text: str) -> None:
        """Say this, once."""
        if text and text not in self.notes:
            self.notes.append(text)


class Forgetting:
    """Forgets in this book and this DATA_DIR. ``bus`` reaches the processes that run."""

    def __init__(self, settings: Settings, database: Database, bus: Bus) -> None:
        self._settings = settings
        self._database = database
        self._bus = bus
        self.done = Forgotten()

    async def look(self, agent_id: AgentId) -> Forgotten:
        """What forgetting this conversation would remove."""
        return await self._look([agent_id])

    async def look_for_person(self, connector: str, person: str) -> Forgotten:
        """What forgetting this person would remove wholly, and where else they talked."""
        async with self._database.read(long=True) as tx:
            there = await whereabouts.where(tx, connector, person)
        found = await self._look(there.whole)
        found.shared, found.unknown = list(there.shared), there.unknown
        return found

    async def conversation(self, agent_id: AgentId) -> None:
        """Forget one. Raises CannotForget, StoreUnavailable, OSError."""
        folder = folder_of(self._settings.data_dir, agent_id)
        with _closed(folder):
            async with self._taken(agent_id):
                await self._remove(agent_id, folder)
        await wake(self._database, self._bus, agent_id)
        await asyncio.to_thread(_strike_from_log, self._settings.data_dir, agent_id)

    async def person(self, connector: str, person: str) -> None:
        """Forget somebody everywhere. Raises CannotForget, StoreUnavailable, OSError."""
        async with self._database.read(long=True) as tx:
            there = await whereabouts.where(tx, connector, person)
        for agent_id in there.whole:
            await self.conversation(agent_id)
        for agent_id in there.shared:
            await self._redact(agent_id, connector, person)
        async with self._database.write() as tx:
            skipped = await forgetting.skipped_by(tx, connector, person)
            self.done.parts["messages that could not be stored"] += await forgetting.forget_skipped(tx, skipped)
            self.done.parts["quotations"] += await parked.unquote(tx, connector, person=person)
            self.done.parts["pairing"] += await forgetting_person.forget_pairing(tx, connector, person)
        self.done.parts = +self.done.parts
        self.done.unknown = there.unknown

    async def scrub(self) -> None:
        """What was removed goes from the disk, too, and what a crash had left of earlier times."""
        await asyncio.to_thread(_remove_aside, self._settings.data_dir)
        scrubbed = await self._database.scrub()
        self.done.note(scrubbed.note)
        if not self._settings.redis_url:
            valkey = EmbeddedValkey(self._settings.data_dir)
            if valkey.folder.exists():
                await valkey.start()
                try:
                    await forget_past(self._bus)
                finally:
                    await valkey.stop()

    async def _look(self, agent_ids: Sequence[AgentId]) -> Forgotten:
        found = Forgotten()
        for agent_id in agent_ids:
            async with self._database.read(long=True) as tx:
                rows = await forgetting.count(tx, agent_id)
            there = await asyncio.to_thread(contents, folder_of(self._settings.data_dir, agent_id))
            if rows or there.files:
                found.conversations.append(agent_id)
            found.rows += Counter(rows)
            found.files, found.bytes = found.files + len(there.files), found.bytes + there.size
        return found

    async def _remove(self, agent_id: AgentId, folder: Path) -> None:
        there = await asyncio.to_thread(contents, folder)
        aside = folder.with_name(f"{_ASIDE}{uuid4().hex}")
        try:
            async with self._database.write(long=True) as tx:
                await forgetting.be_alone(tx)
                rows = await forgetting.everything(tx, agent_id)
                # Before the commit: files of a message that comes after it belong to a new conversation.
                await asyncio.to_thread(_rename, folder, aside)
        except BaseException:
            await asyncio.to_thread(_rename, aside, folder)
            raise
        if rows or there.files:
            self.done.conversations.append(agent_id)
        self.done.rows += Counter(rows)
        self.done.files, self.done.bytes = self.done.files + len(there.files), self.done.bytes + there.size

    async def _redact(self, agent_id: AgentId, connector: str, person: str) -> None:
        data_dir = self._settings.data_dir
        async with self._taken(agent_id), self._database.write(long=True) as tx:
            await forgetting.be_alone(tx)
            removed = await forgetting_person.redact(tx, agent_id, connector, person, stopped=aborted())
            # Before the commit: whoever does this again after a crash has to find what there is to do.
            for day in removed.days:
                wanted = await traces.file_of(tx, day)
                written = await asyncio.to_thread(trace_files.put, trace_files.path_of(data_dir, day), wanted)
                self.done.parts["daily files written anew"] += written
            count, size = await asyncio.to_thread(remove_sent, folder_of(data_dir, agent_id), removed.files)
        await wake(self._database, self._bus, agent_id)
        if removed.counts or count:
            self.done.shared.append(agent_id)
        self.done.parts += Counter(removed.counts)
        self.done.files, self.done.bytes = self.done.files + count, self.done.bytes + size

    @asynccontextmanager
    async def _taken(self, agent_id: AgentId) -> AsyncIterator[None]:
        """Nobody else has it until the end of the block, as far as they can be told."""
        async with taken(self._database, self._bus, agent_id) as hold:
            if hold is Hold.HELD:
                self.done.note(STILL_HELD)
            elif hold is Hold.UNREACHED and self._settings.redis_url:
                self.done.note(NOBODY_TOLD)
            yield


@contextmanager
def _closed(folder: Path) -> Iterator[None]:
    """A terminal that shows the conversation would write its folder again. Raises CannotForget while there is one."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CannotForget(f"The conversation {folder.name} is open in a terminal: close that one first.") from None
    else:
        yield
    finally:
        os.close(descriptor)


def _rename(folder: Path, name: Path) -> None:
    with suppress(FileNotFoundError):
        folder.rename(name)


def _remove_aside(data_dir: Path) -> None:
    """What is to be removed, also what a crash left of it."""
    for folder in (data_dir / "agents").glob(f"{_ASIDE}*"):
        shutil.rmtree(folder)


def _strike_from_log(data_dir: Path, agent_id: AgentId) -> None:
    """A terminal's log names the conversations that it showed, and files of theirs. Whoever has it open goes on."""
    this = re.compile(rf"(?<![\w.-]){re.escape(agent_id)}(?![\w.-])")
    with suppress(FileNotFoundError), (data_dir / "chat.log").open("r+", encoding="utf-8", errors="replace") as log:
        lines = log.readlines()
        kept = [line for line in lines if not this.search(line)]
        if len(kept) < len(lines):
            log.seek(0)
            log.writelines(kept)
            log.truncate()
