"""Holds the long conversation with the running program, and notes what its context did."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bot.compaction import STRATEGIES, Strategy
from bot.compaction.gate import AHEAD_BELOW_WARNING, COOLDOWN
from bot.estimate import Meter, Part
from bot.messages import Address, Message
from bot.runtime.strategies import configured
from bot.store import runs
from bot.store.runs import Run, RunState
from tests.bench.sawtooth.brain import LookingBrain
from tests.bench.sawtooth.conversation import TURNS, Asks, Line
from tests.house import House, Room, open_house, settings_for
from tests.servers.messages.server import MessagesServer

WINDOW = 8_000
"""Tokens."""
CHAT = "1"
REMEMBERED = 100
"""Turns at the end of which each page is read, to be compared with what an undo gives back: that takes time."""
_NEAR = AHEAD_BELOW_WARNING + 0.01
"""Of the limit: no further than that below its first level, a strategy may be asked after a reply."""
_CONTEXT = re.compile(r"^Context: (?P<total>[\d,]+) of", re.MULTILINE)
_WAITING = "Now: waiting for you"


@dataclass(frozen=True)
class Turn:
    """How it stood when the program waited for the next message: tokens of the meter, the reply."""

    line: Line
    reply: str
    total: int

    @property
    def is_answered(self) -> bool:
        """Whether the model answered, and not the program in its place."""
        return bool(self.reply) and not self.reply.startswith("⚠️")

    @property
    def is_right(self) -> bool:
        """Whether the answer holds what was asked for."""
        return self.is_answered and self.line.expects in self.reply


@dataclass(frozen=True)
class Compaction:
    """One run: in which turn (from 1 on), why, what became of it, and the meter before and after in tokens."""

    turn: int
    trigger: str
    strategy: str
    state: RunState
    before: int
    after: int
    summarised: bool

    @property
    def freed(self) -> int:
        """Tokens."""
        return self.before - self.after


@dataclass(frozen=True)
class Undo:
    """One layer was taken off: how many there were, how many there are, and whether the page is what it was."""

    layers_before: int
    layers_after: int
    same_page: bool


@dataclass(frozen=True)
class Course:
    """What the conversation came to with one strategy. ``refused``: what the model server said to bad requests."""

    strategy: str
    limit: int
    levels: tuple[float, ...]
    turns: tuple[Turn, ...]
    compactions: tuple[Compaction, ...]
    undone: tuple[Undo, ...]
    notices: tuple[str, ...]
    refused: tuple[str, ...]
    requests: int
    summaries: int
    """Requests for summaries, corrections included."""
    largest_request: int
    """Tokens by the server's own count, of those that are no summaries."""
    input_tokens: int
    cached_tokens: int
    """Of the input tokens."""

    def asked(self, *asks: Asks) -> list[Turn]:
        """The turns in which something like this was asked."""
        return [turn for turn in self.turns if turn.line.asks in asks]

    @property
    def done(self) -> list[Compaction]:
        """The compactions that put a layer down."""
        return [one for one in self.compactions if one.state is RunState.DONE]


async def course_of(strategy: str, lines: Sequence[Line], folder: Path, *, undos: int = 0) -> Course:
    """Hold the whole conversation, and take so many layers off at its end.

    ``strategy``: as in `AGENTS__STRATEGY`; ``folder``: where the program lives.
    """
    async with _opened(strategy, folder) as talk:
        for number, line in enumerate(lines):
            await talk.say(line)
            if undos and number >= len(lines) - REMEMBERED:
                await talk.remember()
        compactions, notices = await talk.compactions(), talk.room.notices()
        undone = [await talk.undo() for _ in range(undos)]
        requests = talk.model.requests
        return Course(
            strategy=talk.strategy.name,
            limit=talk.limit,
            levels=levels_of(talk.strategy),
            turns=tuple(talk.turns),
            compactions=compactions,
            undone=tuple(undone),
            notices=tuple(notices),
            refused=tuple(str(one.error) for one in requests if one.outcome in ("refused", "failed")),
            requests=len(requests),
            summaries=sum(one.request.is_summary for one in requests),
            largest_request=max(one.request.tokens for one in requests if not one.request.is_summary),
            input_tokens=talk.model.input_tokens_total,
            cached_tokens=talk.model.cache_read_tokens,
        )


def levels_of(strategy: Strategy) -> tuple[float, ...]:
    """The shares of the limit, in hundredths, from which on the strategy's level is another."""
    levels = [strategy.level(Meter.of([Part("all", share)], limit=100)) for share in range(101)]
    return tuple(share / 100 for share in range(1, 101) if levels[share] is not levels[share - 1])


@asynccontextmanager
async def _opened(name: str, folder: Path) -> AsyncIterator[_Talk]:
    room = Room()
    async with MessagesServer(window=WINDOW, brain=LookingBrain(), pieces=1) as model:
        unlimited = {"person": 0, "chat": 0}  # it asks again and again how it stands
        settings = settings_for(
            model, folder, database_url=None, redis_url=None, agents={"strategy": name}, rate=unlimited
        )
        strategy = configured(STRATEGIES, settings).default
        async with open_house(settings, room) as house:
            yield _Talk(house, room, model, strategy)


@dataclass
class _Talk:
    house: House
    room: Room
    model: MessagesServer
    strategy: Strategy
    turns: list[Turn] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    pages: dict[tuple[int, ...], list[Message]] = field(default_factory=dict)
    """The page as it was last read, by the layers over it."""
    compacted: int = -TURNS
    """The place of the last turn that had a compaction."""

    @property
    def limit(self) -> int:
        """Tokens."""
        return int(self.room.facts[CHAT]["limit"])

    @cached_property
    def _first_level(self) -> float:
        return min(levels_of(self.strategy), default=1.0)

    async def say(self, line: Line) -> None:
        """One turn, until the program waits for the next."""
        room = self.room
        replies, told, facts = len(room.replies()), len(self._told()), room.facts.get(CHAT)
        await room.says(line.text, files=line.files)
        await room.until(lambda: room.facts.get(CHAT) is not facts and len(room.replies()) > replies)
        known = room.facts[CHAT]
        total = int(known["total"])
        if len(self._told()) > told or self._may_compact_ahead(known["share"]):
            total = await self._settled()
        if len(self._told()) > told:
            self.compacted = len(self.turns)
        self.turns.append(Turn(line, room.replies()[replies], total))
        self.ends.append(self.house.resources.database.clock())

    def _told(self) -> list[str]:
        """The messages about compactions."""
        return [notice for notice in self.room.notices() if notice.startswith("🗜")]

    def _may_compact_ahead(self, share: float) -> bool:
        return len(self.turns) - self.compacted > COOLDOWN and share > self._first_level - _NEAR

    async def remember(self) -> None:
        """The page as it is now."""
        history = await self.house.history()
        self.pages[history.stack] = list(history.view())

    async def _settled(self) -> int:
        """Wait for the compaction that may have begun after the reply; the meter then."""
        while _WAITING not in (said := await self.room.commands("/status")):
            await self.room.until(lambda: not any("Compacting" in notice for notice in self._told()))
        found = _CONTEXT.search(said)
        assert found, said
        return int(found["total"].replace(",", ""))

    async def compactions(self) -> tuple[Compaction, ...]:
        """All runs, oldest first."""
        found: list[Run] = []
        async with self.house.resources.database.read() as tx:
            agent_id = Address(self.room.name, CHAT).agent_id
            run = await runs.latest(tx, agent_id)
            while run:
                found.append(run)
                run = await runs.latest(tx, agent_id, before=run.started_at)
        return tuple(self._compaction(run) for run in reversed(found))

    def _compaction(self, run: Run) -> Compaction:
        before = int(run.meter_before.total)
        after = int(run.meter_after.total) if run.meter_after else before
        turn = bisect_left(self.ends, run.started_at) + 1
        by_model = bool(run.plan["summarise"])
        return Compaction(turn, run.trigger, str(run.plan["strategy"]), run.state, before, after, by_model)

    async def undo(self) -> Undo:
        """Take the last layer off."""
        before = await self.house.history()
        await self.room.commands("/undo")
        after = await self.house.history()
        page = self.pages[before.stack[:-1]]
        return Undo(len(before.layers), len(after.layers), list(after.view())[: len(page)] == page)
