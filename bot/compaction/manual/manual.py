"""Compaction by hand: messages in, fewer messages out, and the seven statistics (FEATURES P4, P5, P6, E6). Pure.

Layers are put over the history that the messages are, one after the other, as an agent puts them; what comes out is
the page under them. The system prompt is counted, and never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bot.compaction.manual.given import EARLIER, Given, GivenMessage, Shown, entries_of
from bot.compaction.manual.refusals import CannotFit, NeedsSummary, NoSummary
from bot.compaction.options import with_options
from bot.compaction.parts.similarity import comparable_text
from bot.compaction.plan import Plan, PlanContext, Strategy
from bot.compaction.statistics import Stats, statistics
from bot.compaction.summary.checks import is_no_summary
from bot.compaction.summary.details import Details, Page
from bot.compaction.summary.frames import with_details
from bot.estimate import Family, Meter, Part, estimate_tokens, family_of
from bot.estimate.meter import SYSTEM_PROMPT, TOOLS
from bot.history import Entry, EntryKind, History, as_request
from bot.history.entries import entry_tokens
from bot.messages import Block

__all__ = ["CompactionResult", "Embed", "Stats", "compact_history", "entries_of"]

_MOST_OF_THE_GAIN = 0.5
"""Exact details take at most so much of what is won without them."""
_USED = (1.0, 0.985, 0.97, 0.9)
"""Of the room that a limit leaves, one after the other: estimates are rounded, message by message."""
_AIMED_LOWER = (0.97, 0.9, 0.8)
"""Of a limit that a plan has missed, one after the other."""

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts to vectors of one length, in the same order; or to none at all, where none can be had."""


@dataclass(frozen=True)
class CompactionResult:
    """What a compaction made of messages. ``page`` says of each where it came from."""

    page: tuple[Shown, ...]
    stats: Stats

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """A valid request, if anything was changed. What no layer touched is as it was given."""
        return [shown.message for shown in self.page]

    @property
    def changed(self) -> bool:
        """Whether anything is not as it was given."""
        return len(self.page) != self.stats["originalCount"] or any(shown.changed for shown in self.page)


def compact_history(
    messages: Iterable[GivenMessage],
    *,
    strategy: str | Strategy = "monologue",
    limit: int | None = None,
    system: str | Sequence[str | Block] | None = None,
    tools: Iterable[Mapping[str, Any]] | None = None,
    model: str | None = None,
    summary: str | None = None,
    embed: Embed | None = None,
    rules: Sequence[str] = (),
    redact: Callable[[str], str] = str,
    **options: object,
) -> CompactionResult:
    """Messages of the Messages API, or in the form of the Chat Completions API, compacted by a strategy; never larger
    than they were, and in the form in which they were given.

    ``limit``: tokens that the request may take, as :func:`estimate_tokens` counts it with ``system``, ``tools`` and
    ``model``. What fits is not changed; otherwise the strategy is applied while that helps. Without a limit it is
    applied once. ``summary``: what stands for what goes, where the strategy wants that. ``embed``: for strategies that
    compare texts. ``rules``: regular expressions of what a summary must preserve; ``redact``: takes secrets out of a
    text, so that they are not listed among the exact details below a summary, which take what room the limit leaves.
    ``options``: the strategy's own.

    Raises NotCompacted (CannotFit, NeedsSummary, NoSummary, BadMessages), and ``ValueError`` for an unknown strategy
    or option and for a limit that is not positive.
    """
    if limit is not None and limit <= 0:
        raise ValueError(f"The limit is a positive number of tokens, not {limit}.")
    if summary is not None and is_no_summary(summary):
        raise NoSummary("The summary that was given says nothing.")
    request = _Request(
        Given.of(messages, family=family_of(model)),
        with_options(strategy if not isinstance(strategy, str) else _named(strategy), options),
        limit,
        system,
        tuple(tools or ()),
        model,
        summary,
        embed,
        tuple(rules),
        redact,
    )
    return request.compacted()


def _named(name: str) -> Strategy:
    from bot.compaction import STRATEGIES  # the package imports this module before it has them

    if name not in STRATEGIES:
        raise ValueError(f"There is no strategy {name!r}; there is: {', '.join(sorted(STRATEGIES))}.")
    return STRATEGIES[name]


@dataclass(frozen=True)
class _Request:
    given: Given
    strategy: Strategy
    limit: int | None
    system: str | Sequence[str | Block] | None
    tools: tuple[Mapping[str, Any], ...]
    model: str | None
    summary: str | None
    embed: Embed | None
    rules: tuple[str, ...]
    redact: Callable[[str], str]

    def compacted(self) -> CompactionResult:
        """Layer over layer, while it helps and the limit wants it. A plan is made by what each entry is guessed to
        take, so that it may miss the limit by a little: then it is made anew for a little less."""
        page, total = first = self._aimed_at(self.limit)
        if self.limit is not None:
            for share in _AIMED_LOWER:
                if self._fits(total):
                    break
                page, total = self._aimed_at(int(share * self.limit))
            if not self._fits(total):
                page, total = first
        result = CompactionResult(page, self._stats(page, total))
        if self.limit is not None and not self._fits(total):
            raise CannotFit(self._blame(page, total, self.limit), result)
        return result

    def _aimed_at(self, target: int | None) -> tuple[tuple[Shown, ...], int]:
        history, page = History(self.given.entries, (EARLIER,)), self.given.untouched()
        total, won = self._original_tokens, True
        while won and history.visible and not self._fits(total):
            plan = self.strategy.plan(history.visible, self._meter(total), self._context(history.visible, target))
            won = False
            if plan is not None:
                after = self._covered(history, plan, page)
                made = self.given.shown(after)
                if made and (size := self._total(made)) < total:
                    history, page, total, won = after, made, size, self.limit is not None
        return page, total

    def _fits(self, total: int) -> bool:
        return self.limit is not None and total <= self.limit

    def _covered(self, history: History, plan: Plan, page: tuple[Shown, ...]) -> History:
        """With the plan's layer on top. Raises NeedsSummary, but not where none would help."""
        if not plan.summarise:
            return self._laid(history, plan, "")
        summary = self._given_summary(history, plan, page)
        bare = self._laid(history, plan, with_details(summary, ""))
        room = self._room_for_details(plan, self._total(page), self._total(self.given.shown(bare)))
        details = Details(summary, _gone_and_kept(history, bare, plan, self.redact))
        for share in _USED:
            laid = self._laid(history, plan, details.completed(share * room))
            if self.limit is None or self._total(self.given.shown(laid)) <= self.limit:
                break
        return laid

    def _laid(self, history: History, plan: Plan, summary: str) -> History:
        layer, inserted = plan.layer(len(history.layers) + 1, history.last_seq + 1, run=None, summary=summary)
        counted = [replace(entry, tokens=entry_tokens(entry.role, entry.blocks, self._family)) for entry in inserted]
        return history.covered(layer, counted)

    def _room_for_details(self, plan: Plan, before: int, after: int) -> float:
        """What a limit leaves beside the summary, or without one the share of what there is; but at most half of what
        is won."""
        share = plan.details_share * before if self.limit is None else self.limit - after
        return max(0.0, min(share, _MOST_OF_THE_GAIN * (before - after)))

    def _given_summary(self, history: History, plan: Plan, page: tuple[Shown, ...]) -> str:
        if self.summary is not None:
            return self.summary.strip()
        total = self._total(page)
        if self.limit is not None and self._head_tokens >= self.limit:
            raise CannotFit(self._blame(page, total, self.limit), CompactionResult(page, self._stats(page, total)))
        gone = [entry for entry in history.visible if entry.seq in plan.summarise]
        raise NeedsSummary(plan, as_request(gone), updates=any(entry.kind is EntryKind.SUMMARY for entry in gone))

    def _context(self, view: Sequence[Entry], target: int | None) -> PlanContext:
        vectors = _Vectors(view, self.embed) if self.embed else {}
        return PlanContext(rules=self.rules, trigger="manual", target=target, vectors=vectors)

    def _meter(self, total: int) -> Meter:
        """Without a limit the context counts as exactly full."""
        prompt, head = self._prompt_tokens, self._head_tokens
        parts = (Part(SYSTEM_PROMPT, prompt), Part(TOOLS, head - prompt), Part("conversation", total - head))
        return Meter.of(parts, limit=self.limit or total)

    def _total(self, page: tuple[Shown, ...]) -> int:
        messages = (shown.message for shown in page)
        return estimate_tokens(messages, system=self.system, tools=self.tools, model=self.model)

    @property
    def _family(self) -> Family:
        return family_of(self.model)

    @cached_property
    def _prompt_tokens(self) -> int:
        return estimate_tokens(self.given.system, system=self.system, model=self.model)

    @cached_property
    def _head_tokens(self) -> int:
        return estimate_tokens(self.given.system, system=self.system, tools=self.tools, model=self.model)

    @cached_property
    def _original_tokens(self) -> int:
        return self._total(self.given.untouched())

    def _stats(self, page: tuple[Shown, ...], total: int) -> Stats:
        return statistics(
            count=len(self.given.messages),
            compacted=len(page),
            tokens=self._original_tokens,
            compacted_tokens=total,
        )

    def _blame(self, page: tuple[Shown, ...], total: int, limit: int) -> str:
        """One sentence that names the part to blame."""
        opening = f"It cannot be made to fit into {limit:,} tokens"
        tools = self._head_tokens - self._prompt_tokens
        if self._head_tokens >= limit:
            if self._prompt_tokens >= limit:
                return f"{opening}: the system prompt alone takes about {self._prompt_tokens:,}."
            if tools >= limit:
                return f"{opening}: the tools alone take about {tools:,}."
            return f"{opening}: the system prompt and the tools alone take about {self._head_tokens:,}."
        summary = estimate_tokens([], system=self.summary, model=self.model)
        if self._head_tokens + summary >= limit:
            return f"{opening}: the summary alone takes about {summary:,}."
        sizes = [estimate_tokens([shown.message], model=self.model) for shown in page]
        largest = max(range(len(page)), key=lambda at: sizes[at])
        name = f"{_called(page[largest])} ({page[largest].message['role']})"
        if self._head_tokens + sizes[largest] > limit:
            return f"{opening}: {name} alone takes about {sizes[largest]:,}."
        return (
            f"{opening}: the strategy {self.strategy.name} keeps the {len(page)} messages that are left, and it is "
            f"about {total:,} with them; the largest is {name} with about {sizes[largest]:,}."
        )


def _gone_and_kept(before: History, after: History, plan: Plan, redact: Callable[[str], str]) -> Page:
    goes = {*plan.summarise, *plan.replaced}
    stays = {entry.seq for entry in after.visible} - goes
    return Page(
        gone=tuple(entry for entry in before.visible if entry.seq in goes),
        kept=tuple(entry for entry in before.visible if entry.seq in stays),
        demanded=plan.must_keep,
        redact=redact,
    )


def _called(shown: Shown) -> str:
    """A message by where whoever gave it finds it."""
    if not shown.sources:
        return "a message that the compaction wrote"
    if len(shown.sources) > 1:
        return f"what is left of messages[{shown.sources[0]}] to messages[{shown.sources[-1]}]"
    return f"what became of messages[{shown.sources[0]}]" if shown.changed else f"messages[{shown.sources[0]}]"


class _Vectors(Mapping[int, Sequence[float]]):
    """Embeddings of entries by seq, made when somebody looks at the first one."""

    def __init__(self, view: Sequence[Entry], embed: Embed) -> None:
        self._view = view
        self._embed = embed

    def __getitem__(self, seq: int) -> Sequence[float]:
        return self._made[seq]

    def __iter__(self) -> Iterator[int]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    @cached_property
    def _made(self) -> Mapping[int, Sequence[float]]:
        texts = {entry.seq: comparable_text(entry) for entry in self._view}
        wanted = [seq for seq, text in texts.items() if text]
        vectors = self._embed([texts[seq] for seq in wanted]) if wanted else []
        return dict(zip(wanted, vectors, strict=True)) if len(vectors) else {}
