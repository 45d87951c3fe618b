"""``monologue``: what people said and what came of it stays; how the model got there goes from older segments.

From ProbeAgent (FEATURES P1, P2): no model is called. The system prompt is no part of a page, so it always stays (P5).
Of an older segment stay the request, the answer and the last results of tools; a result that stays while its call goes
is read as text, and what the model thought between tags goes from its answers. How much is freed depends on the page
alone: with a target or without, all monologue goes that the options let go, and nothing else.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bot.compaction.boundaries import answered_by, open_exchange
from bot.compaction.parts.segments import COMPLETIONS, Segment, completes, is_completion, segments_of, without_thinking
from bot.compaction.parts.tool_outputs import cleared
from bot.compaction.plan import Plan, PlanContext, Scale, everything_but
from bot.compaction.strategies.recent import RECENT_TOKENS, Preset, Recent
from bot.estimate import Level, Meter
from bot.history import Entry, EntryKind
from bot.messages import Block, text_block, tool_calls

_ANSWER_KEYS = ("result", "answer", "output", "text", "message")
"""Arguments that hold the answer in a completion, the likeliest first."""


@dataclass(frozen=True)
class MonologueOptions:
    """The levels as shares of the limit, and how many of the most recent segments stay whole: the larger of both
    numbers, where ``keep_last_segment`` is one."""

    aliases: ClassVar[Mapping[str, str]] = {"keep": "min_segments_to_keep", "results": "results_to_keep"}

    warning: float = 0.75
    critical: float = 0.90
    keep_last_segment: bool = True
    min_segments_to_keep: int = Preset(1)
    recent_tokens: int = RECENT_TOKENS
    """Of the segments that stay whole, the last one apart; see :mod:`bot.compaction.strategies.recent`."""
    results_to_keep: int = 1
    """Results of tools that stay of each older segment, the last ones. Those that are not its answer are shortened to
    a line if they are long."""
    completions: tuple[str, ...] = COMPLETIONS
    """Names of tools whose call is an answer."""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a negative number."""
        for name in ("min_segments_to_keep", "recent_tokens", "results_to_keep"):
            if (number := getattr(self, name)) < 0:
                raise ValueError(f"{name}={number} must not be negative")


@dataclass(frozen=True)
class Monologue:
    """Requests and final answers kept, the monologue between them dropped from all but the most recent segments."""

    options: MonologueOptions = MonologueOptions()
    name: str = "monologue"

    def level(self, meter: Meter) -> Level:
        """Two thresholds."""
        return meter.level(self.options.warning, self.options.critical)

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:  # noqa: ARG002
        """None when older segments have no monologue."""
        segments = segments_of(view, self.options.completions)
        whole = self._whole(segments, Scale.of(view, meter), meter)
        older = segments[:-whole] if whole else segments
        in_use = {entry.seq for entry in view[open_exchange(view) :]}
        results = {entry.seq for segment in older for entry in self._results(segment)}
        dropped = {entry.seq for segment in older for entry in segment.monologue} - in_use - results
        replaced = self._replaced(view, older, results) if older else {}
        replaced = {seq: blocks for seq, blocks in replaced.items() if seq not in in_use | dropped}
        if not dropped and not replaced:
            return None
        upto = max(entry.seq for entry in view)
        kept = [entry for entry in view if entry.seq not in dropped]
        floor = min((entry.seq for entry in kept), default=upto + 1)
        hidden = everything_but(kept, upto)
        return Plan(strategy=self.name, upto=upto, floor=floor, hidden=hidden, replaced=replaced)

    def _whole(self, segments: Sequence[Segment], scale: Scale, meter: Meter) -> int:
        """How many of the last segments are left as they are."""
        options = self.options
        recent = Recent.of(options.min_segments_to_keep, options.recent_tokens, scale, meter)
        sizes = [sum(entry.tokens for entry in segment.entries) for segment in segments]
        return max(int(options.keep_last_segment), recent.number(options.min_segments_to_keep, sizes))

    def _results(self, segment: Segment) -> list[Entry]:
        """The last results of its tools; what a completion returned is none of them."""
        work = sorted((*segment.monologue, *segment.answer), key=lambda entry: entry.position)
        handing = {
            call["id"]
            for entry in work
            if completes(entry, self.options.completions)
            for call in tool_calls(entry.blocks)
        }
        found = [entry for entry in work if entry.kind is EntryKind.RESULT and handing.isdisjoint(answered_by(entry))]
        return found[-self.options.results_to_keep :] if self.options.results_to_keep else []

    def _replaced(
        self, view: Sequence[Entry], older: Sequence[Segment], results: Container[int]
    ) -> Mapping[int, tuple[Block, ...]]:
        """What stands in place of long results that are no answer, and of answers with thoughts in them."""
        steps = {entry.seq for segment in older for entry in segment.monologue if entry.seq in results}
        blocks = dict(cleared(view, len(view), only=steps).blocks)
        answered = {call_id for entry in view for call_id in answered_by(entry)}
        for entry in (entry for segment in older for entry in segment.answer if entry.kind is EntryKind.REPLY):
            made = tuple(self._said(entry.blocks, answered))
            if made != entry.blocks:
                blocks[entry.seq] = made
        return blocks

    def _said(self, blocks: Sequence[Block], answered: Container[str]) -> Iterator[Block]:
        """Without thoughts; a completion that nothing answered is the words that it holds, since the call alone would
        be no part of a valid request."""
        for block in blocks:
            kind = block.get("type")
            if kind == "text" and (text := without_thinking(block["text"])) != block["text"]:
                if text.strip():
                    yield {**block, "text": text}
            elif kind == "tool_use" and is_completion(block, self.options.completions) and block["id"] not in answered:
                yield text_block(answer_of(block["input"]))
            else:
                yield block


def answer_of(arguments: Any) -> str:
    """The words of a completion's arguments; all of its texts where none is called as answers are."""
    texts = {key: value for key, value in dict(arguments or {}).items() if isinstance(value, str) and value.strip()}
    named = next((texts[key] for key in _ANSWER_KEYS if key in texts), None)
    return named if named is not None else "\n".join(texts.values())
