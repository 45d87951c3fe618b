"""When something is killed, and what."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tests.chaos.brain import PUNCH, READ, TALK
from tests.chaos.harness import House, eventually
from tests.servers.messages import Record

Moment = Literal["turn", "tool call", "compaction"]
Target = Literal["process", "gateway", "agents", "worker", "valkey", "silence", "wipe"]
MOMENTS: tuple[Moment, ...] = ("turn", "tool call", "compaction")
PATIENCE = 40.0
LONG = TALK * 20
"""A message that takes the context past its levels at once, so that a compaction comes before the answer."""
LONGEST_SILENCE = 12.0
_MOST_MESSAGES = 20


@dataclass
class Storm:
    """Strikes a house at random moments; the same seed strikes alike.

    ``costs``: seconds until all was well again. ``hits``: how often something was under way when the kill came.
    """

    house: House
    chance: random.Random
    costs: list[tuple[Target, Moment, float]] = field(default_factory=list)
    hits: Counter[tuple[Target, Moment]] = field(default_factory=Counter)
    _seen: int = 0

    async def strike(self, target: Target, moment: Moment) -> None:
        """One kill. Now and then the next one comes before this one is got over."""
        await {"turn": self._in_a_turn, "tool call": self._in_a_tool_call, "compaction": self._in_a_compaction}[
            moment
        ]()
        self.hits[target, moment] += bool(self.house.under_way)
        await self._kill(target)
        if self.chance.random() < 0.75:
            self.costs.append((target, moment, await self.house.settled()))

    async def _kill(self, target: Target) -> None:
        if target == "valkey":
            self.house.signal_valkey(signal.SIGKILL)
        elif target == "silence":
            self.house.signal_valkey(signal.SIGSTOP)
            await self._random_moment(LONGEST_SILENCE)
            self.house.signal_valkey(signal.SIGCONT)
        elif target == "wipe":
            await self.house.wipe_redis()
        else:
            program = self.house.programs["all" if target == "process" else target]
            program.kill()
            if self.chance.random() < 0.3:
                self.house.says()
            await self._random_moment(0.3)
            program.start()

    async def _in_a_turn(self) -> None:
        self._look()
        self.house.says()
        if self.chance.random() < 0.3:
            self.house.says()
        if self.chance.random() < 0.7:
            deltas = self.chance.randrange(6)
            await self._until(lambda record: not record.request.is_summary and record.deltas >= deltas)
        await self._random_moment(0.15)

    async def _in_a_tool_call(self) -> None:
        self._look()
        self.house.says(*self.chance.choice([(PUNCH,), (PUNCH, READ)]))
        await self._until(
            lambda record: record.outcome == "completed" and bool(record.reply and record.reply.tool_calls)
        )
        await self._random_moment(0.15)

    async def _in_a_compaction(self) -> None:
        """One that a person asks for, or one that becomes necessary."""
        self._look()
        if self.chance.random() < 0.4:
            await self._say_and_wait()
            await self.house.settled()
            self.house.commands("/compact")
        for _ in range(_MOST_MESSAGES):
            if self._summary_begun():
                break
            await self._say_and_wait()
        else:
            raise AssertionError(f"no compaction in {_MOST_MESSAGES} messages")
        await self._random_moment(0.3)

    async def _say_and_wait(self) -> None:
        number = self.house.says(self.chance.choice(["", "", LONG]))
        await eventually(lambda: self.house.sees(number) or self._summary_begun(), PATIENCE, self.house.describe)

    def _look(self) -> None:
        self._seen = len(self.house.model.requests)

    def _summary_begun(self) -> bool:
        return any(record.request.is_summary for record in self.house.model.requests[self._seen :])

    async def _until(self, condition: Callable[[Record], bool]) -> None:
        requests = self.house.model.requests
        await eventually(lambda: any(map(condition, requests[self._seen :])), PATIENCE, self.house.describe)

    async def _random_moment(self, longest: float) -> None:
        await asyncio.sleep(self.chance.uniform(0, longest))
