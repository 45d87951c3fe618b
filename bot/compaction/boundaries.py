"""Where a page may be cut, and what stays of it when its middle goes. Pure.

A *message* here is one of the request as the model reads it: adjacent entries of one role are one message. Markers,
summaries and notes are not counted, and a message ends where one stands.

A cut never parts a tool's result from its call, and never takes anything from a tool exchange that the model has not
gone on from yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from bot.compaction.plan import everything_but
from bot.history import THINKING, TO_ANSWER, Entry, EntryKind, Ranges
from bot.messages import Role, text_of, tool_calls

WORK = frozenset({EntryKind.REPLY, EntryKind.RESULT})
"""What the model did."""
TALK = TO_ANSWER | WORK
"""What was said and done, and not written by a compaction or the program."""


@dataclass(frozen=True)
class Ends:
    """A page whose middle goes."""

    kept: tuple[Entry, ...]
    gone: tuple[Entry, ...]
    """What a summary is wanted of."""
    place: int
    """A summary of what is gone stands before the entry with this seq."""
    upto: int

    @property
    def hidden(self) -> Ranges:
        """All seqs of the page but those that are kept."""
        return everything_but(self.kept, self.upto)

    @property
    def floor(self) -> int:
        """The lowest seq that is still visible."""
        return min((entry.seq for entry in self.kept), default=self.upto + 1)


@dataclass(frozen=True)
class Page:
    """A page cut into messages. ``messages``: for each, where it starts in ``view`` and where it has ended; ``tied``:
    the numbers of those that cannot be parted from the message before."""

    view: tuple[Entry, ...]
    messages: tuple[tuple[int, int], ...]
    tied: frozenset[int]
    upto: int

    @classmethod
    def of(cls, view: Sequence[Entry], *, without: Container[str] = ()) -> Page:
        """``without``: texts of notes that are of no use any more: they go, and no summary is wanted of them. That
        is so of markers and of empty entries in any case."""
        useful = tuple(entry for entry in view if _is_read(entry) and not _is_spent(entry, without))
        messages = tuple(_messages(useful))
        return cls(useful, messages, _tied(useful, messages), max((entry.seq for entry in view), default=0))

    @property
    def sizes(self) -> list[int]:
        """Of each message the guessed tokens, with what stands between it and the next."""
        starts = [start for start, _ in self.messages]
        return [
            sum(entry.tokens for entry in self.view[start:end])
            for start, end in zip(starts, [*starts[1:], len(self.view)], strict=False)
        ]

    def recent(self, last: int) -> int:
        """Where in ``view`` the last so many messages begin, or the open tool exchange if that is earlier."""
        number = max(0, len(self.messages) - last)
        start = self.messages[number][0] if number < len(self.messages) else len(self.view)
        return min(start, open_exchange(self.view))

    def ends(self, first: int, last: int) -> Ends | None:
        """The page without what stands between its first and its last so many messages: None when nothing that was
        said stands there. The request that waits for its answer stays wherever it stands."""
        head = min(first, len(self.messages))
        while head in self.tied:
            head += 1
        tail = bisect_right(self.messages, (self.recent(last) - 1, len(self.view)))
        while tail in self.tied:
            tail -= 1
        waiting = set(waiting_request(self.view))
        from_tail = self.messages[tail][0] if tail < len(self.messages) else len(self.view)
        heads = {index for start, end in self.messages[:head] for index in range(start, end)}
        rest = [
            index
            for index, entry in enumerate(self.view)
            if index not in heads and (index in waiting or (index >= from_tail and entry.kind is not EntryKind.SUMMARY))
        ]
        stays = heads.union(rest)
        gone = tuple(entry for index, entry in enumerate(self.view) if index not in stays)
        if not any(entry.kind in TALK for entry in gone):
            return None
        return Ends(
            kept=tuple(self.view[index] for index in sorted(stays)),
            gone=gone,
            place=self.view[rest[0]].seq if rest else self.upto + 1,
            upto=self.upto,
        )


def fewer(first: int, last: int) -> Iterator[tuple[int, int]]:
    """These numbers of messages, two thirds of them, and so on down to none."""
    yield first, last
    while first or last:
        first, last = first * 2 // 3, last * 2 // 3
        yield first, last


def open_exchange(view: Sequence[Entry]) -> int:
    """Where the tool exchange begins that the model has not gone on from: its results are still to come, or were not
    read yet. The length of ``view`` when there is none."""
    asked, answered = False, set[str]()
    for index in reversed(range(len(view))):
        entry = view[index]
        asked = asked or entry.kind in TO_ANSWER
        answered.update(answered_by(entry))
        if entry.role == "assistant":
            start = index
            while start and view[start - 1].role == "assistant":
                start -= 1
            calls = {call["id"] for reply in view[start : index + 1] for call in tool_calls(reply.blocks)}
            is_open = bool(calls - answered) if asked else bool(calls)
            return start if is_open else len(view)
    return len(view)


def waiting_request(view: Sequence[Entry]) -> list[int]:
    """Where the request stands that is not answered yet: what was asked last, and what else its turn took up."""
    last = next((entry for entry in reversed(view) if entry.kind in TALK), None)
    if last is None or (last.kind is EntryKind.REPLY and not last.interrupted and not tool_calls(last.blocks)):
        return []
    asked = [index for index, entry in enumerate(view) if entry.kind in TO_ANSWER]
    if not asked:
        return []
    latest = asked[-1]
    run = list(takewhile(lambda index: view[index].kind in TO_ANSWER, range(latest, -1, -1)))
    turn = view[latest].turn
    return sorted({*run, *(index for index in asked if turn is not None and view[index].turn == turn)})


def answered_by(entry: Entry) -> list[str]:
    """The ids of the tool calls that this entry has results of."""
    return [block["tool_use_id"] for block in entry.blocks if block.get("type") == "tool_result"]


def _is_read(entry: Entry) -> bool:
    """A request has no empty texts and no thinking by itself: an entry of nothing else does not part what stands
    around it."""
    kinds = {block.get("type") for block in entry.blocks if block.get("type") != "text" or block["text"].strip()}
    return not kinds <= THINKING


def _is_spent(entry: Entry, without: Container[str]) -> bool:
    is_note = entry.kind is EntryKind.NOTE
    return entry.kind is EntryKind.MARKER or (is_note and text_of(entry.blocks) in without)


def _messages(view: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    start = 0
    role: Role | None = None
    for index, entry in enumerate(view):
        current = entry.role if entry.kind in TALK else None
        if current == role:
            continue
        if role is not None:
            yield start, index
        start, role = index, current
    if role is not None:
        yield start, len(view)


def _tied(view: Sequence[Entry], messages: Sequence[tuple[int, int]]) -> frozenset[int]:
    tied: set[int] = set()
    calls: set[str] = set()
    since = 0
    for number, (start, end) in enumerate(messages):
        entries = view[start:end]
        if entries[0].role == "assistant":
            calls, since = {call["id"] for entry in entries for call in tool_calls(entry.blocks)}, number
        elif any(not calls.isdisjoint(answered_by(entry)) for entry in entries):
            tied.update(range(since + 1, number + 1))
    return frozenset(tied)
