"""``two_phase``: old tool outputs are cleared first; only if that is not enough, everything but the recent messages is
summarised.

From eunice (FEATURES E2 to E5). Phase 1 calls no model, and is often all that is needed. Phase 2 asks for a structured
checkpoint, which stands before the recent messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal

from bot.compaction.boundaries import Ends, Page, fewer
from bot.compaction.goal import Goal, can_win
from bot.compaction.parts.tool_outputs import Cleared, cleared
from bot.compaction.plan import DETAILS_SHARE, SUMMARY, Inserted, Plan, PlanContext, details_of
from bot.compaction.strategies.recent import RECENT_TOKENS, Preset, Recent
from bot.compaction.strategies.reset import DEMANDS_SHARE
from bot.compaction.summary import frames
from bot.estimate import Level, Meter
from bot.history import Entry, EntryKind

TARGET_SHARE = 0.5
"""Of the limit: phase 1 has to reach that, even where ``target_tokens`` allows more."""

CHECKPOINT = f"{frames.CONTINUING}\n\n{frames.BY_ANOTHER}\n\n{SUMMARY}\n\n{frames.PLEASE_CONTINUE}"

ASKS = """\
This conversation is about to leave the context of the model that works on it. Write a checkpoint of it. Another model \
will go on with the task from your checkpoint and from the newest messages, which stay as they are; it knows nothing \
else, so whatever it needs has to be in your text.

Preserve:
- the original task: what the person asked for, in their words where the wording matters
- what is done, with its outcome, and what is in progress at this moment
- every file that was read, written or changed, by its exact path, with a few words about what it holds or what changed
- the results of tools that still matter: errors, values, findings
- the decisions that were made, and why
- constraints: requirements, preferences and limits that the person stated
- issues that are not resolved: errors, defects, what blocks the work
- the next steps

Discard:
- output of tools whose finding is stated already, and the contents of files beyond the lines that matter
- repetition, small talk, and attempts that led nowhere, except what was learnt from them
- debugging output that no longer says anything about the present state

Use these Markdown headings in this order, and leave out those that have nothing to say:
## Original task
## Done
## In progress
## Files
## Tool results
## Decisions
## Constraints
## Unresolved issues
## Next steps
## Exact details

Under the last one list the names, numbers, dates, ids, addresses and quotes that may be needed again, letter by \
letter. Do not invent anything, do not answer the conversation, and do not call tools. Write in the conversation's \
language."""


FIELDS_CHECKPOINT = f"{frames.CONTINUING}\n\n{SUMMARY}\n\n{frames.PLEASE_CONTINUE}"

FIELDS_ASKS = """\
## Context Compression Task

Your task is to create a detailed summary of the conversation so far. This summary will be used as context when \
continuing the conversation, so preserve ALL critical information.

### What to Preserve
- **User's original request**: The task they asked for
- **What was accomplished**: Files created/modified, commands run, decisions made
- **Current work in progress**: Any incomplete tasks
- **Files involved**: List of files read, written, or modified with brief descriptions
- **Tool results summary**: Key outputs from tool calls (errors, important data)
- **Next steps**: What remains to be done
- **Key constraints**: Any user preferences, requirements, or limitations mentioned
- **Unresolved issues**: Errors, bugs, or blockers encountered

### What to Discard
- Redundant tool outputs (keep summaries only)
- Verbose file contents (keep filenames and key snippets)
- Repetitive conversation turns
- Debug output no longer relevant

### Format
Produce a structured summary that another instance of this model can use to seamlessly continue the conversation. \
Start with:

```
## Conversation Summary (Compressed Context)

**Original Task**: [one-line description]

**Completed**:
- [item 1]
- [item 2]

**In Progress**:
- [current task]

**Files**:
- `path/to/file.rs`: [brief description of changes]

**Key Decisions**:
- [decision 1 and rationale]

**Next Steps**:
1. [step 1]
2. [step 2]

**Notes**:
- [any important context]
```

Do not answer the conversation, and do not call tools. Write in the conversation's language."""
"""As eunice asks, word for word but for the last line, which keeps a model from going on with the task."""

Template = Literal["headings", "fields"]
_TEMPLATES: Mapping[Template, tuple[str, str]] = {
    "headings": (ASKS, CHECKPOINT),
    "fields": (FIELDS_ASKS, FIELDS_CHECKPOINT),
}


@dataclass(frozen=True)
class TwoPhaseOptions:
    """The levels as shares of the limit; ``target_tokens`` of the whole request; ``preserve_recent`` in messages as the
    model reads them (see :mod:`bot.compaction.boundaries`)."""

    aliases: ClassVar[Mapping[str, str]] = {
        "preserve_recent_messages": "preserve_recent",
        "compress_preserve_recent": "preserve_recent",
        "compress_target_tokens": "target_tokens",
        "auto_compress": "enabled",
        "keep": "preserve_recent",
    }
    """eunice's other names: of its configuration in code and of its flags."""

    warning: float = 0.75
    critical: float = 0.90
    enabled: bool = True
    """Off: only people and overflows compact."""
    target_tokens: int = 8000
    preserve_recent: int = Preset(10)
    recent_tokens: int = RECENT_TOKENS
    """Of the recent messages; see :mod:`bot.compaction.strategies.recent`."""
    try_lightweight_first: bool = True
    template: Template = "headings"
    """How the summary is set out, and what stands around it: ``headings``, or ``fields`` as eunice has it."""
    details_share: float = DETAILS_SHARE
    """Of the limit: exact details that a summary lacks, below it."""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a target without room, a negative number of messages and a share that is none."""
        if not 0 <= self.details_share <= 1:
            raise ValueError(f"details_share={self.details_share} must be from 0 to 1")
        if self.target_tokens <= 0:
            raise ValueError(f"target_tokens={self.target_tokens} must be more than 0")
        for name in ("preserve_recent", "recent_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must not be negative")


@dataclass(frozen=True)
class TwoPhase:
    """Old tool outputs cleared; then, if need be, a checkpoint and the recent messages."""

    options: TwoPhaseOptions = TwoPhaseOptions()
    name: str = "two_phase"

    def level(self, meter: Meter) -> Level:
        """Two thresholds; always OK when it is not enabled."""
        return meter.level(self.options.warning, self.options.critical) if self.options.enabled else Level.OK

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        """Phase 1 alone where it comes to the target, else with phase 2; None when neither can win anything.

        Fewer recent messages are preserved than the options say, down to the request that waits, where nothing is
        older than they are or where they alone are too large for the target; but when nobody asked for this
        compaction and the context has no target, never.
        """
        if context.unasked and not self.options.enabled:
            return None
        page = Page.of(view)
        goal = Goal.of(view, meter, context, self.options.warning)
        light_target: float = min(self.options.target_tokens, TARGET_SHARE * meter.limit)
        if context.target is not None:
            light_target = context.target
        tokens = sum(entry.tokens for entry in view)
        lightest: Plan | None = None
        found: tuple[Ends, Cleared] | None = None
        bound = Recent.of(self.options.preserve_recent, self.options.recent_tokens, goal.scale, meter)
        most = bound.number(self.options.preserve_recent, page.sizes)
        for recent in self._numbers(most, fixed=context.unasked and goal.tokens is None):
            clear = cleared(page.view, page.recent(recent)) if self.options.try_lightweight_first else Cleared()
            light = self._light(view, clear)
            if light and goal.scale.total(tokens - sum(clear.saved.values())) <= light_target:
                return light
            ends = page.ends(0, recent)
            if ends is None or not can_win(ends, self._inserted(ends), context):
                lightest = light or lightest
                continue
            found = ends, clear
            saved = sum(clear.saved.get(entry.seq, 0) for entry in ends.kept)
            if goal.is_met(ends, self._inserted(ends), saved=saved):
                break
        return self._summarised(*found, goal, context) if found else lightest

    def _numbers(self, most: int, *, fixed: bool) -> Iterator[int]:
        numbers = (last for _, last in fewer(0, most))
        return islice(numbers, 1 if fixed else None)

    def _light(self, view: Sequence[Entry], clear: Cleared) -> Plan | None:
        if not clear.blocks:
            return None
        seqs = [entry.seq for entry in view]
        return Plan(strategy=self.name, upto=max(seqs), floor=min(seqs), replaced=clear.blocks)

    def _summarised(self, ends: Ends, clear: Cleared, goal: Goal, context: PlanContext) -> Plan:
        kept = {entry.seq for entry in ends.kept}
        return Plan(
            strategy=self.name,
            upto=ends.upto,
            floor=ends.floor,
            hidden=ends.hidden,
            replaced={seq: blocks for seq, blocks in clear.blocks.items() if seq in kept},
            inserted=self._inserted(ends),
            summarise=tuple(entry.seq for entry in ends.gone),
            must_keep=details_of(
                ends.gone, goal.part(DEMANDS_SHARE), context.rules, kept=ends.kept, focus=context.focus
            ),
            focus=context.focus,
            details_share=self.options.details_share,
            asks=_TEMPLATES[self.options.template][0],
        )

    def _inserted(self, ends: Ends) -> tuple[Inserted, ...]:
        return (Inserted(ends.place, EntryKind.SUMMARY, _TEMPLATES[self.options.template][1]),)
