"""What comes in: stored in one transaction with the platform's cursor, and never held up for ever by one event.

A book that is away is waited for, by whoever brings. Anything else that goes wrong is a defect, which would come again
with every try: after three of them the events are stored one by one, and the one to blame is left out and kept aside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from bot.bus import topics
from bot.bus.bells import SWEEP_SECONDS
from bot.bus.bus import Bus
from bot.errors import StoreUnavailable
from bot.files.blocks import remove_sent
from bot.gateway.admission import Admission
from bot.gateway.chats import Chats
from bot.gateway.ephemeral import EphemeralNotices
from bot.messages import Address, AgentId, Inbound, Say, cleaned, in_brackets
from bot.runtime.telemetry import telemetry
from bot.store import Database, Tx, chats, inbox, outages, outbox, runs
from bot.store.archive import dismissed
from bot.store.archive.withdrawing import Withdrawn, withdraw
from bot.store.operators import parked

log = structlog.get_logger(__name__)

MOST_TRIES = 3
UNREAD = "I could not read that: it is of a kind that I do not know yet. Say it in another way, and I will answer."
SKIPPED = "I could not read that: something in me broke on it. Whoever runs me sees it; you can go on."
_LONGEST_LINE = 300


@dataclass(frozen=True)
class Stored:
    """``new``: the events that nobody had brought before; ``told``: what people are told who were not let in;
    ``gone``: files in the folders of conversations, which were deleted with the messages that they came with."""

    new: Sequence[Inbound] = ()
    told: Sequence[Say] = ()
    gone: Sequence[tuple[AgentId, str]] = ()


class Intake:
    """Where a connector stores what it received: implements :class:`bot.connector.Intake` on the book."""

    def __init__(
        self,
        name: str,
        database: Database,
        bus: Bus,
        admission: Admission,
        chats: Chats,
        *,
        cursor_name: str,
        folder: Callable[[AgentId], Path],
        notices: EphemeralNotices,
    ) -> None:
        """For the connector ``name``, whose cursor is kept under ``cursor_name``. ``folder`` says where a conversation
        keeps its files; ``notices`` tell those who were not let in."""
        self._name = name
        self._database = database
        self._bus = bus
        self._admission = admission
        self._chats = chats
        self._cursor_name = cursor_name
        self._folder = folder
        self._notices = notices

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        """See the Protocol."""
        stored = await self.take(inbounds, cursor)
        for say in stored.told:
            self._notices.say(say)
        for agent_id, path in stored.gone:
            await asyncio.to_thread(remove_sent, self._folder(agent_id), [path])
        return len(stored.new)

    async def until_back(self, most: float) -> None:
        """See the Protocol."""
        await self._database.until_back(most)

    async def cursor(self) -> str | None:
        """See the Protocol."""
        async with self._database.glance() as tx:
            return await inbox.cursor(tx, self._cursor_name)

    async def chats(self, limit: int) -> list[Address]:
        """See the Protocol."""
        async with self._database.read() as tx:
            found = await chats.latest(tx, self._name, limit)
        return [self._chats.on_platform(address) for address in found]

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:
        """See the Protocol."""
        async with self._database.glance() as tx:
            return await inbox.heard(tx, address, since)

    async def reachable(self, chat: str, *, yes: bool) -> None:
        """See the Protocol."""
        await self._chats.set_open(chat, is_open=yes)

    async def moved(self, chat: str, moved_to: str) -> None:
        """See the Protocol."""
        await self._chats.move(chat, moved_to)

    async def settled(self, address: Address) -> None:
        """See the Protocol."""
        agent_id = address.agent_id
        async with self._bus.bell(topics.settled(agent_id), topics.delivered(agent_id)) as bell:
            while True:
                await bell.wait(SWEEP_SECONDS)
                async with self._database.read() as tx:
                    busy = (
                        await inbox.unanswered(tx, address)
                        or await runs.is_under_way(tx, agent_id)
                        or await outbox.undelivered(tx, agent_id)
                    )
                if not busy:
                    return

    async def take(self, inbounds: Sequence[Inbound], cursor: str | None) -> Stored:
        """Store a batch, and say what came of it. Raises StoreUnavailable: then the platform has to bring it again."""
        for attempt in range(1, MOST_TRIES + 1):
            try:
                return await self._store(inbounds, cursor)
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("batch_not_stored", connector=self._name, events=len(inbounds), tries=attempt)
        stored = [await self._store_or_skip(inbound) for inbound in inbounds]
        if cursor is not None:
            await self._store((), cursor)
        return Stored(
            [one for each in stored for one in each.new],
            [say for each in stored for say in each.told],
            [file for each in stored for file in each.gone],
        )

    async def _store_or_skip(self, inbound: Inbound) -> Stored:
        try:
            return await self._store([inbound], None)
        except StoreUnavailable:
            raise
        except Exception as error:
            log.exception("update_skipped", connector=self._name, key=inbound.key)
            await self._keep(inbound, f"{type(error).__name__}: {error}")
            telemetry.parked(1)
            return Stored(told=[_notice(inbound, SKIPPED)])

    async def _keep(self, inbound: Inbound, reason: str) -> None:
        is_known = await self._is_known(inbound)
        try:
            async with self._database.write() as tx:
                if is_known:
                    await parked.skip(tx, inbound, reason, now=self._database.clock())
                else:  # nothing is kept of what a stranger says, not for those who mend defects either
                    await dismissed.add(tx, self._name, [inbound.key])
        except StoreUnavailable:
            raise
        except Exception as error:  # then nobody may be told that we have it
            log.exception("update_not_kept", connector=self._name, key=inbound.key)
            raise StoreUnavailable(f"{inbound.key} can neither be stored nor be put aside") from error

    async def _is_known(self, inbound: Inbound) -> bool:
        """Whether its author may come in. Whose id no database takes was never let in."""
        try:
            async with self._database.read() as tx:
                return await self._admission.knows(tx, inbound)
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("update_not_known", connector=self._name, key=inbound.key)
            return False

    async def _store(self, inbounds: Sequence[Inbound], cursor: str | None) -> Stored:
        now, welcome = self._database.clock(), list[Inbound]()
        try:
            async with self._database.write() as tx:
                fresh = await self._fresh(tx, inbounds)
                people = [inbound for inbound in fresh if inbound.kind != "delete"]  # anybody may take back their own
                admitted = await self._admission.admit(tx, people, now=now)
                welcome = admitted.welcome
                unread = [inbound for inbound in welcome if inbound.is_unread]
                welcome = [inbound for inbound in welcome if not inbound.is_unread]
                # Whoever is let in later is not answered what was refused before, when the platform brings it again.
                await dismissed.add(tx, self._name, {one.key for one in people} - {one.key for one in welcome})
                new, withdrawn = await self._write(tx, fresh, {one.key for one in welcome}, now)
                if cursor is not None:
                    await inbox.set_cursor(tx, self._cursor_name, cursor)
                for chat in {inbound.address.chat for inbound in people}:
                    await chats.reopen(tx, self._name, chat)
        except Exception:
            self._admission.forget_counts(welcome)
            raise
        for inbound in people:
            self._chats.heard_of(inbound.address.chat)
        self._tell(new, withdrawn)
        self._bus.ring(*map(topics.outbox, admitted.rings))
        unreadable = [_notice(inbound, UNREAD) for inbound in unread]
        return Stored(new, [*admitted.told, *unreadable], [file for one in withdrawn for file in one.files])

    async def _fresh(self, tx: Tx, inbounds: Sequence[Inbound]) -> list[Inbound]:
        """Those that nobody has brought before, as they are kept."""
        await self._chats.load_moved(tx)  # another gateway may have heard of it
        clean = [self._chats.as_kept(_cleaned(inbound)) for inbound in inbounds]
        keys = [inbound.key for inbound in clean]
        known = await inbox.known(tx, self._name, keys) | await dismissed.known(tx, self._name, keys)
        return [inbound for inbound in clean if inbound.key not in known]

    async def _write(
        self, tx: Tx, fresh: Sequence[Inbound], taken: Collection[str], now: float
    ) -> tuple[list[Inbound], list[Withdrawn]]:
        """Add those with the keys that are ``taken``, and withdraw what was deleted; returns what is new."""
        new, withdrawn = list[Inbound](), list[Withdrawn]()
        for one in fresh:  # in their order: some were deleted as soon as they were said
            if one.kind == "delete":
                withdrawn.append(await withdraw(tx, one, now=now))
            elif one.key not in taken:
                continue
            elif await inbox.add(tx, one, now=now):
                new.append(one)
            elif one.edits:  # it changed a row, and is not to do so once more when another one has
                await dismissed.add(tx, self._name, [one.key])
        for one in new:
            if not one.speaker and self._admission.rules.names_admin(one.address, one.person):
                await outages.remember_admin(tx, one.address, one.person)
        return new, withdrawn

    def _tell(self, new: Sequence[Inbound], withdrawn: Sequence[Withdrawn]) -> None:
        """Count it, and ring for whoever has to do with it."""
        telemetry.received(self._name, len(new))
        rings = {inbound.address.agent_id for inbound in new}.union(*(one.rings for one in withdrawn))
        self._bus.ring(*{topics.inbox(agent_id) for agent_id in rings})
        if any(inbound.attachments for inbound in new):
            self._bus.ring(topics.fetch(self._name))


def _notice(inbound: Inbound, text: str) -> Say:
    return Say(inbound.address, text, token=inbound.key, notice=True, answers=inbound.ref)


def _cleaned(inbound: Inbound) -> Inbound:
    """Whatever a platform lets people write, in a form that can be stored and shown."""
    return replace(
        inbound,
        text=cleaned(inbound.text),
        person_name=_line(inbound.person_name),
        speaker=in_brackets(_line(inbound.speaker).replace(":", " ")),
        quote=replace(inbound.quote, text=_quoted(inbound.quote.text)) if inbound.quote else None,
        attachments=tuple(replace(one, name=_line(one.name)) for one in inbound.attachments),
    )


def _quoted(text: str) -> str:
    """Each line of it marked, so that none can be taken for what is said below."""
    return "\n".join(line if line.startswith(">") else f"> {line}".rstrip() for line in cleaned(text).split("\n"))


def _line(text: str) -> str:
    """One line, without characters that are not seen or turn the text around."""
    shown = "".join(character for character in cleaned(text) if character.isprintable())
    return shown[:_LONGEST_LINE]
