"""What of a page belongs together: a message with its files or results, and a question with its answer. Pure.

A :class:`Bundle` can be hidden or kept as a whole without splitting a tool call from its result. A :class:`Unit` is
what is judged as one: a question and its answer, or one step with tools on the way to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from bot.compaction.boundaries import answered_by
from bot.compaction.parts.file_references import MESSAGES
from bot.history import TO_ANSWER, Entry, EntryKind
from bot.messages import tool_calls


@dataclass
class Bundle:
    """A message and what came with it: the files of what a person said, the results of what a reply called.

    What belongs to no message (a note, a result whose call is gone) is a bundle of its own.
    """

    entries: list[Entry]
    calls: tuple[str, ...] = ()
    """The ids of its tool calls."""

    @property
    def head(self) -> Entry:
        """What begins it."""
        return self.entries[0]

    @property
    def is_message(self) -> bool:
        """Whether a person or the model said it."""
        return self.head.kind in MESSAGES

    @property
    def is_asked(self) -> bool:
        """Whether it comes from a person."""
        return self.head.kind in TO_ANSWER

    def holds(self, seqs: AbstractSet[int]) -> bool:
        """Whether one of these entries is in it."""
        return any(entry.seq in seqs for entry in self.entries)


@dataclass
class Unit:
    """What is kept or hidden together. ``question``: of a step with tools, the unit that it was taken for."""

    bundles: list[Bundle] = field(default_factory=list)
    question: Unit | None = None

    @property
    def entries(self) -> list[Entry]:
        """All of it."""
        return [entry for bundle in self.bundles for entry in bundle.entries]

    def holds(self, seqs: AbstractSet[int]) -> bool:
        """Whether one of these entries is in it."""
        return any(bundle.holds(seqs) for bundle in self.bundles)


def bundles_of(page: Sequence[Entry]) -> list[Bundle]:
    """The entries in reading order as bundles, in the order of their heads."""
    bundles: list[Bundle] = []
    by_call: dict[str, Bundle] = {}
    for entry in page:
        home = next((by_call[call] for call in answered_by(entry) if call in by_call), None)
        if home is None and entry.kind is EntryKind.FILE and bundles and bundles[-1].is_asked:
            home = bundles[-1]
        if home is not None:
            home.entries.append(entry)
            continue
        calls = tuple(call["id"] for call in tool_calls(entry.blocks)) if entry.role == "assistant" else ()
        bundle = Bundle([entry], calls)
        bundles.append(bundle)
        by_call |= dict.fromkeys(calls, bundle)
    return bundles


def units_of(bundles: Sequence[Bundle]) -> list[Unit]:
    """The same as units, in the order of their beginnings; a question stands before its steps."""
    units: list[Unit] = []
    question = Unit()
    asked_before = False
    for bundle in bundles:
        if bundle.is_asked and not asked_before:
            question = Unit()
        asked_before = bundle.is_asked
        if bundle.calls:
            units.append(Unit([bundle], question if question.bundles else None))
            continue
        if not question.bundles:
            units.append(question)
        question.bundles.append(bundle)
    return units
