"""Delivers to one chat, one message after the other: what is in the outbox, and a reply while it is being written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from bot.bus import topics
from bot.bus.bus import Bus
from bot.connector import Connector, Counting, Recognizing
from bot.errors import (
    ChatClosed,
    DeliveryDelayed,
    DeliveryError,
    DeliveryRefused,
    DeliverySuperseded,
    DeliveryUncertain,
    StoreUnavailable,
)
from bot.gateway.chats import Chats
from bot.gateway.delivery_fence import DeliveryFence
from bot.messages import Address, AgentId, Edit, OutFile, Say, Withdraw
from bot.runtime.telemetry import telemetry
from bot.store import Database, outbox
from bot.store.outbox import AGAIN, NOTICE, OutboxRow

log = structlog.get_logger(__name__)

_IDLE_SECONDS = 60.0
_RETRY_SECONDS = 1.0
_LONGEST_RETRY_SECONDS = 30.0
_CRASH_SECONDS = 30.0
_MOST_TRIES = 12
"""Of a message whose fate stays unknown; with the pauses between them, that is about five minutes."""
_MOST_FILE_TRIES = 2
"""Of a file, which no platform lets us look for: each try may show it once more."""

IN_A_FILE = "This chat does not take my answer as a message, so it is in this file."
SORRY = "I have an answer that this chat takes neither as a message nor as a file. Ask me to put it in another way."
_FILE_NAME = "answer.md"
_ANYTHING = "…"
"""What is looked for where nobody knows any more what a message said that is to be taken away."""


class ChatDelivery:
    """To one chat of a connector, for one term of its lease; nothing is sent but behind the ``fence`` of that."""

    def __init__(
        self,
        connector: Connector,
        database: Database,
        bus: Bus,
        *,
        chats: Chats,
        folder: Callable[[AgentId], Path],
        fence: DeliveryFence,
        chat: str,
    ) -> None:
        self._connector = connector
        self._database = database
        self._bus = bus
        self._chats = chats
        self._folder = folder
        self._fence = fence
        self._chat = chat
        self._woken = asyncio.Event()
        self._written: dict[int, tuple[Address, str]] = {}
        """What is written so far, by its slot, and in which conversation that is said to be."""
        self._failures: dict[tuple[int, int], int] = {}
        """How often a message, by its slot and version, has failed."""
        self._streamed: OutboxRow | None = None
        """The reply that grew here last."""
        self._agent: AgentId | None = None
        """Whose message was in hand last."""
        self._resting = False
        self._at_rest = asyncio.Event()
        self._at_rest.set()

    def wake(self) -> None:
        """There may be something in the outbox."""
        self._woken.set()

    def write(self, address: Address, slot: int, text: str) -> None:
        """So much of the reply in this slot, which is one of this conversation, is written."""
        self._written[slot] = address, text
        self._woken.set()

    async def rest(self) -> None:
        """Deliver nothing more; returns when what is in hand is on the platform, and written down."""
        self._resting = True
        self._woken.set()
        await self._at_rest.wait()

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
            except (_AtRestError, DeliverySuperseded):
                return
            except _LookAgainError as look:
                await self._again_after(look.seconds)
            except DeliveryDelayed as delay:
                seconds = delay.retry_after
                telemetry.platform_delays(self._connector.name, seconds)
                log.info("delivery_delayed", agent=self._agent, connector=self._connector.name, seconds=seconds)
                await self._again_after(seconds)
            except StoreUnavailable as error:
                log.warning("delivery_failed", agent=self._agent, connector=self._connector.name, reason=str(error))
                await self._database.until_back(_RETRY_SECONDS)
                self._woken.set()
            except DeliveryError as error:
                self._count_failure(error)
                log.warning("delivery_failed", agent=self._agent, connector=self._connector.name, reason=str(error))
                await self._again_after(min(_LONGEST_RETRY_SECONDS, _RETRY_SECONDS * 2**self._worst))
            except Exception:  # a defect in one chat must not stop the others; what it hit is tried again
                telemetry.delivered(self._connector.name, "failed")
                log.exception("delivery_crashed", agent=self._agent, connector=self._connector.name)
                await self._again_after(_CRASH_SECONDS)

    def _count_failure(self, error: DeliveryError) -> None:
        telemetry.delivered(self._connector.name, "uncertain" if isinstance(error, DeliveryUncertain) else "failed")

    @property
    def _worst(self) -> int:
        return max(self._failures.values(), default=1) - 1

    async def _again_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._woken.set()

    async def _deliver_all(self) -> None:
        """What is final first; then what is being written."""
        try:
            async with self._database.glance() as tx:
                pending = await outbox.pending(tx, self._connector.name, self._chat)
        except StoreUnavailable:
            await self._show_without_book()
            raise
        for row in pending:
            self._agent = row.agent_id
            self._written.pop(row.id, None)
            with self._in_hand():
                await self._deliver(row)
        for slot in list(self._written):
            with self._in_hand():
                await self._stream(slot, *self._written.pop(slot))

    @contextmanager
    def _in_hand(self) -> Iterator[None]:
        if self._resting:
            raise _AtRestError
        self._at_rest.clear()
        try:
            yield
        finally:
            self._at_rest.set()

    async def _deliver(self, row: OutboxRow) -> None:
        if await self._chats.is_closed(self._chat):
            async with self._database.write() as tx:
                await outbox.refuse(tx, row.id, row.version)
            return
        try:
            refs = await self._bring_within_reason(row)
        except ChatClosed as error:
            telemetry.delivered(self._connector.name, "refused")
            log.warning("delivery_refused", agent=self._agent, connector=self._connector.name, reason=str(error))
            await self._chats.set_open(self._chats.on_platform(row.address).chat, is_open=False)
        except DeliveryRefused as error:
            telemetry.delivered(self._connector.name, "refused")
            log.warning("delivery_refused", agent=self._agent, connector=self._connector.name, reason=str(error))
            async with self._database.write() as tx:
                await outbox.refuse(tx, row.id, row.version)
        else:
            if row.text or row.file:
                self._count(row)
            await self._record(row.id, row.version, refs)
        self._bus.ring(topics.delivered(row.agent_id))

    def _count(self, row: OutboxRow) -> None:
        """People have it. How long that took is told of replies."""
        since = None if row.answered_at is None else self._database.clock() - row.answered_at
        telemetry.delivered(self._connector.name, "edited" if row.refs else "sent", since=since)

    async def _bring_within_reason(self, row: OutboxRow) -> tuple[str, ...]:
        """What fails again and again is given up, or it would hold up the chat for ever, or be sent for ever."""
        most = _MOST_FILE_TRIES if row.file else _MOST_TRIES
        failures = self._failures.pop((row.id, row.version), 0)
        if failures >= most:
            raise DeliveryRefused(f"given up after {most} tries")
        turn, run = await self._source_of(row)
        with telemetry.delivery_span(self._connector.name, row.agent_id, turn=turn, run=run) as span:
            try:
                return await self._bring_somehow(row)
            except (DeliveryDelayed, DeliveryRefused):
                raise
            except (StoreUnavailable, DeliverySuperseded, _AtRestError, _LookAgainError):  # ours, not the platform's
                span.forget()
                self._failures[row.id, row.version] = failures
                raise
            except Exception:
                self._failures[row.id, row.version] = failures + 1
                raise

    async def _source_of(self, row: OutboxRow) -> tuple[str | None, str | None]:
        """The turn and the compaction that this message is of, for a trace: nobody else asks."""
        if telemetry.is_traced:
            with suppress(StoreUnavailable):
                async with self._database.glance() as tx:
                    return await outbox.source_of(tx, row.agent_id, row.id)
        return None, None

    async def _bring_somehow(self, row: OutboxRow) -> tuple[str, ...]:
        """What the platform refuses is told in other words, or as a file: silence is no answer."""
        try:
            return await self._bring(row, row.text, partial=False)
        except ChatClosed:
            raise
        except DeliveryRefused as refused:
            if not (row.text or row.file):
                raise
            log.info("delivery_in_other_words", agent=self._agent, connector=self._connector.name, reason=str(refused))
            return await self._bring_in_other_words(row, refused)

    async def _bring_in_other_words(self, row: OutboxRow, refused: DeliveryRefused) -> tuple[str, ...]:
        say = self._say(row, row.text, partial=False)
        said = say if row.file or not row.refs else self._edit(row, row.text, partial=False)
        with TemporaryDirectory(prefix="palimpsest-") as folder:
            path = Path(folder) / _FILE_NAME
            await asyncio.to_thread(path.write_text, row.text, "utf-8", "replace")
            for other in _other_words(said, OutFile(str(path), _FILE_NAME)):
                await self._fence.guard()
                try:
                    if isinstance(other, Edit):
                        return await self._change(other, row.id)
                    return (*row.refs, *await self._connector.deliver(other))
                except ChatClosed:
                    raise
                except DeliveryRefused as again:
                    refused = again
        raise refused

    async def _stream(self, slot: int, address: Address, text: str) -> None:
        async with self._database.read() as tx:
            row = await outbox.get_open(tx, slot, address)
            if row and not row.refs and await outbox.pending(tx, self._connector.name, self._chat):
                # What came before it was ready only since the last look, and is to stand before it.
                self._written.setdefault(slot, (address, text))
                self._woken.set()
                return
        self._streamed = row
        if row is None:
            return
        with suppress(DeliveryRefused):
            if self._is_draft(row):
                await self._connector.deliver(self._say(row, text, partial=True))
            else:
                refs = await self._bring(row, text, partial=True)
                if refs != row.refs:
                    await self._record(slot, 0, refs)
                    self._streamed = replace(row, refs=refs)
        await self._pause(self._connector.pace(row.address))

    def _is_draft(self, row: OutboxRow) -> bool:
        return not row.refs and self._connector.drafts(self._chats.on_platform(row.address))

    async def _show_without_book(self) -> None:
        """While the book is away people can still be told so, where a reply is shown already: nothing new is sent that
        could not be written down."""
        row = self._streamed
        _, text = self._written.pop(row.id, (None, "")) if row else (None, "")
        if row and text and (row.refs or self._is_draft(row)):
            with suppress(DeliveryError):
                if row.refs:
                    await self._change(self._edit(row, text, partial=True), row.id)
                else:
                    await self._connector.deliver(self._say(row, text, partial=True))

    async def _pause(self, seconds: float) -> None:
        """Edits of a growing reply are spaced; a final text is not kept waiting."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    await self._woken.wait()
                    self._woken.clear()
                    if self._resting:
                        break
                    async with self._database.glance() as tx:
                        if await outbox.pending(tx, self._connector.name, self._chat):
                            break
        self._woken.set()

    async def _bring(self, row: OutboxRow, text: str, *, partial: bool) -> tuple[str, ...]:
        """Send or edit. A first send is marked before it begins: after a crash the connector looks for it."""
        if not text and not row.file:
            return await self._take_away(row)
        say = self._say(row, text, partial=partial)
        refs = await self._refs_of(row, say)
        if refs and row.file:
            return refs
        if refs:
            await self._fence.guard()
            return await self._change(self._edit(replace(row, refs=refs), text, partial=partial), row.id)
        if not await self._fence.begin_sending(row.id, was_begun=row.sending):
            raise _AtRestError if self._fence.over.is_set() else _LookAgainError(0)
        await self._fence.guard()
        try:
            return await self._connector.deliver(say)
        except DeliveryDelayed:
            await self._fence.not_sent(row.id)
            raise

    async def _take_away(self, row: OutboxRow) -> tuple[str, ...]:
        """Nothing is to be seen of it; nor of what went out in the moment of a crash, and was never written down."""
        anything = self._say(row, _ANYTHING, partial=True)
        refs = await self._refs_of(row, anything)
        await self._fence.guard()
        if row.sending and not refs and isinstance(self._connector, Recognizing):
            refs = await self._connector.deliver(anything)
        return await self._connector.deliver(Withdraw(anything.address, refs, row.answers))

    async def _refs_of(self, row: OutboxRow, say: Say) -> tuple[str, ...]:
        """Also where a send was begun, and its end is not known: then the connector looks for it."""
        if row.refs or not row.sending:
            return row.refs
        if (seconds := self._fence.in_flight(row.id)) > 0:
            raise _LookAgainError(seconds)  # another gateway may be sending it
        await self._fence.guard()
        return await self._find(row, say) or ()

    async def _change(self, edit: Edit, slot: int) -> tuple[str, ...]:
        with self._fence.editing(slot):
            return await self._connector.deliver(edit)

    def _say(self, row: OutboxRow, text: str, *, partial: bool) -> Say:
        file = OutFile(str(self._folder(row.agent_id) / row.file.path), row.file.name) if row.file else None
        return Say(
            self._chats.on_platform(row.address),
            text,
            f"{self._fence.installation}-{row.id}",
            row.buttons,
            notice=row.kind == NOTICE,
            partial=partial,
            answers=row.answers,
            file=file,
        )

    def _edit(self, row: OutboxRow, text: str, *, partial: bool) -> Edit:
        say = self._say(row, text, partial=partial)
        return Edit(
            say.address,
            row.refs,
            text,
            say.token,
            row.buttons,
            notice=say.notice,
            partial=partial,
            answers=row.answers,
            again=row.delivered == AGAIN,
        )

    async def _find(self, row: OutboxRow, say: Say) -> tuple[str, ...] | None:
        async with self._database.read() as tx:
            known = await outbox.refs_in_chat(tx, row.address)
            newest = await outbox.newest_ref_before(tx, row.address, row.id, self._counts_with)
            if isinstance(self._connector, Counting):
                taken = await outbox.latest_refs(tx, row.address.connector)
                known |= {
                    ref for other, refs in taken.items() if self._counts_with(row.address.chat, other) for ref in refs
                }
        return await self._connector.find(say, newest, known)

    def _counts_with(self, chat: str, other: str) -> bool:
        counting = isinstance(self._connector, Counting) and self._connector.counts_with(chat, other)
        return counting or chat == other

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
                self._fence.settled(slot)
                return


def _other_words(said: Say | Edit, answer: OutFile) -> Iterator[Say | Edit]:
    """What to try of a message that its platform refuses as it is, one after the other: the same without marks, as a
    file, or at least a sentence. ``answer``: a file that holds its text.

    A message of the program is tried once more, plain; what it says can be asked for again.
    """
    file = said.file if isinstance(said, Say) else None
    if file is not None:
        text = f"{said.text}\n\n(📎 {file.name} could not be sent.)".strip()
        yield _plain(replace(said, text=text), "words")
    elif said.text.strip():
        yield _plain(said, "plain")
    if not said.notice and file is None:
        yield Say(said.address, IN_A_FILE, f"{said.token}:file", notice=True, file=answer)
    if not said.notice:
        yield replace(_plain(said, "sorry"), text=SORRY)


def _plain(said: Say | Edit, way: str) -> Say | Edit:
    """Without marks and buttons, and without saying what it answers: one of them may be to blame."""
    plain = replace(said, token=f"{said.token}:{way}", notice=True, buttons=(), answers="")
    return replace(plain, file=None) if isinstance(plain, Say) else plain


class _AtRestError(Exception):
    """Nothing more is delivered here: this gateway ends, or another one took over."""


class _LookAgainError(Exception):
    """It is not as it was when the book was looked at, or will not be in so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds
