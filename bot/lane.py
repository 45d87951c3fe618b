"""Delivers to one chat, one message after the other: what is in the outbox, and a reply while it is being written."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from bot.bus import Bus
from bot.connector import Connector
from bot.errors import DeliveryDelayed, DeliveryError, DeliveryRefused, StoreUnavailable
from bot.messages import Edit, Say
from bot.store import Database, outbox
from bot.store.outbox import NOTICE, OutboxRow

log = structlog.get_logger(__name__)

_IDLE_SECONDS = 60.0
_RETRY_SECONDS = 1.0
_CRASH_SECONDS = 30.0


class Lane:
    """One chat of a connector."""

    def __init__(self, connector: Connector, database: Database, bus: Bus, chat: str) -> None:
        self._connector = connector
        self._database = database
        self._bus = bus
        self._chat = chat
        self._woken = asyncio.Event()
        self._written: dict[int, str] = {}
        self._refs: dict[int, tuple[str, ...]] = {}

    def wake(self) -> None:
        """There may be something in the outbox."""
        self._woken.set()

    def write(self, slot: int, text: str) -> None:
        """So much of the reply in this slot is written."""
        self._written[slot] = text
        self._woken.set()

    async def run(self) -> None:
        """Deliver until nothing has happened for a while."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_IDLE_SECONDS):
                    await self._woken.wait()
            if not self._woken.is_set():
                return
            self._woken.clear()
            try:
                await self._deliver_all()
            except DeliveryDelayed as delay:
                log.info("delivery_delayed", connector=self._connector.name, seconds=delay.retry_after)
                await self._again_after(delay.retry_after)
            except (DeliveryError, StoreUnavailable) as error:
                log.warning("delivery_failed", connector=self._connector.name, reason=str(error))
                await self._again_after(_RETRY_SECONDS)
            except Exception:  # a defect in one chat must not stop the others; what it hit is tried again
                log.exception("delivery_crashed", connector=self._connector.name)
                await self._again_after(_CRASH_SECONDS)

    async def _again_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._woken.set()

    async def _deliver_all(self) -> None:
        """What is final first; then what is being written."""
        async with self._database.read() as tx:
            pending = await outbox.pending(tx, self._connector.name, self._chat)
        for row in pending:
            self._written.pop(row.id, None)
            await self._deliver(row)
        for slot in list(self._written):
            await self._stream(slot, self._written.pop(slot))

    async def _deliver(self, row: OutboxRow) -> None:
        try:
            refs = await self._bring(row, row.text, partial=False)
        except DeliveryRefused as error:
            log.warning("delivery_refused", connector=self._connector.name, reason=str(error))
            async with self._database.write() as tx:
                await outbox.refuse(tx, row.id, row.version)
        else:
            await self._record(row.id, row.version, refs)
        self._bus.ring(f"delivered:{row.agent_id}")

    async def _stream(self, slot: int, text: str) -> None:
        async with self._database.read() as tx:
            row = await outbox.get_open(tx, slot)
        if row is None:
            return
        with suppress(DeliveryRefused):
            refs = await self._bring(row, text, partial=True)
            if refs != row.refs:
                await self._record(slot, 0, refs)
        await self._pause()

    async def _pause(self) -> None:
        """Edits of a growing reply are spaced; a final text is not kept waiting."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._connector.edit_every):
                while True:
                    await self._woken.wait()
                    self._woken.clear()
                    async with self._database.read() as tx:
                        if await outbox.pending(tx, self._connector.name, self._chat):
                            break
        self._woken.set()

    async def _bring(self, row: OutboxRow, text: str, *, partial: bool) -> tuple[str, ...]:
        """Send or edit. A first send is marked before it begins: after a crash the connector looks for it."""
        token, notice = str(row.id), row.kind == NOTICE
        refs = row.refs
        say = Say(row.address, text, token, row.buttons, notice=notice, partial=partial)
        if not refs and row.sending:
            refs = await self._find(say) or ()
        if refs:
            edit = Edit(row.address, refs, text, token, row.buttons, notice=notice, partial=partial)
            return await self._connector.deliver(edit)
        async with self._database.write() as tx:
            await outbox.begin_sending(tx, row.id)
        try:
            return await self._connector.deliver(say)
        except DeliveryDelayed:
            async with self._database.write() as tx:
                await outbox.not_sent(tx, row.id)
            raise

    async def _find(self, say: Say) -> tuple[str, ...] | None:
        async with self._database.read() as tx:
            known = await outbox.refs_in_chat(tx, say.address)
            newest = await outbox.newest_ref_before(tx, say.address, int(say.token))
        return await self._connector.find(say, newest, known)

    async def _record(self, slot: int, version: int, refs: tuple[str, ...]) -> None:
        """The platform has it: that must be written down, or it would be sent again."""
        while True:
            try:
                async with self._database.write() as tx:
                    await outbox.delivered(tx, slot, version, refs)
            except StoreUnavailable as error:
                log.warning("store_unavailable", reason=str(error))
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return
