"""The three tiers of ``tiered``, each by itself: outlines of files, relevance, an emergency summary. Pure.

Each makes a :class:`Draft` of a page, or None where it has nothing to do. A higher tier does what the lower ones do
to what it keeps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bot.compaction.boundaries import TALK, open_exchange, waiting_request
from bot.compaction.goal import SUMMARY_SHARE, frame_tokens
from bot.compaction.parts.bundles import Bundle, bundles_of, units_of
from bot.compaction.parts.file_references import FileReference, files_in, in_use, stale, with_outlines
from bot.compaction.parts.similarity import relevance
from bot.compaction.plan import (
    SUMMARY,
    Inserted,
    Plan,
    PlanContext,
    Scale,
    details_of,
    everything_but,
    within,
)
from bot.compaction.strategies.reset import DEMANDS_SHARE, MARKER
from bot.compaction.summary import details, frames
from bot.estimate import Family, Meter, message_tokens
from bot.history import REQUESTS, Entry, EntryKind
from bot.messages import Audience, Block, text_of

GO_ON = frames.BEFORE_THE_LATEST
ASKS = """\
Most of this conversation is about to leave the context; only its last few messages stay. Write down what the \
assistant must still know, so that it can go on without a gap.

Cover, under these headings, and leave out a heading with nothing under it:
## Goals: what the person wants to reach, in which order, what they asked last, and what of it is done
## Technical details: how things work and were set up; versions, commands, values, errors and their causes
## Code references: files, functions, classes, tables and addresses that were spoken of, by their exact names and \
paths, with a few words about each and what was changed in it
## Decisions and constraints: what was settled and why, and what the person demanded or ruled out
## Exact details: names, numbers, dates, ids and quotes, letter by letter
## Open: what is not solved yet, and what comes next

What is done is history: say so, so that nobody does it twice. Of files give what matters, not their text. No small \
talk, nothing invented, no answer to the conversation, no tool calls. Write in the conversation's language."""

SUMMARY_RATE = 0.25
"""Of what it stands for: what a summary is expected to take. A guess that is too high would keep this tier from being
chosen."""
NOTE_SHARE = 0.05
"""Of the limit: exact details of what goes without a summary take at most so much."""
NOTE_RATE = 0.25
"""And of what goes: or a note would take back what is won."""
OUTLINES_SHARE = 0.05
"""Of the limit: what outlines of files take that are out of view."""
_MOST_OUTLINES = 8
_MOST_NAMED = 20
FILES = "Files from the part of the conversation that is out of view:"
_OUT_OF_VIEW = re.compile(r"\[([\d,]{1,12}) older messages of this conversation are out of view")


@dataclass(frozen=True)
class Draft:
    """A plan, and the tokens that the whole request takes with it, as the meter counts; a summary is guessed."""

    plan: Plan
    total: float


@dataclass(frozen=True)
class Reading:
    """What the tiers look at: a page that is not empty, and what is known of it."""

    view: Sequence[Entry]
    meter: Meter
    context: PlanContext
    stale_after: int
    """Messages (FEATURES T2)."""

    @cached_property
    def upto(self) -> int:
        """The newest seq."""
        return max(entry.seq for entry in self.view)

    @cached_property
    def scale(self) -> Scale:
        """How its entries compare with its meter."""
        return Scale.of(self.view, self.meter)

    @cached_property
    def files(self) -> list[FileReference]:
        """Files that stand on it in full."""
        return files_in(self.view)

    @cached_property
    def stale_files(self) -> list[FileReference]:
        """Of these, those that nobody spoke of lately."""
        return stale(self.files, self.view, after=self.stale_after)

    @cached_property
    def bundles(self) -> list[Bundle]:
        """What was said. What compactions inserted belongs to nobody, and is dealt with apart."""
        return bundles_of([entry for entry in self.view if entry.layer is None])

    @cached_property
    def indispensable(self) -> frozenset[int]:
        """The request that waits for its answer, and the tool exchange that the model has not gone on from."""
        waiting = {self.view[index].seq for index in waiting_request(self.view)}
        return frozenset(waiting.union(entry.seq for entry in self.view[open_exchange(self.view) :]))

    @cached_property
    def in_use(self) -> frozenset[int]:
        """The entries with a file that somebody spoke of lately: no tier hides them."""
        return in_use(self.view, after=self.stale_after)

    @property
    def sizes(self) -> list[int]:
        """Of each message the guessed tokens, with what came with it."""
        sizes: list[int] = []
        for bundle in self.bundles:
            tokens = sum(entry.tokens for entry in bundle.entries)
            if bundle.is_message or not sizes:
                sizes.append(tokens)
            else:
                sizes[-1] += tokens
        return sizes

    def last_messages(self, count: int) -> list[Bundle]:
        """The last so many messages and what stands between them, and what is indispensable."""
        places = [place for place, bundle in enumerate(self.bundles) if bundle.is_message]
        begin = places[max(0, len(places) - count)] if places and count else len(self.bundles)
        return [
            bundle for place, bundle in enumerate(self.bundles) if place >= begin or bundle.holds(self.indispensable)
        ]

    def draft(self, strategy: str, kept: Sequence[Entry], replaced: Mapping[int, tuple[Block, ...]]) -> Draft:
        """Nothing but ``kept`` stays, with these replacements."""
        hides = len(kept) < len(self.view)
        plan = Plan(
            strategy=strategy,
            upto=self.upto,
            floor=min((entry.seq for entry in kept), default=self.upto + 1),
            hidden=everything_but(kept, self.upto) if hides else (),
            replaced=replaced,
        )
        tokens = sum(_tokens(entry, replaced.get(entry.seq)) for entry in kept)
        return Draft(plan, self.scale.total(tokens))

    def with_inserted(self, draft: Draft, inserted: Sequence[Inserted]) -> Draft:
        """The same draft with these entries, a summary not counted."""
        more = frame_tokens(inserted) * self.scale.ratio
        return Draft(replace(draft.plan, inserted=tuple(inserted)), draft.total + more)


def soft(page: Reading, *, strategy: str) -> Draft | None:
    """Files that nobody spoke of lately become outlines (FEATURES T2)."""
    replaced = with_outlines(page.view, page.stale_files)
    return page.draft(strategy, page.view, replaced) if replaced else None


def hard(page: Reading, *, strategy: str, keep_share: float, keep_last: int) -> Draft | None:
    """Of the older messages those stay that are nearest to the last request (FEATURES T3), and those with a file that
    is in use; stale files as in :func:`soft`. Earlier summaries stay: they are the memory of what is gone already."""
    gone = _least_relevant(page, keep_share, keep_last)
    if not gone:
        return None
    earlier = [entry for entry in page.view if _count_in(entry)]
    out = {entry.seq for entry in (*gone, *earlier)}
    kept = [entry for entry in page.view if entry.seq not in out]
    draft = page.draft(strategy, kept, with_outlines(kept, page.stale_files))
    talk = next((entry.seq for entry in kept if entry.layer is None), page.upto + 1)
    count = sum(entry.kind in (EntryKind.SAID, EntryKind.REPLY) for entry in gone) + sum(map(_count_in, earlier))
    rules = page.context.rules
    wanted = details_of((*earlier, *gone), DEMANDS_SHARE * page.meter.limit, rules, kept=kept)
    told = details.Page((*earlier, *gone), kept, demanded=wanted)
    room = min(NOTE_SHARE * page.meter.limit, NOTE_RATE * sum(entry.tokens for entry in told.gone))
    note = details.completed(_out_of_view(count, page, gone), told, room)
    return page.with_inserted(draft, [Inserted(talk, EntryKind.NOTE, note)])


def emergency(page: Reading, *, strategy: str, keep_last: int, outlined: Iterable[FileReference]) -> Draft | None:
    """The last messages stay, and those with a file that is in use; of their files ``outlined`` as outlines.
    Everything else before them is summarised (FEATURES T4). Where nothing else stands there, only the files change."""
    last = [entry for bundle in page.last_messages(keep_last) for entry in bundle.entries]
    used = [entry for bundle in page.bundles if bundle.holds(page.in_use) for entry in bundle.entries]
    seqs = {entry.seq for entry in (*last, *used)}
    rest = [entry for entry in page.view if entry.seq not in seqs]
    if not any(entry.kind in TALK for entry in rest):
        replaced = with_outlines(page.view, outlined)
        return page.draft(strategy, page.view, replaced) if replaced else None
    kept = [entry for entry in page.view if entry.seq in seqs]
    draft = page.draft(strategy, kept, with_outlines(kept, outlined))
    place = min((entry.seq for entry in last), default=page.upto + 1)
    inserted = [
        Inserted(place, EntryKind.MARKER, MARKER, Audience.EVERYONE),
        Inserted(place, EntryKind.SUMMARY, f"{SUMMARY}\n\n{GO_ON}"),
    ]
    if files := _outlines_of(page, seqs):
        inserted.append(Inserted(place, EntryKind.NOTE, files))
    draft = page.with_inserted(draft, inserted)
    summarise = [entry for entry in rest if entry.kind is not EntryKind.MARKER and not _count_in(entry)]
    plan = replace(draft.plan, summarise=tuple(entry.seq for entry in summarise), focus=page.context.focus, asks=ASKS)
    summary = SUMMARY_RATE * (page.meter.total - draft.total)
    return Draft(plan, draft.total + max(0.0, min(SUMMARY_SHARE * page.meter.limit, summary)))


def with_demands(plan: Plan, page: Reading) -> Plan:
    """The same plan with what somebody demands of its summary."""
    wanted = set(plan.summarise)
    gone = [entry for entry in page.view if entry.seq in wanted]
    hidden = {seq for low, high in plan.hidden for seq in range(low, high + 1)}
    kept = [entry for entry in page.view if entry.seq not in hidden]
    context = page.context
    must_keep = details_of(gone, DEMANDS_SHARE * page.meter.limit, context.rules, kept=kept, focus=context.focus)
    return replace(plan, must_keep=must_keep)


def _least_relevant(page: Reading, keep_share: float, keep_last: int) -> list[Entry]:
    """The older entries that are not worth keeping. A question goes or stays with its answer, a call with its result,
    and no step with tools stays without the question that it was taken for."""
    fixed = {entry.seq for bundle in page.last_messages(keep_last) for entry in bundle.entries}
    question = next((b.head for b in reversed(page.bundles) if b.head.kind in REQUESTS), None)
    if question is None:
        return []
    fixed.add(question.seq)
    units = units_of(page.bundles)
    for unit in units:
        if unit.holds(page.in_use):
            fixed.update(entry.seq for part in (unit, unit.question) if part for entry in part.entries)
    old = [unit for unit in units if not unit.holds(fixed)]
    entries = [unit.entries for unit in old]
    scores = relevance(question, [entry for unit in entries for entry in unit], page.context.vectors)
    worth = [max(scores[entry.seq] for entry in unit) for unit in entries]
    places = {id(unit): place for place, unit in enumerate(old)}
    for place, unit in enumerate(old):
        if unit.question is not None and id(unit.question) in places:
            worth[place] = min(worth[place], worth[places[id(unit.question)]])
    # Of two that are as near, the newer one stays; but a question before its own steps.
    is_step = [unit.question is not None for unit in old]
    best_first = sorted(range(len(old)), key=lambda place: (-worth[place], is_step[place], -place))
    gone = best_first[int(len(old) * keep_share + 1e-9) :]
    return [entry for place in sorted(gone) for entry in entries[place]]


def _out_of_view(count: int, page: Reading, gone: Sequence[Entry]) -> str:
    """Tells the model what it does not see. No summary holds what goes, so its exact details stay, letter by letter, as
    in a recovery without a summary."""
    told = (
        f"[{count:,} older messages of this conversation are out of view, because they seem to have little to do with "
        "the latest request. Nothing of them is lost: when something seems to be missing, say so or look it up, and "
        "do not guess.]"
    )
    lines = [told]
    seqs = {entry.seq for entry in gone}
    if calls := _again([file for file in page.files if file.seq in seqs]):
        lines.append(f"Files among them, and how to read them again: {calls}")
    return "\n".join(lines)


def is_out_of_view(text: str) -> bool:
    """Whether it is a note that tells the model what it does not see."""
    return _OUT_OF_VIEW.match(text) is not None


def _count_in(entry: Entry) -> int:
    """How many messages an earlier note of ours says are out of view; 0 for any other entry."""
    if entry.layer is None or entry.kind is not EntryKind.NOTE:
        return 0
    found = _OUT_OF_VIEW.match(text_of(entry.blocks))
    return int(found[1].replace(",", "") or 0) if found else 0


def _again(files: Iterable[FileReference]) -> str:
    """The calls that read them, the newest first."""
    calls = list(dict.fromkeys(file.call for file in reversed(list(files))))
    more = f" and {len(calls) - _MOST_NAMED:,} more" if len(calls) > _MOST_NAMED else ""
    return ", ".join(calls[:_MOST_NAMED]) + more


def _outlines_of(page: Reading, kept: Collection[int]) -> str:
    """The files that go out of view, in outline, the newest first; those that do not fit by name."""
    in_view = {file.path for file in page.files if file.seq in kept}
    newest: dict[str, FileReference] = {}
    for file in reversed(page.files):
        if file.path not in in_view:
            newest.setdefault(file.path, file)
    files = list(newest.values())
    outlines = [file.quoted_outline for file in files[:_MOST_OUTLINES]]
    shown = within(outlines, OUTLINES_SHARE * page.meter.limit)
    named = _again(reversed(files[len(shown) :]))
    parts = [FILES, *shown]
    if named:
        parts.append(f"To read others again: {named}" if shown else f"To read them again: {named}")
    return "\n\n".join(parts) if files else ""


def _tokens(entry: Entry, blocks: Sequence[Block] | None) -> int:
    if blocks is None:
        return entry.tokens
    return math.ceil(message_tokens({"role": entry.role, "content": list(blocks)}, family=Family.NEWER))
