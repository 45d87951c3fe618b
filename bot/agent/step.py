"""One fenced transaction of an agent: what it writes, and what its memory becomes once that is committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.agent.money.unbooked import Unbooked
from bot.bus import topics
from bot.bus.topics import Topic
from bot.compaction import Plan
from bot.compaction.standing_rules import Rule
from bot.estimate.meter import Meter, MeterRecord
from bot.history import Anchor, Entry, EntryKind
from bot.history.entry_text import RECALL
from bot.history.measure import calibration
from bot.history.times import days
from bot.messages import Address, Audience, Block, Button, OutFile, Role
from bot.store import Tx, agents, histories, inbox, outbox, runs, standing_rules, zones
from bot.store.archive import withdrawing

if TYPE_CHECKING:
    from bot.agent.context import Context


class Step:
    """What one transaction of an agent does. Nothing of it counts before the transaction is committed."""

    def __init__(self, context: Context, tx: Tx, *, now: float) -> None:
        self.tx = tx
        self.history = context.history
        self.next_seq = context.next_seq
        self.rules = context.rules
        self.restraint = context.restraint
        self.factor = context.factor
        self.rings: list[Topic] = []
        self.afterwards: list[Callable[[], None]] = []
        """Called once it is committed: what is counted and logged."""
        self._context = context
        self.now = now
        """The book's time when it began."""
        self.answered_by = context.answered_by
        self.zone = context.chosen_zone
        """The time zone that was chosen for this conversation; empty where none was."""
        self.quiet_at = context.quiet_at
        """When the prompt cache is about to expire and a compaction may be worth it; None: there is no such moment."""
        self._remembered = (context.restraint, context.factor, context.answered_by)
        self.booked = Unbooked()
        """What of the ledger it wrote."""
        self._is_weighed = False
        self._meter: Meter | None = None
        """Of the history as it is by now."""

    async def append(
        self,
        role: Role,
        blocks: Sequence[Block],
        kind: EntryKind,
        *,
        turn: str | None = None,
        audience: Audience = Audience.EVERYONE,
        anchor: Anchor | None = None,
        interrupted: bool = False,
        person: str = "",
        key: str = "",
        said_at: float | None = None,
    ) -> Entry:
        """Add one entry to the history. ``person``: who said or sent it; ``key``: the message that it was; ``said_at``:
        when, in seconds since 1970, if the model is to know."""
        entry = Entry(
            seq=self.next_seq,
            role=role,
            blocks=tuple(blocks),
            kind=kind,
            audience=audience,
            tokens=self._context.entry_tokens(role, blocks),
            turn=turn,
            anchor=anchor,
            interrupted=interrupted,
            person=person,
            key=key,
            said=self._context.said(said_at, self.zone) if said_at is not None else None,
        )
        kept = replace(entry, tokens=self._context.kept_tokens(entry))
        await histories.append(self.tx, self._context.agent_id, [kept], now=self.now)
        self.history, self._meter = self.history.appended(entry), None
        self.next_seq += 1
        if anchor:
            self.factor, self.answered_by = calibration(anchor), anchor.model
        return entry

    async def put(self, plan: Plan, *, run: str | None = None, summary: str = "") -> None:
        """Put a layer on top."""
        agent_id, recall = self._context.agent_id, self._context.window.toolbox.has(RECALL)
        number = await histories.next_layer(self.tx, agent_id)
        ends = await histories.said_in(self.tx, agent_id, plan.hidden) if recall and plan.inserted else None
        known = days(*ends) if ends else ""
        layer, inserted = plan.layer(number, self.next_seq, run=run, summary=summary, recall=recall, days=known)
        inserted = [replace(e, tokens=self._context.entry_tokens(e.role, e.blocks)) for e in inserted]
        kept = [replace(entry, tokens=self._context.kept_tokens(entry)) for entry in inserted]
        await histories.put(self.tx, agent_id, layer, kept, now=self.now)
        self.history = self.history.covered(layer, inserted)
        self.next_seq += len(inserted)
        self._is_weighed, self._meter = True, None
        self.quiet_at = None  # what the provider remembers is another page

    async def take_off(self, number: int) -> None:
        """Take a layer off. What it hid may be older than what was in memory, so the history is read again."""
        await histories.take_off(self.tx, self._context.agent_id, number, now=self.now)
        self.history = await self._context.history_in(self.tx)
        self._is_weighed, self._meter = True, None
        self.quiet_at = None

    async def withdraw(self, key: str, *, hide: bool) -> frozenset[str]:
        """Its author deleted this message: the history says so, or hides its words. Returns files that go with them."""
        agent_id, files = self._context.agent_id, frozenset[str]()

        def tokens_of(blocks: Sequence[Block]) -> int:
            return self._context.entry_tokens("user", blocks)

        if hide:
            files = await withdrawing.hide(self.tx, agent_id, key, tokens_of) or files
            await runs.discard_errands(self.tx, agent_id, now=self.now)
            self.rules = await standing_rules.load(self.tx, agent_id)
        else:
            await withdrawing.mark(self.tx, agent_id, key, tokens_of)
        self.history = await self._context.history_in(self.tx)
        self._is_weighed, self._meter = True, None
        return files

    def weigh(self) -> Meter:
        """How full the context is with what this step wrote, which the book keeps."""
        self._is_weighed = True
        self._meter = self._meter or self._context.measured(self.history, self.rules)
        return self._meter

    async def change_rules(self, *rules: Rule) -> None:
        """Write these standing rules as they are now."""
        await standing_rules.put(self.tx, self._context.agent_id, rules)
        there = {rule.number: rule for rule in (*self.rules, *rules)}
        self.rules = tuple(there[number] for number in sorted(there))
        self._is_weighed, self._meter = True, None

    async def look_for_zone(self, person: str) -> None:
        """Take over what was chosen elsewhere meanwhile. ``person``: whose private conversation this is; empty where
        several people talk."""
        address = self._context.address
        found = await zones.of_conversation(self.tx, address.agent_id)
        if person and person != found.person:
            self.zone = await zones.follow(self.tx, address, person)
        else:
            self.zone = found.zone

    async def choose_zone(self, zone: str, person: str = "") -> None:
        """From now on this chat goes by it. ``person``: whose zone that is in all their private conversations, of which
        this is one; empty where several people talk. An empty zone: as all."""
        address = self._context.address
        if person:
            await zones.follow(self.tx, address, person)
            await zones.choose_for_person(self.tx, address.connector, person, zone)
        else:
            await zones.choose_for_chat(self.tx, address, zone)
        self.zone = zone

    async def say(
        self, text: str, *, buttons: Sequence[Button] = (), answers: str = "", payload: str = "", held: bool = False
    ) -> int:
        """The program says something; returns the message's slot. ``answers``: the ref of what it answers;
        ``payload``: the same for machines, which the chat page unfolds in its own words; ``held``: not before the next
        turn ends."""
        self.rings.append(topics.outbox(self._context.address.connector))
        said = {"answers": answers, "payload": payload}
        return await outbox.say(self.tx, self._context.address, text, buttons=buttons, now=self.now, held=held, **said)

    async def leave_unsaid(self, answers: str) -> None:
        """What a person did needs no words: where the platform shows that some are on their way, it no longer does."""
        if answers:
            await self.say("", answers=answers)

    async def say_to(self, address: Address, text: str) -> None:
        """The program says something in another conversation."""
        self.rings.append(topics.outbox(address.connector))
        await outbox.say(self.tx, address, text, now=self.now)

    async def send_file(self, file: OutFile, text: str) -> None:
        """A file of the agent's folder goes to people."""
        self.rings.append(topics.outbox(self._context.address.connector))
        await outbox.send_file(self.tx, self._context.address, file, text, now=self.now)

    async def change(self, slot: int, text: str, *, buttons: Sequence[Button] = (), payload: str = "") -> None:
        """A message of ours gets another text."""
        self.rings.append(topics.outbox(self._context.address.connector))
        await outbox.change(self.tx, slot, text, buttons=buttons, payload=payload)

    async def open_slot(self, *, answers: str = "") -> int:
        """The place of a reply that is still to be written. ``answers``: the ref of what it answers."""
        return await outbox.open_slot(self.tx, self._context.address, answers=answers, now=self.now)

    async def void(self, slot: int) -> None:
        """Nothing is said in this slot after all."""
        self.rings.append(topics.outbox(self._context.address.connector))
        await outbox.void(self.tx, slot)

    async def close(self, inbox_ids: Sequence[int]) -> None:
        """These rows of the inbox are answered."""
        if inbox_ids:
            await inbox.close(self.tx, inbox_ids)
            self.rings.append(topics.settled(self._context.agent_id))

    async def finish(self) -> None:
        """Write down what changed besides rows."""
        changed = agents.Remembered()
        if (self.restraint, self.factor, self.answered_by) != self._remembered:
            changed["paused"], changed["cooldown"] = self.restraint.paused, self.restraint.cooldown
            changed["calibration"], changed["calibrated_for"] = self.factor, self._context.window.model_name
        if self._is_weighed:
            meter = self.weigh()
            changed["meter"] = MeterRecord.of(meter, self._context.strategy.level(meter))
        if self.quiet_at != self._context.quiet_at:
            changed["quiet_at"] = self.quiet_at
        if changed:
            await agents.remember(self.tx, self._context.agent_id, **changed)
        self.booked = await self._context.unbooked.write(self.tx, self._context.agent_id)
