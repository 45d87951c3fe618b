"""What people and machines are told of an agent's memory. Pure (FEATURES A8, A9)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from bot.compaction.facts.fact import Candidate, Fact, FactKind, FactStatus, Reason, Speaker
from bot.compaction.facts.life import Refreshed

Visibility = Literal["off", "brief", "debug"]

RUNTIME = "[CFPM_RUNTIME_V1]"
"""What its notices for machines begin with."""
USAGE = (
    "/memory lists what I know, /memory 2 its next page; /memory pin 3, /memory unpin 3 and /memory forget 3 are about "
    "fact 3; /memory add TEXT pins something you tell me; /memory debug says what was considered and what came of it."
)
NO_CANDIDATES = (
    "Nothing was considered in this conversation yet. That is done while it is compacted by memory (/strategy memory)."
)
NOTHING = "I know no facts of this conversation yet. /memory add TEXT gives me one to keep."
NOT_COLLECTED = "New ones are found while this conversation is compacted by memory (/strategy memory)."

REASONS: Mapping[Reason, str] = {
    Reason.NEW: "nobody had said so before",
    Reason.UPDATE: "corrects what was known",
    Reason.DUPLICATE: "known already",
    Reason.SUPERSEDED: "something newer says otherwise",
    Reason.LOW_VALUE: "nothing that is needed later",
    Reason.REDUNDANT: "records hold all of it",
    Reason.ERROR_NOISE: "the output of an error",
    Reason.RETRIED: "a failure that was made good",
    Reason.DATE_LIKE: "a date, and no place",
    Reason.FORGOTTEN: "a person had it forgotten",
    Reason.OVER_CAP: "too many of its kind",
    Reason.NOT_SAID: "a model read it, and nobody says so in words of their own",
    Reason.NO_SUCH_FACT: "a model meant a fact that there is not",
    Reason.PROTECTED: "a model meant what a person keeps",
    Reason.NOT_THEIRS: "a model took one's word on what another said",
    Reason.NO_OPERATION: "a model wanted what cannot be done",
}
"""Why a candidate was accepted or rejected, for people; nothing is `REDUNDANT` any more, but books may hold it."""

_PAGE = 1_600
"""Characters: one message, on the platform whose messages are the shortest."""
_LONGEST_LINE = 180
_TITLES: Mapping[tuple[FactKind, bool], str] = {
    (FactKind.GOAL, False): "Goals",
    (FactKind.CONSTRAINT, False): "Rules and decisions",
    (FactKind.STATEMENT, False): "Said",
    (FactKind.ACTION, False): "Done",
    (FactKind.VALUE, False): "Records",
    (FactKind.GIVEN, False): "Given to tools",
    (FactKind.PATH, False): "Places",
    (FactKind.STATEMENT, True): "The assistant said",
}
"""By kind, and whether the assistant said it."""
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


def runtime_in(payload: str) -> Changes | None:
    """What a notice for machines says (:func:`runtime_notice`); None for a text that is none."""
    if not payload.startswith(f"{RUNTIME} "):
        return None
    try:
        told = json.loads(payload.removeprefix(RUNTIME))
        counts = [told[name] for name in ("acceptedCount", "rejectedCount", "prunedCount", "factCount")]
        mode, reasons = told.get("mode", ""), told.get("rejectedReasons", {})
        is_one = all(type(count) is int for count in (*counts, *reasons.values())) and isinstance(mode, str)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    accepted, rejected, pruned, facts = counts
    return Changes(accepted, rejected, pruned, facts, mode, reasons) if is_one else None


def runtime_line(changes: Changes, visibility: Visibility) -> str:
    """For people, in one line. The counts are those since the line was first said."""
    facts = f"{changes.facts} {'fact' if changes.facts == 1 else 'facts'}"
    line = f"🧠 Memory: {facts} (+{changes.accepted}, −{changes.pruned}). /memory shows them."
    if visibility != "debug":
        return line
    reasons = ", ".join(f"{count} {reason}" for reason, count in (changes.reasons or {}).items())
    return f"{line} Last {changes.mode}: rejected {reasons or 'nothing'}; {changes.rejected} so far."


def page_of(facts: Iterable[Fact], number: int, *, collected: bool) -> str:
    """The answer to /memory: one page of the facts, by kind, what is pinned first and then the newest."""
    shown = [item for item in facts if item.is_listed]
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


def audit_of(candidates: Sequence[Candidate], number: int) -> str:
    """The answer to /memory debug: one page of what was considered, the newest first, each with its decision and the
    code of its reason. ``candidates``: oldest first."""
    if not candidates:
        return NO_CANDIDATES
    pages: list[list[str]] = [[]]
    room = _PAGE
    for said, same in groupby(map(_audit_line, reversed(candidates))):
        times = sum(1 for _ in same)
        line = f"{said} (×{times})" if times > 1 else said
        if pages[-1] and len(line) + 1 > room:
            pages.append([])
            room = _PAGE
        pages[-1].append(line)
        room -= len(line) + 1
    at = min(max(1, number), len(pages))
    codes = Counter(item.reason.value for item in candidates)
    head = f"The last {len(candidates):,} considered: " + ", ".join(f"{n:,} {code}" for code, n in codes.most_common())
    foot = f"Page {at} of {len(pages)}" + (f": /memory debug {at + 1}" if at < len(pages) else ".")
    return "\n".join([head, *pages[at - 1], foot])


def _audit_line(item: Candidate) -> str:
    mark = "✓" if item.is_accepted else "✗"
    return f"{mark} {item.reason.value} · {item.kind.value} · {_shortened(item.text)}"


def line_of(fact: Fact) -> str:
    """A fact in one line, with its number."""
    return f"{fact.number}. {'📌 ' if fact.pinned else ''}{_MARKS.get(fact.status, '')}{_shortened(fact.text)}"


def _shortened(text: str) -> str:
    text = " ".join(text.replace("\t", ", ").split())
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1].rstrip()}…"


def _pages(facts: Sequence[Fact]) -> Iterator[list[str]]:
    page: list[str] = []
    room = _PAGE
    for group, title in _TITLES.items():
        own = sorted((item for item in facts if _group(item) == group), key=_rank)
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


def _group(fact: Fact) -> tuple[FactKind, bool]:
    return fact.kind, fact.kind is FactKind.STATEMENT and fact.speaker is Speaker.MODEL


def _rank(fact: Fact) -> tuple[bool, int, int]:
    return not fact.pinned, -fact.last, -fact.number
