"""An agent's memory in the running program: facts are refreshed after each turn, shown, pinned and forgotten.

::

    turn ends ─▶ entries since the watermark ─▶ candidates, merged (in a thread) ─▶ one fenced step: facts, candidates,
                                                                                   watermark, the line in the chat

What is known is in the book, and whoever changes it raises its version, so that a refresh that began before is made
again, and the facts are read anew only when they have changed. A crash before the step costs nothing but the step: the
next turn makes it up.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import structlog

from bot.agent.context import Context
from bot.agent.step import Step
from bot.compaction.extraction import checked, operations_in
from bot.compaction.facts.fact import Fact, FactKind, FactStatus, Source, Speaker, plain
from bot.compaction.facts.life import Refreshed, found_in, in_scope, injected, refreshed
from bot.compaction.facts.speech import LONGEST, speech_candidates
from bot.compaction.memory_report import USAGE, Changes, audit_of, line_of, page_of, runtime_line, runtime_notice
from bot.errors import StaleEpoch, StoreUnavailable
from bot.estimate.cuts import one_line
from bot.history import Entry, EntryKind
from bot.messages import Audience, text_block
from bot.runtime.redact import redact
from bot.runtime.settings import MemorySettings
from bot.store import Database, Tx, facts, histories
from bot.store.facts import MemoryLine, MemoryRow

log = structlog.get_logger(__name__)

MOST_CAUGHT_UP = 20_000
"""Entries that one refresh reads: of a longer history that nobody read yet, the last ones."""
MOST_OF_PEOPLE = 200
"""Facts that people may pin or add in one conversation."""
LINE_TURNS = 20
"""Turns that one line in the chat is about; then, or after a compaction, another one is said."""

MOST_NOTICES = 50
"""Notices for machines that the next section of the trace holds: the last ones."""

FULL = f"You keep {MOST_OF_PEOPLE} facts already, and no more fit. /memory unpin N lets one go."
KEPT = "\nOther facts are not collected here: this conversation is not compacted by memory."
AFTER_FORGETTING = (
    "\nIt will not come back from what was said. The messages themselves stay, and /recall still finds them."
)
_ANSWERS = {"pin": "Pinned:", "unpin": "Not pinned any more:", "forget": "Forgotten:"}
_TRIES = 5
_EARLIER = 200
"""Entries before the watermark in which the calls of later results are looked for."""
_COMMAND = re.compile(
    r"(pin|unpin|forget)\s+#?(\d{1,9})|(add)\s+(\S.*)|(debug)(?:\s+(\d{1,6}))?|(\d{0,6})", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True)
class _Read:
    """What a refresh works on."""

    row: MemoryRow
    known: tuple[Fact, ...]
    unread: tuple[Entry, ...]
    last: int
    floor: int


class AgentMemory:
    """The memory of one agent. ``secrets``: what no notice may hold."""

    def __init__(
        self, context: Context, database: Database, settings: MemorySettings, secrets: Collection[str]
    ) -> None:
        self._context = context
        self._database = database
        self._settings = settings
        self._secrets = secrets
        self._latest: tuple[MemoryRow, tuple[Fact, ...]] = (MemoryRow(), ())

    @property
    def collects(self) -> bool:
        """Whether facts are looked for: where the strategy wants them."""
        return bool(getattr(self._context.strategy, "wants_facts", False))

    async def refresh(self, mode: str = "turn") -> None:
        """Take in what was said since the last time, and tell the model what a person added meanwhile."""
        if not (self.collects or await self._has_facts()):
            return
        for _ in range(_TRIES):
            read = await self._read(collects=self.collects)
            is_news = any(_is_news_to_model(item) for item in read.known)
            if not (is_news or (self.collects and read.last > read.row.upto)):
                return
            life = await self._life(read, collects=self.collects)
            async with self._context.step() as step:
                changes = await self._write(step, read, life, mode)
            if changes is not None:
                self._log(changes)
                return

    async def take_in(self, step: Step, answer: str, seqs: Sequence[int]) -> None:
        """What a model makes of facts, having read these entries, as far as it holds; as part of this step."""
        agent_id, floor = self._context.agent_id, step.history.floor
        row, known = await facts.get(step.tx, agent_id), await facts.load(step.tx, agent_id)
        entries = await facts.shown(step.tx, agent_id, seqs)
        first = (seq for item in known for seq in item.seqs[:1])
        said_by = await facts.people(step.tx, agent_id, {*seqs, *first})
        life = checked(known, operations_in(answer) or (), entries, floor, said_by)
        if not life.candidates:
            return
        changes = await self._write(step, _Read(row, known, (), row.upto, floor), life, "extractor")
        if changes is not None:
            step.afterwards.append(lambda: self._log(changes))

    async def remember(self, mode: str = "turn") -> None:
        """Refresh. A defect in there costs facts, and no answer; a book that is away, only time. Raises StaleEpoch."""
        try:
            await self.refresh(mode)
        except StaleEpoch:
            raise
        except StoreUnavailable as error:
            log.warning("memory_waits", reason=str(error))
        except Exception:
            log.exception("memory_not_refreshed")

    async def known(self, *, wanted: bool | None = None) -> tuple[Fact, ...] | None:
        """What a plan may know: all facts in memory, with those of entries that no refresh has read yet. None where
        none are ``wanted``; if that is not said, where the strategy wants none."""
        collects = self.collects if wanted is None else wanted
        if not collects:
            return None
        read = await self._read(collects=collects)
        life = await self._life(read, collects=collects) if read.unread else Refreshed(read.known)
        return injected(life.facts, read.floor)

    async def obey(self, argument: str, *, busy: bool, speaker: str = "") -> str:
        """Do what /memory says; the answer. ``speaker``: who says it, where several people talk."""
        match = _COMMAND.fullmatch(argument.strip())
        if match is None:
            return f"I do not know that. {USAGE}"
        if match[1]:
            return await self._change(match[1].lower(), int(match[2]))
        if match[3]:
            return await self._add(f"{speaker}: {match[4]}" if speaker else match[4], busy=busy)
        async with self._database.read() as tx:
            if match[5]:
                return audit_of(await facts.candidates(tx, self._context.agent_id), int(match[6] or 1))
            known = await facts.load(tx, self._context.agent_id)
        floor = self._context.history.floor
        shown = [item for item in known if in_scope(item, floor)]
        return page_of(shown, int(match[7] or 1), collected=self.collects)

    async def _has_facts(self) -> bool:
        """Whether there ever was one: a person may have added it."""
        async with self._database.glance() as tx:
            return (await facts.get(tx, self._context.agent_id)).version > 0

    async def _read(self, *, collects: bool) -> _Read:
        """``collects``: with what no refresh has read yet."""
        agent_id = self._context.agent_id
        async with self._database.read() as tx:
            row = await facts.get(tx, agent_id)
            known = await self._known_at(tx, row)
            unread = await facts.unread(tx, agent_id, row.upto, MOST_CAUGHT_UP) if collects else ()
            last = await histories.last_seq(tx, agent_id)
        return _Read(row, known, unread, last, self._context.history.floor)

    async def _known_at(self, tx: Tx, row: MemoryRow) -> tuple[Fact, ...]:
        """The facts of this version, from the book where they are not at hand."""
        had, known = self._latest
        if (had.version, had.upto, had.next_number) != (row.version, row.upto, row.next_number):
            known = await facts.load(tx, self._context.agent_id) if row.version else ()
            self._latest = row, known
        return known

    async def _life(self, read: _Read, *, collects: bool) -> Refreshed:
        """In a thread: a history that nobody read yet takes a while."""
        if not collects:
            return Refreshed(read.known)
        entries = self._context.history.entries
        earlier = [entry for entry in entries if entry.seq <= read.row.upto][-_EARLIER:]
        return await asyncio.to_thread(
            lambda: refreshed(read.known, found_in(read.unread, earlier), read.floor),
        )

    async def _write(self, step: Step, read: _Read, life: Refreshed, mode: str) -> Changes | None:
        """None: somebody changed the facts, or what is in memory, since they were read."""
        agent_id = self._context.agent_id
        row = await facts.get(step.tx, agent_id)
        if row.version != read.row.version or step.history.floor != read.floor:
            return None
        number, after = row.next_number, list[Fact]()
        for found in life.facts:
            fact = found if found.number else replace(found, number=number)
            number += not found.number
            told = _is_news_to_model(fact)
            after.append(replace(fact, seqs=(await self._tell_model(step, fact),)) if told else fact)
        await facts.change(step.tx, agent_id, read.known, after)
        await facts.add_candidates(step.tx, agent_id, life.candidates, now=step.now)
        there = sum(item.is_listed and in_scope(item, read.floor) for item in after)
        changes = Changes.of(life, mode, there)
        line = await self._tell_people(step, row, changes)
        upto = read.last if self.collects else row.upto
        notice = runtime_notice(changes, self._settings.visibility)
        notices = with_notice(row, notice, self._secrets) if self.collects else row.told
        changed = replace(row, upto=upto, version=row.version + 1, next_number=number, line=line, told=notices)
        await facts.put(step.tx, agent_id, changed)
        return changes

    @property
    def _speaks(self) -> bool:
        """In the chat: for machines it is in the log and in the trace, whatever people want to see."""
        return self.collects and self._settings.visibility != "off"

    def _log(self, changes: Changes) -> None:
        if self.collects:
            log.info("memory_refreshed", notice=runtime_notice(changes, self._settings.visibility))

    async def _tell_people(self, step: Step, row: MemoryRow, changes: Changes) -> MemoryLine:
        """One line in the chat, which counts on until a compaction, or for some turns: so it does not spam."""
        if not (self._speaks and changes.any):
            return row.line
        line, layer = row.line, max(step.history.stack, default=0)
        goes_on = line.slot is not None and line.layer == layer and line.turns < LINE_TURNS
        before = line if goes_on else MemoryLine(layer=layer, places=line.places)
        so_far = replace(
            changes,
            accepted=before.accepted + changes.accepted,
            rejected=before.rejected + changes.rejected,
            pruned=before.pruned + changes.pruned,
        )
        text = runtime_line(so_far, self._settings.visibility)
        payload = runtime_notice(changes, self._settings.visibility)
        if before.slot is None:
            before = replace(before, slot=await step.say(text, payload=payload))
        else:
            await step.change(before.slot, text, payload=payload)
        return replace(
            before,
            accepted=so_far.accepted,
            rejected=so_far.rejected,
            pruned=so_far.pruned,
            turns=before.turns + 1,
        )

    async def _tell_model(self, step: Step, fact: Fact) -> int:
        """What a person added is said to the model as well, where everything else is: the entry's seq."""
        blocks = [text_block(f"[To be remembered, added by a person with /memory: {fact.text}]")]
        entry = await step.append("user", blocks, EntryKind.NOTE, audience=Audience.MODEL)
        return entry.seq

    async def _change(self, what: str, number: int) -> str:
        agent_id = self._context.agent_id
        async with self._context.step() as step:
            row, known = await facts.get(step.tx, agent_id), await facts.load(step.tx, agent_id)
            floor = step.history.floor
            here = {item.number: item for item in known if item.is_listed and in_scope(item, floor)}
            item = here.get(number)
            if item is None:
                return f"I know no fact {number}. /memory lists them."
            if what == "pin" and not item.protected and _is_full(known):
                return FULL
            changed = _changed(item, what)
            after = [changed if other is item else other for other in known]
            await facts.change(step.tx, agent_id, known, after)
            await facts.put(step.tx, agent_id, replace(row, version=row.version + 1))
        answer = f"{_ANSWERS[what]} {line_of(changed)}"
        return f"{answer}{AFTER_FORGETTING}" if what == "forget" else answer

    async def _add(self, text: str, *, busy: bool) -> str:
        """A fact in a person's own words, pinned. What is known already is pinned, and comes back if need be."""
        agent_id, text = self._context.agent_id, one_line(text, LONGEST)
        async with self._context.step() as step:
            row, known = await facts.get(step.tx, agent_id), await facts.load(step.tx, agent_id)
            if _is_full(known):
                return FULL
            floor = step.history.floor
            own = [item for item in known if item.status is not FactStatus.REMARK and in_scope(item, floor)]
            alike = [item for item in own if plain(item.text) == plain(text)]
            if alike:
                added = replace(_changed(alike[0], "pin"), forgotten=False)
                after = [added if other is alike[0] else other for other in known]
            else:
                added = _added(text, row.next_number)
                if not busy:
                    seqs = (await self._tell_model(step, added),)
                    added = replace(added, seqs=seqs)
                after = [*known, added]
            await facts.change(step.tx, agent_id, known, after)
            next_number = row.next_number + (not alike)
            await facts.put(step.tx, agent_id, replace(row, version=row.version + 1, next_number=next_number))
        return f"{_ANSWERS['pin']} {line_of(added)}{'' if self.collects else KEPT}"


def with_notice(row: MemoryRow, notice: str, secrets: Collection[str]) -> tuple[str, ...]:
    """The notices that the next section of the trace holds, with one more."""
    return (*row.told, redact(notice, secrets))[-MOST_NOTICES:]


def _is_news_to_model(item: Fact) -> bool:
    return item.source is Source.PERSON and not item.seqs and not item.forgotten


def _is_full(known: Sequence[Fact]) -> bool:
    return sum(item.protected and not item.forgotten for item in known) >= MOST_OF_PEOPLE


def _changed(item: Fact, what: str) -> Fact:
    pinned = what == "pin"
    source = Source.PERSON if pinned else Source.AUTO
    return replace(item, pinned=pinned, source=source, forgotten=what == "forget")


def _added(text: str, number: int) -> Fact:
    """Of the kind that its weightiest sentence has."""
    sentences = list(speech_candidates(text, 0, Speaker.PERSON))
    kind = max(sentences, key=lambda item: item.weight).kind if sentences else FactKind.STATEMENT
    return Fact(kind, text, (), pinned=True, weight=10.0, number=number, source=Source.PERSON)
