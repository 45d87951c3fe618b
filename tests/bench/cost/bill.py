"""What requests cost: the prompt cache's account of each, and the provider's prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bot.model.cache_marks import Life
from tests.bench.cost.pauses import Clock
from tests.servers.messages.cache import Charge, Prompt, PromptCache

MODEL = "claude-sonnet-5"
INPUT, OUTPUT = 2.0, 10.0
"""Dollars for a million tokens of :data:`MODEL`: https://platform.claude.com/docs/en/about-claude/pricing (2026)."""
READ, WRITE_5M, WRITE_1H = 0.1, 1.25, 2.0
"""Of the price of input."""


@dataclass
class Bill:
    """Sums over requests."""

    charge: Charge = field(default_factory=Charge)
    output: int = 0
    requests: int = 0

    def add(self, charge: Charge, output: int) -> None:
        """One more request, with so many tokens of answer."""
        self.charge += charge
        self.output += output
        self.requests += 1

    @property
    def dollars(self) -> float:
        """By list prices."""
        one = self.charge
        told = one.plain + READ * one.read + WRITE_5M * one.written_5m + WRITE_1H * one.written_1h
        return (told * INPUT + self.output * OUTPUT) / 1_000_000

    @property
    def share(self) -> float:
        """Of the input tokens, what was read from the cache."""
        return self.charge.read / self.charge.total if self.charge.total else 0.0


@dataclass
class Ledger:
    """One way to mark and to keep, under one clock: its own cache, and what all requests came to.

    ``life``: of the marks; ``last_alone``: only the last mark counts, as where a caller sets nothing but that.
    """

    clock: Clock
    life: Life = "5m"
    last_alone: bool = False
    all: Bill = field(default_factory=Bill)
    summaries: Bill = field(default_factory=Bill)

    def __post_init__(self) -> None:
        self._cache = PromptCache(self.clock)

    def enter(self, prompt: Prompt, output: int, *, summary: bool = False) -> None:
        """One request as it was sent, with so many tokens of answer."""
        marked = [max(prompt.marks)] if self.last_alone and prompt.marks else list(prompt.marks)
        charge = self._cache.charge(replace(prompt, marks=dict.fromkeys(marked, self.life)))
        self.all.add(charge, output)
        if summary:
            self.summaries.add(charge, output)


LIVES: tuple[Life, ...] = ("5m", "1h")


def ledgers(clocks: Mapping[str, Clock], *, alone: bool = True) -> dict[tuple[str, Life, bool], Ledger]:
    """For each habit: kept for five minutes and for an hour, with all marks and (``alone``) with the last alone."""
    return {
        (habit, life, last): Ledger(clock, life, last)
        for habit, clock in clocks.items()
        for life in LIVES
        for last in ((False, True) if alone else (False,))
    }
