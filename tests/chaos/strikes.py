"""When something is killed, and what."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tests.chaos.blows import Blows
from tests.chaos.harness import House
from tests.chaos.plan import Strike, Wish
from tests.chaos.processes import eventually
from tests.servers.messages.server import Record

Moment = Literal["turn", "tool call", "compaction"]
Target = Literal["process", "gateway", "agents", "worker", "valkey", "silence", "wipe"]
MOMENTS: tuple[Moment, ...] = ("turn", "tool call", "compaction")
PATIENCE = 40.0
LONGEST_SILENCE = 12.0
_MOST_MESSAGES = 20
_TOOLS: tuple[Wish, ...] = ("punch", "both")
_LENGTHS: tuple[Wish, ...] = ("", "", "long")


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

    def __post_init__(self) -> None:
        self.blows = Blows(self.house, self.chance)

    async def strike(self, target: Target, moment: Moment) -> None:
        """One kill. Now and then the next one comes before this one is got over."""
        await {"turn": self._in_a_turn, "tool call": self._in_a_tool_call, "compaction": self._in_a_compaction}[
            moment
        ]()
        self.hits[target, moment] += bool(await self.house.under_way())
        if self.chance.random() < 0.3:
            self.house.people.says(0)
        await self.blows.strike(self._blow(target))
        if self.chance.random() < 0.75:
            self.costs.append((target, moment, await self.house.settled()))

    def _blow(self, target: Target) -> Strike:
        match target:
            case "valkey":
                return Strike("kill valkey")
            case "silence":
                return Strike("freeze valkey", seconds=self.chance.uniform(0, LONGEST_SILENCE))
            case "wipe":
                return Strike("wipe")
        program = "all" if target == "process" else target
        return Strike("kill", program, self.chance.uniform(0, 0.3))

    async def _in_a_turn(self) -> None:
        self._look()
        self.house.people.says(0)
        if self.chance.random() < 0.3:
            self.house.people.says(0)
        if self.chance.random() < 0.7:
            deltas = self.chance.randrange(6)
            await self._until(lambda record: not record.request.is_summary and record.deltas >= deltas)
        await self._random_moment(0.15)

    async def _in_a_tool_call(self) -> None:
        self._look()
        self.house.people.says(0, self.chance.choice(_TOOLS))
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
            self.house.people.commands(0, "/compact")
        for _ in range(_MOST_MESSAGES):
            if self._summary_begun():
                break
            await self._say_and_wait()
        else:
            raise AssertionError(f"no compaction in {_MOST_MESSAGES} messages")
        await self._random_moment(0.3)

    async def _say_and_wait(self) -> None:
        said = self.house.people.says(0, self.chance.choice(_LENGTHS))
        answer = f"⟦{said.number}⟧"

        def is_over() -> bool:
            return self._summary_begun() or any(answer in message.text for message in self.house.people.sees(0))

        await eventually(is_over, PATIENCE, self.house.describe)

    def _look(self) -> None:
        self._seen = len(self.house.model.requests)

    def _summary_begun(self) -> bool:
        return any(record.request.is_summary for record in self.house.model.requests[self._seen :])

    async def _until(self, condition: Callable[[Record], bool]) -> None:
        requests = self.house.model.requests
        await eventually(lambda: any(map(condition, requests[self._seen :])), PATIENCE, self.house.describe)

    async def _random_moment(self, longest: float) -> None:
        await asyncio.sleep(self.chance.uniform(0, longest))
