"""Brings what people attached into the folders of their conversations. A message waits until its files are there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import structlog

from bot.bus import topics
from bot.bus.bells import SWEEP_SECONDS
from bot.bus.bus import Bus
from bot.connector import Connector
from bot.errors import DeliveryDelayed, DeliveryError, DeliveryRefused, StoreUnavailable
from bot.files.blocks import FOLDER, path_for
from bot.messages import AgentId, Attachment, Kept
from bot.runtime.telemetry import telemetry
from bot.store import Database, inbox
from bot.store.inbox import MOST_FETCHING, Fetching

log = structlog.get_logger(__name__)

_AT_ONCE = 4
_TRIES = 3
_FILE_SECONDS = 120.0
_WAIT_SECONDS = 1.0
_BROKEN = "something went wrong in me"


class Attachments:
    """Those of one connector. ``folder`` says where a conversation keeps its files; sizes are in bytes; ``chat``:
    only what was sent there."""

    def __init__(
        self,
        connector: Connector,
        database: Database,
        bus: Bus,
        *,
        folder: Callable[[AgentId], Path],
        most_bytes: int,
        chat: str | None = None,
    ) -> None:
        self._connector = connector
        self._database = database
        self._bus = bus
        self._folder = folder
        self._most_bytes = most_bytes
        self._chat = chat
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._under_way: set[int] = set()
        self._crashes: dict[int, int] = {}
        """How often fetching for a row broke something, for those that are still tried."""
        self._has_more = False
        """More rows wait than are looked at at once."""

    async def run(self) -> None:
        """Fetch until cancelled."""
        async with asyncio.TaskGroup() as tasks, self._bus.bell(topics.fetch(self._connector.name)) as bell:
            while True:
                await bell.wait(SWEEP_SECONDS)
                rows = await self._rows()
                self._has_more = len(rows) >= MOST_FETCHING
                for row in rows:
                    if row.id not in self._under_way:
                        self._under_way.add(row.id)
                        tasks.create_task(self._bring(row))

    async def _rows(self) -> Sequence[Fetching]:
        try:
            async with self._database.read() as tx:
                return await inbox.fetching(tx, self._connector.name, self._chat)
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
            return ()

    async def _bring(self, row: Fetching) -> None:
        structlog.contextvars.bind_contextvars(agent=row.agent_id)  # of this task
        try:
            async with self._slots:
                files = [await self._keep(row.agent_id, attachment) for attachment in row.attachments]
                async with self._database.write() as tx:
                    is_wanted = await inbox.fetched(tx, row.id, files)
            if not is_wanted:  # forgotten meanwhile, or brought by another gateway under another name
                await asyncio.to_thread(_take_away, self._folder(row.agent_id), files)
            self._bus.ring(topics.inbox(row.agent_id))
            self._crashes.pop(row.id, None)
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
        except Exception:  # one message must not end the fetching of all others; the sweep comes back to it
            log.exception("fetch_crashed", connector=self._connector.name)
            await self._give_up_on(row)
        finally:
            self._under_way.discard(row.id)
            if self._has_more:
                self._bus.ring(topics.fetch(self._connector.name))

    async def _give_up_on(self, row: Fetching) -> None:
        """A defect comes back with every try: then its message is answered without its files."""
        crashes = self._crashes[row.id] = self._crashes.get(row.id, 0) + 1
        if crashes < _TRIES:
            return
        files = [Kept(attachment.name, problem=_BROKEN) for attachment in row.attachments]
        with suppress(StoreUnavailable):  # then the next try gives it up
            async with self._database.write() as tx:
                await inbox.fetched(tx, row.id, files)
            del self._crashes[row.id]
            self._bus.ring(topics.inbox(row.agent_id))

    async def _keep(self, agent_id: AgentId, attachment: Attachment) -> Kept:
        kept = await self._kept(agent_id, attachment)
        return replace(kept, person=attachment.person, key=attachment.key)

    async def _kept(self, agent_id: AgentId, attachment: Attachment) -> Kept:
        if attachment.size is not None and attachment.size > self._most_bytes:
            return Kept(attachment.name, problem=too_large(attachment.size, self._most_bytes))
        folder = self._folder(agent_id)
        try:
            target = await asyncio.to_thread(_new_file, folder, attachment.name)
            problem = await self._fetched(attachment, target)
            if problem:
                await asyncio.to_thread(target.unlink, missing_ok=True)
                return Kept(attachment.name, problem=problem)
            size = target.stat().st_size
        except OSError as error:  # a disk that is full, a folder that is not ours
            telemetry.not_written("file")
            log.warning("file_not_written", reason=str(error))
            return Kept(attachment.name, problem=f"it could not be written down ({error.strerror})")
        return Kept(attachment.name, str(target.relative_to(folder)), attachment.media_type, size)

    async def _fetched(self, attachment: Attachment, target: Path) -> str:
        """Why it cannot be had, or nothing."""
        for attempt in range(1, _TRIES + 1):
            try:
                async with asyncio.timeout(_FILE_SECONDS):
                    await self._connector.fetch(attachment, target, most_bytes=self._most_bytes)
                return ""
            except DeliveryRefused as error:
                return str(error)
            except (DeliveryError, TimeoutError) as error:
                log.info("file_not_fetched", connector=self._connector.name, tries=attempt, reason=str(error))
                await asyncio.sleep(error.retry_after if isinstance(error, DeliveryDelayed) else _WAIT_SECONDS)
            except OSError:  # our own disk
                raise
            except Exception:  # a defect in a connector must not hold up the conversation for ever
                log.exception("fetch_crashed", connector=self._connector.name)
                return _BROKEN
        return f"{self._connector.name} did not hand it over"


def too_large(size: int, most: int) -> str:
    """Why a file is not taken."""
    return f"it is too large ({size / 1e6:,.1f} MB; at most {most / 1e6:,.0f} MB)"


def _take_away(folder: Path, files: Sequence[Kept]) -> None:
    for file in files:
        if file.path:
            (folder / file.path).unlink(missing_ok=True)
    for empty in (folder / FOLDER, folder):
        with suppress(OSError):
            empty.rmdir()


def _new_file(folder: Path, name: str) -> Path:
    while True:
        path = path_for(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):  # another message brought one of this name just now
            path.touch(exist_ok=False)
            return path
