"""Holds the conversation with the running program under a simulated clock, and keeps the accounts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

from sqlalchemy import select

from bot.compaction import STRATEGIES
from bot.compaction.gate import AHEAD_BELOW_WARNING, ahead_margin
from bot.history import Entry
from bot.messages import Address, Audience
from bot.runtime.strategies import configured
from bot.store.histories import entry_of
from bot.store.schema import entries
from tests.bench.cost.bill import MODEL, Bill, Ledger, ledgers
from tests.bench.cost.brain import Brain
from tests.bench.cost.pauses import HABITS, SECONDS_A_REQUEST, SECONDS_A_TOKEN, Clock
from tests.bench.sawtooth.conversation import Line
from tests.bench.sawtooth.running import levels_of
from tests.house import House, Room, open_house, settings_for
from tests.servers.messages.cache import Charge, Prompt, PromptCache
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply
from tests.servers.messages.wire import Json, tokens_of_text

CHAT = "1"
LIFE = "1h"
"""What the program asks of Anthropic's own endpoint unless it is told otherwise."""
ZONE = "Europe/Lisbon"
_BEGUN = datetime(2026, 5, 4, 8, tzinfo=UTC)
"""When the first message was sent, by the clock of the first habit, whose pauses the marks of time tell of."""
_NEAR = AHEAD_BELOW_WARNING + 0.02
"""Of the limit: no further than that below its first level, a strategy may be asked after a reply."""
_WAITING = "Now: waiting for you"
_DONE = "🗜 Compacted"


@dataclass(frozen=True)
class Course:
    """What a conversation came to. ``served``: what the server itself reported, with the habit of the first clock."""

    strategy: str
    window: int
    compacts_at: int
    """Tokens: where it compacts ahead."""
    lines: Sequence[Line]
    replies: Sequence[str]
    compactions: int
    refused: Sequence[str]
    served: Bill
    ledgers: Mapping[tuple[str, str, bool], Ledger]
    head: Json
    """The system prompt and the tools of its first request, as sent."""
    turns: Sequence[Sequence[Entry]]
    """What was said in each turn, under all compactions."""

    @property
    def right(self) -> tuple[int, int]:
        """Answers that hold what was asked for, of those that should."""
        asked = [index for index, line in enumerate(self.lines) if line.expects]
        return sum(self.lines[index].expects in self.replies[index] for index in asked), len(asked)


async def course_of(
    strategy: str, lines: Sequence[Line], folder: Path, *, window: int, tells_time: bool = True
) -> Course:
    """Hold the whole conversation. ``window``: tokens; ``folder``: where the program lives; ``tells_time``: with marks
    of when each message was sent."""
    async with _opened(strategy, folder, window, len(lines), tells_time=tells_time) as course:
        for number, line in enumerate(lines):
            await course.say(number, line)
        return await course.end(lines)


@asynccontextmanager
async def _opened(name: str, folder: Path, window: int, turns: int, *, tells_time: bool) -> AsyncIterator[_Talk]:
    clocks = {habit.name: Clock() for habit in HABITS}

    def spent(reply: Reply) -> None:
        for clock in clocks.values():
            clock.now += SECONDS_A_REQUEST + SECONDS_A_TOKEN * tokens_of_text(reply.text)

    room = Room()
    async with MessagesServer(window=window, brain=Brain(spent), pieces=1) as model:
        model.cache = PromptCache(clocks[HABITS[0].name])
        free = {"person": 0, "chat": 0}
        stores = {"database_url": None, "redis_url": None}
        agents = {"strategy": name, "tell_time": tells_time}
        chosen = {"model": MODEL, "agents": agents, "rate": free, "prompt_cache": LIFE, "timezone": ZONE}
        settings = settings_for(model, folder, **stores, **chosen)
        async with open_house(settings, room) as house:
            strategy = configured(STRATEGIES, settings).default
            pauses = {habit.name: habit.pauses(turns) for habit in HABITS}
            yield _Talk(
                house, room, model, min(levels_of(strategy), default=1.0), ahead_margin(strategy), clocks, pauses
            )


@dataclass
class _Talk:
    house: House
    room: Room
    model: MessagesServer
    first_level: float
    margin: float
    """Of the limit: how far below its first level the strategy is asked after a reply."""
    clocks: dict[str, Clock]
    pauses: dict[str, list[float]]
    replies: list[str] = field(default_factory=list)
    served: Bill = field(default_factory=Bill)
    seen: int = 0
    head: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ledgers = ledgers(self.clocks)

    async def say(self, number: int, line: Line) -> None:
        """One turn, until the program waits for the next message."""
        for name, clock in self.clocks.items():
            clock.now += self.pauses[name][number]
        room = self.room
        replies, facts = len(room.replies()), room.facts.get(CHAT)
        sent_at = _BEGUN + timedelta(seconds=self.clocks[HABITS[0].name].now)
        await room.says(line.text, files=line.files, sent_at=sent_at)
        await room.until(lambda: room.facts.get(CHAT) is not facts and len(room.replies()) > replies)
        if room.facts[CHAT]["share"] > self.first_level - _NEAR:
            await self._settled()
        self.replies.append(room.replies()[replies])
        self._book()

    async def _settled(self) -> None:
        """Wait for the compaction that may have begun after the reply."""
        while _WAITING not in await self.room.commands("/status"):
            await self.room.until(lambda: not any("Compacting" in notice for notice in self.room.notices()))

    def _book(self) -> None:
        """Enter what was asked since, and let go of it: a thousand requests of this size are many."""
        for record in self.model.requests[self.seen :]:
            request, usage = record.request, record.usage
            lives = usage.cache_creation or {}
            hourly = int(lives.get("ephemeral_1h_input_tokens", 0))
            written = usage.cache_creation_input_tokens - hourly
            self.served.add(
                Charge(usage.input_tokens, written, hourly, usage.cache_read_input_tokens), usage.output_tokens
            )
            self.head = self.head or {"system": request.body["system"], "tools": request.body["tools"]}
            prompt = Prompt.of(request.body)
            for ledger in self.ledgers.values():
                ledger.enter(prompt, usage.output_tokens, summary=request.is_summary)
            record.request = MessagesRequest({}, request.index, request.tokens)
        self.seen = len(self.model.requests)

    async def end(self, lines: Sequence[Line]) -> Course:
        """All of it."""
        return Course(
            self.house.resources.settings.agents.strategy,
            self.model.window,
            int((self.first_level - self.margin) * self.room.facts[CHAT]["limit"]),
            lines,
            tuple(self.replies),
            sum(notice.startswith(_DONE) for notice in self.room.notices()),
            tuple(str(one.error) for one in self.model.requests if one.outcome in ("refused", "failed")),
            self.served,
            self.ledgers,
            self.head,
            await self._turns(),
        )

    async def _turns(self) -> tuple[tuple[Entry, ...], ...]:
        """What is in the book under all layers, by turn."""
        chosen = select(entries).where(entries.c.agent_id == Address(self.room.name, CHAT).agent_id)
        async with self.house.resources.database.read() as tx:
            rows = await tx.execute(chosen.where(entries.c.layer.is_(None)).order_by(entries.c.seq))
            found = [entry_of(row) for row in rows.mappings()]
        seen = [entry for entry in found if entry.turn and entry.audience != Audience.PEOPLE]
        return tuple(tuple(group) for _, group in groupby(seen, key=lambda entry: entry.turn))
