"""What people and machines are told of an agent's memory. Pure (FEATURES A8, A9)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bot.compaction.fact_life import Known, Refreshed
from bot.compaction.facts import Fact, FactKind, FactStatus

Visibility = Literal["off", "brief", "debug"]

RUNTIME = "[CFPM_RUNTIME_V1]"
"""What its notices for machines begin with."""
USAGE = (
    "/memory lists what I know, /memory 2 its next page; /memory pin 3, /memory unpin 3 and /memory forget 3 are about "
    "fact 3; /memory add TEXT pins something you tell me."
)
NOTHING = "I know no facts of this conversation yet. /memory add TEXT gives me one to keep."
NOT_COLLECTED = "New ones are found while this conversation is compacted by memory (/strategy memory)."

_PAGE = 1_600
"""Characters: one message, on the platform whose messages are the shortest."""
_LONGEST_LINE = 180
_TITLES: Mapping[FactKind, str] = {
    FactKind.GOAL: "Goals",
    FactKind.CONSTRAINT: "Rules and decisions",
    FactKind.STATEMENT: "Said",
    FactKind.ACTION: "Done",
    FactKind.VALUE: "Records",
    FactKind.PATH: "Places",
}
_MARKS: Mapping[FactStatus, str] = {
    FactStatus.DONE: "[done] ",
    FactStatus.CANCELLED: "[cancelled] ",
    FactStatus.REPLACED: "[earlier] ",
    FactStatus.FAILED: "[failed] ",
}


@dataclass(frozen=True)
class Changes:
    """What one refresh, or several, did. ``mode``: why the last of them ran, for debugging."""

    accepted: int = 0
    rejected: int = 0
    pruned: int = 0
    facts: int = 0
    mode: str = ""
    reasons: Mapping[str, int] | None = None

    @classmethod
    def of(cls, life: Refreshed, mode: str, facts: int) -> Changes:
        """``facts``: how many there are now that are in memory."""
        rejected = life.rejected
        return cls(life.accepted, sum(rejected.values()), life.pruned, facts, mode, rejected)

    @property
    def any(self) -> bool:
        """Whether people need to know."""
        return bool(self.accepted or self.pruned)


def runtime_notice(changes: Changes, visibility: Visibility) -> str:
    """For machines: the prefix and a JSON object."""
    told: dict[str, object] = {
        "verbosity": visibility,
        "acceptedCount": changes.accepted,
        "rejectedCount": changes.rejected,
        "prunedCount": changes.pruned,
        "factCount": changes.facts,
    }
    if visibility == "debug":
        reason = "new_facts" if changes.accepted else "pruned" if changes.pruned else "nothing_new"
        told |= {"mode": changes.mode, "reason": reason, "rejectedReasons": dict(changes.reasons or {})}
    return f"{RUNTIME} {json.dumps(told)}"


def runtime_line(changes: Changes, visibility: Visibility) -> str:
    """For people, in one line. The counts are those since the line was first said."""
    facts = f"{changes.facts} {'fact' if changes.facts == 1 else 'facts'}"
    line = f"🧠 Memory: {facts} (+{changes.accepted}, −{changes.pruned}). /memory shows them."
    if visibility != "debug":
        return line
    reasons = ", ".join(f"{count} {reason}" for reason, count in (changes.reasons or {}).items())
    return f"{line} Last {changes.mode}: rejected {reasons or 'nothing'}; {changes.rejected} so far."


def page_of(facts: Iterable[Known], number: int, *, collected: bool) -> str:
    """The answer to /memory: one page of the facts, by kind, what is pinned first and then the newest."""
    shown = [item for item in facts if not item.forgotten]
    if not shown:
        return NOTHING if collected else f"{NOTHING} {NOT_COLLECTED}"
    pages = list(_pages(shown))
    at = min(max(1, number), len(pages))
    foot = (
        [f"Page {at} of {len(pages)}. {USAGE}"]
        if at == len(pages)
        else [f"Page {at} of {len(pages)}: /memory {at + 1}"]
    )
    if not collected:
        foot.append(NOT_COLLECTED)
    return "\n".join([*pages[at - 1], *foot])


def line_of(item: Known) -> str:
    """A fact in one line, with its number."""
    fact = item.fact
    text = " ".join(fact.text.replace("\t", ", ").split())
    text = text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1].rstrip()}…"
    return f"{fact.number}. {'📌 ' if fact.pinned else ''}{_MARKS.get(fact.status, '')}{text}"


def _pages(facts: Sequence[Known]) -> Iterator[list[str]]:
    page: list[str] = []
    room = _PAGE
    for kind, title in _TITLES.items():
        own = sorted((item for item in facts if item.fact.kind is kind), key=lambda item: _rank(item.fact))
        for at, item in enumerate(own):
            line = line_of(item)
            if page and len(line) + len(title) + 2 > room:
                yield page
                page, room = [], _PAGE
            if not at or not page:
                page.append(f"{title}:")
                room -= len(title) + 2
            page.append(line)
            room -= len(line) + 1
    yield page


def _rank(fact: Fact) -> tuple[bool, int, int]:
    return not fact.pinned, -max(fact.seqs, default=0), -fact.number
