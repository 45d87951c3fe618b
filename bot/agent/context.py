"""An agent's context: its history in memory, how full it is, and the one way to write it.

Every write is a fenced step: one transaction, after which the memory is brought up to date and the bells ring. Steps
of one agent come one after the other, whoever makes them (its turn, its compaction, its commands).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from bot.agent.services import Services
from bot.agent.step import Step
from bot.agent.tools.choosing import provider_tools, tools_of
from bot.agent.tools.toolbox import Toolbox
from bot.bus.events import Marked, Measured, MeterFacts
from bot.bus.live_events import Presence
from bot.compaction import Strategy
from bot.compaction.gate import Restraint, is_automatic
from bot.compaction.oversize import UNBOUND, Bound
from bot.errors import StoreUnavailable
from bot.estimate import Family, Level, Meter, Part, family_of
from bot.estimate.meter import share_kept
from bot.files.blocks import filled, has_media
from bot.history import History
from bot.history.measure import NEW, Counted, entry_tokens, guess, head_parts, measure, trusted
from bot.history.server_tools import continued
from bot.messages import Block, Message, Role
from bot.model import Head, Limits, Reply, Wait
from bot.store import agents, histories
from bot.store.agents import AgentRow

ANSWER_TOKENS = 8_192
"""Room for an answer, at most; a quarter of the window, if that is less."""
MARGIN = 0.03
"""Of the window: what guesses may be wrong by."""

_MOST_CORRECTION = 3.0
_MOST_CHANGE = 2.0
"""What a provider that refuses a request may have counted: over our guess, and over what it counted before."""


class Context:
    """The context of one agent, on the host that has it."""

    def __init__(self, services: Services, row: AgentRow) -> None:
        self.services = services
        self.agent_id = row.id
        self.address = row.address
        self.epoch = row.epoch
        self.restraint = Restraint(row.paused, row.cooldown)
        self.factor = row.calibration if row.calibrated_for == services.model_name else 1.0
        self._counted: Counted | None = None
        self._chosen = row.strategy
        self.history = History()
        self.next_seq = 1
        self.folder = services.folder(row.id)
        self.toolbox = Toolbox(self.folder, services.parser, tools_of(services, row.id))
        self.head = Head(services.model_name, ANSWER_TOKENS, _system_prompt(services))
        self.limit = 1
        self.limit_is_known = True
        self.bound = UNBOUND
        self._parts: tuple[Part, Part] = (Part("system prompt", 0), Part("tools", 0))
        self.family: Family = family_of(services.model_name)
        self._stepping = asyncio.Lock()
        self._is_in_doubt = False
        """Whether the book may have more than we know of."""
        self.presence = Presence(services.bus, row.address)

    async def load(self) -> None:
        """Read the history, and ask the model for its limits."""
        await self.reload()
        await self.learn_limits()
        await self.choose_tools()

    async def reload(self) -> None:
        """Read the history again."""
        async with self._stepping:  # or a step would put back what it began with
            await self._reload()

    async def _reload(self) -> None:
        async with self.services.database.read() as tx:
            self.history = await histories.load(tx, self.agent_id, self.family)
            self.next_seq = await histories.last_seq(tx, self.agent_id) + 1
        self._is_in_doubt = False

    async def choose_tools(self) -> None:
        """Take over which tools there are. Within a turn they stay, and so does the head of its requests."""
        await self.services.mcp.look(waited_for=[call["name"] for call in self.history.open_calls()])
        tools = tools_of(self.services, self.agent_id, self.limit)
        self.toolbox = Toolbox(self.folder, self.services.parser, tools)
        await self.learn_limits()

    async def learn_limits(self) -> None:
        """Take over what is known now of the model's window."""
        limits = await self.services.model.limits(self.services.model_name)
        answer = min(ANSWER_TOKENS, limits.answer, max(1, limits.window // 4))
        tools = (*self.toolbox.definitions, *provider_tools(self.services.settings))
        self.head = Head(self.services.model_name, answer, _system_prompt(self.services), tools)
        # Only Anthropic itself adds a prompt of its own to requests with tools; elsewhere a model's name says nothing.
        counted_as = self.head.model if self.services.settings.anthropic_base_url is None else None
        self._parts = head_parts(self.head.system, self.head.tools, counted_as)
        chosen, most = self.services.settings.agents.emergency_context_limit, _usable(limits, answer)
        # What is listed may be too little, and is overruled by who runs the program; a refusal is not.
        self.limit = min(chosen, most) if chosen and limits.refusal else chosen or most
        self.limit_is_known = limits.known or chosen is not None
        self.bound = Bound(
            limits.window, most, chosen, known=limits.known, refused=bool(limits.refusal), listed=limits.listed
        )

    @property
    def meter(self) -> Meter:
        """How full the context is, were it sent as it stands. Everybody shows this one."""
        return self.measured(self.history)

    def measured(self, history: History) -> Meter:
        """How full it would be with this history."""
        return measure(history, self._parts, limit=self.limit, factor=self.factor, counted=self._counted)

    @property
    def level(self) -> Level:
        """What the strategy makes of the meter."""
        return self.strategy.level(self.meter)

    @property
    def strategy(self) -> Strategy:
        """How this agent compacts: as it chose, else as all do."""
        return self.services.strategies.get(self._chosen) or self.services.strategies.default

    @property
    def automatic(self) -> bool:
        """Whether it compacts by itself: as the warning level of its strategy says, else that of all."""
        own: object = getattr(self.strategy.options, "warning", None)
        warning = own if isinstance(own, int | float) else self.services.settings.agents.warning
        return is_automatic(warning)

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

    async def count(self) -> None:
        """Ask the provider how large the next request is, where that decides something and our guess is only a guess.

        Without an answer the guess stands.
        """
        meter, history = self.meter, self.history
        if not _wants_counting(meter, self.strategy) or self._is_counted(history):
            return
        tokens = await self.services.model.count(self.head, await self._page())
        if tokens is None or tokens <= 0:
            return
        if self.guessed:
            self.factor = trusted(tokens / self.guessed)
        self._counted = Counted(tokens, history.stack, history.last_seq)

    def _is_counted(self, history: History) -> bool:
        counted = self._counted
        return counted is not None and (counted.stack, counted.seq) == (history.stack, history.last_seq)

    @property
    def guessed(self) -> int:
        """The size of the next request as guessed, uncorrected: what the provider's count is compared with."""
        return guess(self._parts, self.history)

    @property
    def head_tokens(self) -> int:
        """What no compaction can take away: system prompt and tools, as the provider would count them."""
        return round(sum(part.tokens for part in self._parts) * self.factor)

    def correct(self, asked: int) -> None:
        """The provider says that it counted so many tokens in what we just asked.

        A number that is far from our guess, or from what it counted before, is not believed.
        """
        counted_before = self.factor != 1.0
        most = _MOST_CHANGE * self.factor if counted_before else _MOST_CORRECTION
        if self.guessed and asked / self.guessed <= most:
            self.factor = max(self.factor, asked / self.guessed)

    @asynccontextmanager
    async def step(self) -> AsyncIterator[Step]:
        """One fenced transaction. Raises StaleEpoch when another host has the agent, StoreUnavailable.

        A commit whose answer got lost may have been carried out: the next step then reads the history first.
        """
        async with self._stepping:
            if self._is_in_doubt:
                await self._reload()
            try:
                async with self.services.database.fenced(self.agent_id, self.epoch) as tx:
                    step = Step(self, tx)
                    yield step
                    await step.finish()
            except StoreUnavailable:
                self._is_in_doubt = True
                raise
            self.history, self.next_seq = step.history, step.next_seq
            self.restraint, self.factor = step.restraint, step.factor
        self.services.bus.ring(*step.rings)
        for tell in step.afterwards:
            tell()

    def show_meter(self) -> None:
        """Tell connectors that show it apart from the talk, such as the terminal's bottom line."""
        meter = self.meter
        facts = MeterFacts(
            total=meter.total,
            limit=meter.limit,
            share=share_kept(meter),
            source=meter.source,
            level=self.level.value,
            model=self.head.model,
            strategy=self.strategy.name,
        )
        self.services.bus.live(Measured(self.address, facts))

    def react(self, ref: str, emoji: str) -> None:
        """Put a mark on a person's message, or take it away (no emoji)."""
        self.services.bus.live(Marked(self.address, ref, emoji))

    async def ask(
        self, on_text: Callable[[str], None], *, may_call: bool = True, on_wait: Callable[[Wait], None] | None = None
    ) -> Reply:
        """One request to the model, with the page as it is now. Raises a ModelError."""
        page, model = await self._page(), self.services.model
        return await model.ask(self.head, page, on_text, may_call=may_call, who=self.agent_id, on_wait=on_wait)

    async def _page(self) -> Sequence[Message]:
        """What is sent, with the bytes of its files."""
        page = continued(self.history.view())
        return await asyncio.to_thread(filled, self.folder, page) if has_media(page) else page

    def entry_tokens(self, role: Role, blocks: Sequence[Block]) -> int:
        """What an entry takes, as guessed."""
        return entry_tokens(role, blocks, self.family)


_NEAR = 0.05
"""Of the limit: a guess that is so near to another level may be wrong about it."""
_NEW = 0.1
"""Of the context: so much may be guessed beside what the provider reported."""


def _wants_counting(meter: Meter, strategy: Strategy) -> bool:
    new = sum(part.tokens for part in meter.parts if part.name == NEW)
    if meter.source == "usage" and new <= _NEW * meter.total:
        return False
    lower, higher = strategy.level(meter.raised(-_NEAR)), strategy.level(meter.raised(_NEAR))
    return lower is not higher or meter.raised(-_NEAR).over != meter.raised(_NEAR).over


def _usable(limits: Limits, answer: int) -> int:
    return max(1, limits.window - answer - max(32, int(limits.window * MARGIN)))


SYSTEM_PROMPT = (
    "You are a helpful assistant in a chat. Answer in the person's language, briefly unless more is asked for. "
    "Older parts of this conversation may be replaced by a summary; trust it, and say so when you do not know."
)


def _system_prompt(services: Services) -> str:
    return services.settings.system_prompt or SYSTEM_PROMPT
