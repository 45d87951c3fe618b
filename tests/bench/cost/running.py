"""Holds the conversation with the running program under a simulated clock, and keeps the accounts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

from sqlalchemy import func, select

from bot.compaction import STRATEGIES
from bot.compaction.gate import AHEAD_BELOW_WARNING, ahead_margin
from bot.compaction.quiet import LEAD_SECONDS
from bot.history import Entry
from bot.messages import Address, Audience
from bot.model.cache_marks import Life
from bot.runtime.strategies import configured
from bot.store import work
from bot.store.histories import entry_of
from bot.store.schema import agents, compactions, entries
from tests.bench.cost.bill import MODEL, Bill, Ledger, ledgers
from tests.bench.cost.brain import Brain
from tests.bench.cost.pauses import A_NIGHT, HABITS, SECONDS_A_REQUEST, SECONDS_A_TOKEN, SEED, Clock, Habit
from tests.bench.sawtooth.conversation import Line
from tests.bench.sawtooth.running import levels_of
from tests.house import House, Room, open_house, settings_for
from tests.servers.messages.cache import Charge, Prompt, PromptCache
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply
from tests.servers.messages.wire import MARK, Json, blocks_of, tokens_of_text

CHAT = "1"
LIFE: Life = "1h"
"""What the program asks of Anthropic's own endpoint unless it is told otherwise."""
ZONE = "Europe/Lisbon"
_BEGUN = datetime(2026, 5, 4, 8, tzinfo=UTC)
"""When the first message was sent, by the clock of the first habit, whose pauses the marks of time tell of."""
_NEAR = AHEAD_BELOW_WARNING + 0.02
"""Of the limit: no further than that below its first level, a strategy may be asked after a reply."""
_WAITING = "Now: waiting for you"
_SLOWLY = 0.001
"""Of the real time passes while the simulated clock stands: whoever works is to be seen to."""


@dataclass(frozen=True)
class Quiet:
    """The program is to act before the cache expires: then its requests depend on who pauses how long, and on the
    cache's life, and each has a conversation of its own."""

    habit: Habit
    life: Life


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
    quiet: int
    """Of these, before the cache expired."""
    for_nothing: int
    """Of these, where somebody came back before it would have, or nobody did."""
    refused: Sequence[str]
    served: Bill
    ledgers: Mapping[tuple[str, Life, bool], Ledger]
    bare: Mapping[tuple[str, Life, bool], Ledger]
    """Of the same requests, with nothing but the marks of time taken out."""
    head: Json
    """The system prompt and the tools of its first request, as sent."""
    turns: Sequence[Sequence[Entry]]
    """What was said in each turn, under all compactions."""

    @property
    def right(self) -> tuple[int, int]:
        """Answers that hold what was asked for, of those that should."""
        asked = [index for index, line in enumerate(self.lines) if line.expects]
        return sum(self.lines[index].expects in self.replies[index] for index in asked), len(asked)


def named(habit: Habit, seed: int) -> str:
    """What the accounts of a habit with the pauses of this seed are called."""
    return habit.name if seed == SEED else f"{habit.name} {seed}"


async def course_of(
    strategy: str,
    lines: Sequence[Line],
    folder: Path,
    *,
    window: int,
    tells_time: bool = True,
    quiet: Quiet | None = None,
    seeds: Sequence[int] = (SEED,),
) -> Course:
    """Hold the whole conversation. ``window``: tokens; ``folder``: where the program lives; ``tells_time``: with marks
    of when each message was sent; ``quiet``: acting before the cache expires; ``seeds``: of the pauses, with accounts
    of each. What the program itself knows of pauses are those of the first seed."""
    async with _opened(strategy, folder, window, len(lines), quiet, seeds=seeds, tells_time=tells_time) as course:
        for number, line in enumerate(lines):
            await course.say(number, line)
        return await course.end(lines)


@asynccontextmanager
async def _opened(
    name: str, folder: Path, window: int, turns: int, quiet: Quiet | None, *, seeds: Sequence[int], tells_time: bool
) -> AsyncIterator[_Talk]:
    habits = (quiet.habit,) if quiet else HABITS
    pauses = {named(habit, seed): habit.pauses(turns, seed) for seed in seeds for habit in habits}
    clocks = {one: Clock() for one in pauses}
    clock = next(iter(clocks.values()))

    def spent(reply: Reply) -> None:
        for clock in clocks.values():
            clock.now += SECONDS_A_REQUEST + SECONDS_A_TOKEN * tokens_of_text(reply.text)

    room = Room()
    async with MessagesServer(window=window, brain=Brain(spent), pieces=1) as model:
        model.cache = PromptCache(clock)
        free = {"person": 0, "chat": 0}
        stores = {"database_url": None, "redis_url": None}
        how = {"strategy": name, "tell_time": tells_time, "compact_quiet": quiet is not None}
        life = quiet.life if quiet else LIFE
        chosen = {"model": MODEL, "agents": how, "rate": free, "prompt_cache": life, "timezone": ZONE}
        settings = settings_for(model, folder, **stores, **chosen)
        async with open_house(settings, room) as house:
            began = time.monotonic()
            house.resources.database.clock = lambda: (
                _BEGUN.timestamp() + clock.now + _SLOWLY * (time.monotonic() - began)
            )
            strategy = configured(STRATEGIES, settings).default
            level = min(levels_of(strategy), default=1.0)
            yield _Talk(house, room, model, level, ahead_margin(strategy), clocks, pauses, quiet)


def _without_marks(body: Json) -> Json:
    """A request in which nobody is told when anything was said."""
    messages = [
        {**message, "content": [block for block in blocks_of(message["content"]) if not _is_mark(block)]}
        for message in body["messages"]
    ]
    return {**body, "messages": messages}


def _is_mark(block: Json) -> bool:
    return block["type"] == "text" and MARK.fullmatch(block["text"]) is not None


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
    quiet: Quiet | None
    replies: list[str] = field(default_factory=list)
    served: Bill = field(default_factory=Bill)
    seen: int = 0
    head: Json = field(default_factory=dict)
    for_nothing: int = 0

    def __post_init__(self) -> None:
        quiet, known = self.quiet, ledgers(self.clocks, alone=len(self.clocks) <= len(HABITS))
        if quiet:
            known = {key: ledger for key, ledger in known.items() if key[1:] == (quiet.life, False)}
        self.ledgers = known
        has_marks = self.house.resources.settings.agents.tell_time and not quiet
        self.bare = ledgers(self.clocks, alone=False) if has_marks else {}

    async def say(self, number: int, line: Line) -> None:
        """One turn, until the program waits for the next message."""
        if self.quiet:
            await self._pause(next(iter(self.pauses.values()))[number])
        else:
            for name, clock in self.clocks.items():
                clock.now += self.pauses[name][number]
        room = self.room
        replies, facts = len(room.replies()), room.facts.get(CHAT)
        sent_at = _BEGUN + timedelta(seconds=next(iter(self.clocks.values())).now)
        await room.says(line.text, files=line.files, sent_at=sent_at)
        await room.until(lambda: room.facts.get(CHAT) is not facts and len(room.replies()) > replies)
        if room.facts[CHAT]["share"] > self.first_level - _NEAR:
            await self._settled()
        self.replies.append(room.replies()[replies])
        self._book()

    async def _pause(self, seconds: float, *, for_ever: bool = False) -> None:
        """Nobody says anything for so long; if the program wants to look before that is over, let it."""
        clock, database = next(iter(self.clocks.values())), self.house.resources.database
        end = clock.now + seconds
        at = await self._quiet_at()
        left = None if at is None else at - database.clock()
        if at is not None and left is not None and 0 < left < end - clock.now:
            before = await self._compactions(quiet=True)
            clock.now += left + 0.1
            began, expires = clock.now, clock.now + LEAD_SECONDS
            self.house.resources.bus._bells.strike_all()  # all look again, as after a connection that was lost
            await self._at_rest()
            ended, clock.now = clock.now, began
            self._book()  # charged by when it was asked
            clock.now = ended
            if for_ever or end < expires:
                self.for_nothing += await self._compactions(quiet=True) - before
        clock.now = max(clock.now, end)

    async def _quiet_at(self) -> float | None:
        chosen = select(agents.c.quiet_at).where(agents.c.id == Address(self.room.name, CHAT).agent_id)
        async with self.house.resources.database.read() as tx:
            return (await tx.execute(chosen)).scalar_one_or_none()

    async def _at_rest(self) -> None:
        """Until nothing is left to do."""
        database = self.house.resources.database
        while True:
            async with database.read() as tx:
                if not await work.has_work(tx, Address(self.room.name, CHAT).agent_id, now=database.clock()):
                    return
            await asyncio.sleep(0.01)

    async def _compactions(self, *, quiet: bool = False) -> int:
        done = select(func.count()).select_from(compactions).where(compactions.c.state == "done")
        chosen = done.where(compactions.c.occasion == "quiet") if quiet else done
        async with self.house.resources.database.read() as tx:
            return int((await tx.execute(chosen)).scalar_one())

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
            if self.bare:
                prompt = Prompt.of(_without_marks(request.body))
            for ledger in self.bare.values():
                ledger.enter(prompt, usage.output_tokens, summary=request.is_summary)
            record.request = MessagesRequest({}, request.index, request.tokens)
        self.seen = len(self.model.requests)

    async def end(self, lines: Sequence[Line]) -> Course:
        """All of it."""
        if self.quiet:
            await self._pause(A_NIGHT, for_ever=True)
        return Course(
            self.house.resources.settings.agents.strategy,
            self.model.window,
            int((self.first_level - self.margin) * self.room.facts[CHAT]["limit"]),
            lines,
            tuple(self.replies),
            await self._compactions(),
            await self._compactions(quiet=True),
            self.for_nothing,
            tuple(str(one.error) for one in self.model.requests if one.outcome in ("refused", "failed")),
            self.served,
            self.ledgers,
            self.bare,
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
