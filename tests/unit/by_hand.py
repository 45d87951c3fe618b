"""Messages to compact by hand, and strategies that do the simplest thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.compaction import CompactionResult, Plan, PlanContext
from bot.compaction.plan import SUMMARY, Inserted, everything_but
from bot.estimate import Level, Meter, estimate_tokens
from bot.history import Entry, EntryKind
from bot.messages import Block
from tests.unit.entries import call, result


@dataclass(frozen=True)
class OldestOptions:
    count: int = 2
    wants_summary: bool = False


@dataclass(frozen=True)
class Oldest:
    """Takes the oldest messages away, so many at a time, and leaves the last one. Remembers what it was told."""

    options: OldestOptions = OldestOptions()
    name: str = "oldest"
    told: tuple[Any, ...] = ()

    def level(self, meter: Meter) -> Level:
        return Level.OK

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        gone, kept = view[: self.options.count], view[self.options.count :]
        if not gone or not kept:
            return None
        place = kept[0].seq
        inserted = (Inserted(place, EntryKind.SUMMARY, SUMMARY),) if self.options.wants_summary else ()
        upto = max(entry.seq for entry in view)
        return Plan(
            self.name, upto, place, everything_but(kept, upto), inserted=inserted,
            summarise=tuple(entry.seq for entry in gone) if self.options.wants_summary else (),
            must_keep=("4711",) if self.options.wants_summary else (),
        )  # fmt: skip


@dataclass(frozen=True)
class Asking(Oldest):
    """Takes nothing away, and shows what it was told."""

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        raise Told(view, meter, context)


class Told(Exception):
    def __init__(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> None:
        super().__init__("told")
        self.view, self.meter, self.context = view, meter, context


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(*content: str | Block) -> dict[str, Any]:
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    return {"role": "assistant", "content": blocks}


def results(*ids: str) -> dict[str, Any]:
    return {"role": "user", "content": [result(each) for each in ids]}


def talk(exchanges: int) -> list[dict[str, Any]]:
    """Questions, each with thoughts, two calls at once and an answer: five messages an exchange."""
    messages: list[dict[str, Any]] = []
    for number in range(exchanges):
        a, b = f"a{number}", f"b{number}"
        messages += [
            user(f"Question {number}: 需要多少钱？"),
            assistant("I think about it at length. " * 9, call(a), call(b)),
            results(a, b),
            assistant("Let me look once more, to be sure. " * 9, call(f"c{number}")),
            results(f"c{number}"),
            {"role": "assistant", "content": f"Ответ {number} 🙂"},
        ]
    return messages


def tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    return estimate_tokens(messages)


def stays(made: CompactionResult, messages: list[dict[str, Any]]) -> bool:
    return made.messages == messages and made.stats["removed"] == made.stats["tokensSaved"] == 0
