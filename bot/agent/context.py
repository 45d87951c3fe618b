"""An agent's context: its history in memory, how full it is, and the one way to write it.

Every write is a fenced step: one transaction, after which the memory is brought up to date and the bells ring. Steps
of one agent come one after the other, whoever makes them (its turn, its compaction, its commands).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from bot.agent.money.unbooked import Unbooked
from bot.agent.step import Step
from bot.agent.window import Window
from bot.bus.bus import Bus
from bot.compaction import Strategy
from bot.compaction.gate import Restraint, is_automatic
from bot.compaction.standing_rules import Rule, out_of_view, section
from bot.errors import StoreUnavailable
from bot.estimate import Level, Meter, Part
from bot.history import Entry, History
from bot.history.entries import entry_tokens
from bot.history.measure import Counted, guess, measure, standing_part, trusted
from bot.history.times import Said
from bot.messages import Block, Role
from bot.model import Head, Link
from bot.runtime.strategies import Strategies
from bot.runtime.zones import local_time
from bot.store import Database, Tx, agents, histories, standing_rules, zones
from bot.store.agents import AgentRow

_MOST_CORRECTION = 3.0
_MOST_CHANGE = 2.0
"""What a provider that refuses a request may have counted: over our guess, and over what it counted before."""


class Context:
    """The context of one agent, on the host that has it. ``warning``: from which share on all agents compact by
    themselves, unless their strategy says otherwise; ``zone``: what conversations go by that chose none."""

    def __init__(
        self,
        row: AgentRow,
        window: Window,
        database: Database,
        bus: Bus,
        strategies: Strategies,
        *,
        warning: float,
        zone: str,
    ) -> None:
        self.agent_id = row.id
        self.address = row.address
        self.epoch = row.epoch
        self.window = window
        self.restraint = Restraint(row.paused, row.cooldown)
        self.factor = row.calibration if row.calibrated_for == window.model_name else 1.0
        """What the provider counts for each token that we guess."""
        self._factors = {row.calibrated_for: row.calibration}
        """The same of each model that was asked, by its name."""
        self.answered_by = row.calibrated_for
        """The name of the model that answered last; empty where none has."""
        self.history = History()
        self.next_seq = 1
        self.rules: tuple[Rule, ...] = ()
        """The standing rules in the book, whatever became of them."""
        self.unbooked = Unbooked()
        """What its requests cost, until a step has written that."""
        self.chosen_zone = row.zone
        """The IANA name of the time zone that was chosen for this conversation; empty where none was."""
        self._usual_zone = zone
        self.asked_at = 0.0
        """When the last request of a turn began, by the book's clock; 0: none has on this host."""
        self.quiet_at = row.quiet_at
        """When its prompt cache is about to expire and a compaction may be worth it, as the book has it."""
        self._database = database
        self._bus = bus
        self._strategies = strategies
        self._chosen = row.strategy
        self._warning = warning
        self._counted: Counted | None = None
        self._stepping = asyncio.Lock()
        self._is_in_doubt = False
        """Whether the book may have more than we know of."""

    async def load(self) -> None:
        """Read the history, and learn how large the window is and which tools there are."""
        await self.reload()
        await self.window.learn()
        await self.choose_tools()

    def said(self, at: float, chosen_zone: str) -> Said | None:
        """When something was said, as it is kept with it; None where models are not told, or no clock shows that."""
        if not self.window.tells_time:
            return None
        zone = chosen_zone or self._usual_zone
        with suppress(ValueError, OverflowError, OSError):
            return Said.of(local_time(at, zone), zone)
        return None

    def clock(self) -> float:
        """The book's time: seconds since 1970."""
        return self._database.clock()

    @property
    def zone(self) -> str:
        """The IANA name of the time zone that this conversation goes by."""
        return self.chosen_zone or self._usual_zone

    async def choose_tools(self) -> None:
        """Take over which tools there are, and by which zone the conversation goes, before a turn asks anything."""
        self.window.zone = self.zone
        await self.window.choose_tools([call["name"] for call in self.history.open_calls()])

    async def reload(self) -> None:
        """Read the history again."""
        async with self._stepping:  # or a step would put back what it began with
            await self._reload()

    async def _reload(self) -> None:
        async with self._database.read() as tx:
            self.history = await self.history_in(tx)
            self.next_seq = await histories.last_seq(tx, self.agent_id) + 1
            self.rules = await standing_rules.load(tx, self.agent_id)
            self.chosen_zone = await zones.of_chat(tx, self.address)
        self._is_in_doubt = False

    async def history_in(self, tx: Tx) -> History:
        """What the book has, as the model counts it that is asked now."""
        window = self.window
        found = await histories.load(tx, self.agent_id, window.kept_family)
        return found.measured_for(window.model_name, window.family)

    async def change_to(self, link: Link) -> None:
        """Another model is asked from now on: the context is measured anew, by its rates, its window, and what was
        learned of it before."""
        window = self.window
        if link is window.link:
            return
        async with self._stepping:
            self._factors[window.model_name] = self.factor
            await window.change_to(link)
            self.factor = self._factors.get(link.name, 1.0)
            self.history = self.history.measured_for(link.name, window.family)
            self._counted = None

    @asynccontextmanager
    async def step(self) -> AsyncIterator[Step]:
        """One fenced transaction. Raises StaleEpoch when another host has the agent, StoreUnavailable.

        A commit whose answer got lost may have been carried out: the next step then reads the history first.
        """
        async with self._stepping:
            if self._is_in_doubt:
                await self._reload()
            try:
                async with self._database.fenced(self.agent_id, self.epoch) as tx:
                    step = Step(self, tx, now=self._database.clock())
                    yield step
                    await step.finish()
            except StoreUnavailable:
                self._is_in_doubt = True
                raise
            self.history, self.next_seq, self.rules = step.history, step.next_seq, step.rules
            self.restraint, self.factor = step.restraint, step.factor
            self.answered_by, self.chosen_zone = step.answered_by, step.zone
            self.unbooked.forget(step.booked)
            self.quiet_at = step.quiet_at
        self._bus.ring(*step.rings)
        for tell in step.afterwards:
            tell()

    @property
    def meter(self) -> Meter:
        """How full the context is, were it sent as it stands. Everybody shows this one."""
        return self.measured(self.history)

    def measured(self, history: History, rules: Sequence[Rule] | None = None) -> Meter:
        """How full it would be with this history (and these rules, if they are others)."""
        head = self._head_parts(history, self.rules if rules is None else rules)
        return measure(history, head, limit=self.window.limit, factor=self.factor, counted=self._counted)

    @property
    def head(self) -> Head:
        """What stands before the messages of the next request: the window's, and the pinned rules that the messages do
        not say."""
        return replace(self.window.head, standing=section(out_of_view(self.rules, self.history)))

    def _head_parts(self, history: History, rules: Sequence[Rule]) -> Sequence[Part]:
        standing = standing_part(section(out_of_view(rules, history)), self.window.family)
        return (*self.window.parts, standing) if standing.tokens else self.window.parts

    @property
    def level(self) -> Level:
        """What the strategy makes of the meter."""
        return self.strategy.level(self.meter)

    @property
    def guessed(self) -> int:
        """The size of the next request as guessed, uncorrected: what the provider's count is compared with."""
        return guess(self._head_parts(self.history, self.rules), self.history)

    @property
    def head_tokens(self) -> int:
        """What no compaction can take away: system prompt, tools and pinned rules, as the provider would count them."""
        return round(sum(part.tokens for part in self._head_parts(self.history, self.rules)) * self.factor)

    def entry_tokens(self, role: Role, blocks: Sequence[Block]) -> int:
        """What an entry takes, as guessed."""
        return entry_tokens(role, blocks, self.window.family)

    def kept_tokens(self, entry: Entry) -> int:
        """The same as the book has it, which knows nothing of who stands in."""
        window = self.window
        is_same = window.family is window.kept_family
        return entry.tokens if is_same else entry_tokens(entry.role, entry.blocks, window.kept_family)

    @property
    def is_counted(self) -> bool:
        """Whether the provider has counted the next request, as it stands, before it is sent."""
        counted, history = self._counted, self.history
        return counted is not None and (counted.stack, counted.seq) == (history.stack, history.last_seq)

    def take_count(self, tokens: int, history: History) -> None:
        """The provider has counted so many tokens in a request with this history."""
        if self.guessed:
            self.factor = trusted(tokens / self.guessed)
        self._counted = Counted(tokens, history.stack, history.last_seq)

    def correct(self, asked: int) -> None:
        """The provider says that it counted so many tokens in what we just asked.

        A number that is far from our guess, or from what it counted before, is not believed.
        """
        counted_before = self.factor != 1.0
        most = _MOST_CHANGE * self.factor if counted_before else _MOST_CORRECTION
        if self.guessed and asked / self.guessed <= most:
            self.factor = max(self.factor, asked / self.guessed)

    @property
    def strategy(self) -> Strategy:
        """How this agent compacts: as it chose, else as all do."""
        return self._strategies.get(self._chosen) or self._strategies.default

    @property
    def automatic(self) -> bool:
        """Whether it compacts by itself: as the warning level of its strategy says, else that of all."""
        own: object = getattr(self.strategy.options, "warning", None)
        return is_automatic(own if isinstance(own, int | float) else self._warning)

    async def choose_model(self, name: str, link: Link) -> None:
        """From the next answer on this one is asked, and the context is measured for it; empty: as all. People know of
        it: they are told of no change when it answers."""
        await self.change_to(link)
        async with self.step() as step:
            await agents.choose_model(step.tx, self.agent_id, name)
            step.answered_by = link.name
            step.weigh()

    async def choose_strategy(self, name: str) -> None:
        """From the next compaction on; empty: as all do. The level in the book is that strategy's from now on."""
        before = self._chosen
        try:
            async with self.step() as step:
                await agents.choose_strategy(step.tx, self.agent_id, name)
                self._chosen = name
                step.weigh()
        except BaseException:
            self._chosen = before
            raise
