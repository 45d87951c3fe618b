"""Says which part makes a context that no compaction can help with, and what would help. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bot.compaction import Plan
from bot.compaction.fallback import excerpt
from bot.estimate import Meter
from bot.estimate.meter import PINNED_RULES
from bot.history import REQUESTS, TO_ANSWER, Entry, EntryKind, History


@dataclass(frozen=True)
class Bound:
    """What limits a context, in tokens: the model's ``window``, the ``room`` that it leaves beside an answer, and what
    was ``chosen`` by AGENTS__EMERGENCY_CONTEXT_LIMIT. ``known``: the provider says how large the window is;
    ``refused``: it said so when it refused a request, or was seen to cut one (``cut``); ``listed``: what it had said
    before, 0 for nothing."""

    window: int
    room: int
    chosen: int | None = None
    known: bool = True
    refused: bool = False
    listed: int = 0
    cut: bool = False

    @property
    def is_overruled(self) -> bool:
        """Whether more was chosen than the provider takes."""
        return self.refused and self.chosen is not None and self.chosen > self.room

    @property
    def more(self) -> str:
        """How those who run the program get more room, as the end of a sentence."""
        if self.chosen is not None and not self.known:
            return "raise AGENTS__EMERGENCY_CONTEXT_LIMIT if the model's window is larger"
        if self.chosen is not None and self.chosen < self.room:
            return f"raise AGENTS__EMERGENCY_CONTEXT_LIMIT (the model's window has room for {self.room:,})"
        return "take a model with a larger window (AGENTS__EMERGENCY_CONTEXT_LIMIT makes none larger)"

    @property
    def told(self) -> str:
        """Where the limit comes from, if a refusal stated another one than was known; else empty."""
        is_news = self.is_overruled or (self.chosen is None and self.listed != self.window)
        if not self.refused or not is_news:
            return ""
        seen = "it cut a longer prompt, and said nothing" if self.cut else "as it said when it refused more"
        line = f"Limit: the model's server takes no more than {self.window:,} tokens, {seen}"
        above = f"; AGENTS__EMERGENCY_CONTEXT_LIMIT={self.chosen} is above that" if self.is_overruled else ""
        return f"{line}{above}"


UNBOUND = Bound(0, 0)
"""Of a context of which nothing is known."""


@dataclass(frozen=True)
class Blame:
    """A sentence for people, and a plan that takes the part out of the way where that can be done."""

    sentence: str
    plan: Plan | None = None


_LARGE = 0.4
"""Of the limit: what is smaller is not to blame by itself."""


def blame(
    history: History,
    meter: Meter,
    head_tokens: int,
    factor: float,
    *,
    bound: Bound = UNBOUND,
    surely: bool = False,
) -> Blame | None:
    """The part that alone is too large, or None when compacting can help. ``surely``: nothing else can be compacted,
    so the largest part is to blame even if by our own count it would fit. ``factor`` corrects our count."""
    limit = meter.limit
    if head_tokens >= limit:
        has_rules = any(part.name == PINNED_RULES and part.tokens for part in meter.parts)
        what = "The system prompt, the tools and the pinned rules" if has_rules else "The system prompt and the tools"
        rules = "let pinned rules go (/rules), " if has_rules else ""
        return Blame(
            f"{what} alone take about {head_tokens:,} of {limit:,} tokens, so that no "
            f"conversation fits. Shorten SYSTEM_PROMPT, offer fewer tools, {rules}or {bound.more}."
        )
    largest = max(_uncompactable(history), key=lambda entry: entry.tokens, default=None)
    tokens = round(largest.tokens * factor) if largest else 0
    if not surely and head_tokens + tokens <= limit:
        return None
    if largest is None or tokens < _LARGE * limit:
        parts = ", ".join(f"{part.name} {part.tokens:,}" for part in meter.parts if part.tokens)
        part, remedy = _largest(history, head_tokens, factor, bound)
        smallest = f"The context cannot be made smaller than {meter.total:,} of {limit:,} tokens ({parts})."
        if not meter.over:
            smallest = (
                "The model's server says that this is too long, and nothing is left that could be made smaller: "
                f"it is {meter.total:,} tokens by my count ({parts})."
            )
        return Blame(f"{smallest} The largest part is {part}. {remedy}")
    plan = excerpt(largest, history.visible)
    return Blame(_too_large(largest, tokens, limit - head_tokens), plan)


def _too_large(part: Entry, tokens: int, fitting: int) -> str:
    size = f"about {tokens:,} tokens, and {fitting:,} fit"
    if tokens <= fitting:  # by our own count it fits: who refuses it counts more
        size = f"about {tokens:,} tokens by my count, which is more than its server takes just now"
    if part.kind is EntryKind.SAID:
        return (
            f"Your message alone is too large for the model: {size}. Send it in parts, or shorter. "
            "Nothing else was lost; I go on with only the beginning of that message in view."
        )
    if part.kind is EntryKind.FILE:
        return (
            f"Your file alone is too large for the model: {size}. Send a smaller one, or a part of it. "
            "Nothing else was lost; I go on without it in view."
        )
    return f"The result of a tool alone is too large for the model: {size}. Ask for a smaller part of it."


def last_words(history: History, meter: Meter, head_tokens: int, factor: float, bound: Bound) -> str:
    """Why there is still no room after everything was tried: the largest part, and what would help."""
    part, remedy = _largest(history, head_tokens, factor, bound)
    size = f"{meter.total:,} tokens by my count, for which there should be room in {meter.limit:,}"
    if meter.over:
        size = f"{meter.total:,} tokens, and {meter.limit:,} fit"
    return f"The largest part of what is left ({size}) is {part}. {remedy}"


_OF_A_KIND = {
    EntryKind.SAID: ("your message", "Send it in parts, or shorter."),
    EntryKind.FILE: ("your file", "Send a smaller one, or a part of it."),
    EntryKind.RESULT: ("the result of a tool", "Ask for a smaller part of it."),
}
_TALK = ("what was said before", "A new session begins without it.")


def _largest(history: History, head_tokens: int, factor: float, bound: Bound) -> tuple[str, str]:
    """The largest part in words, with its size, and what would make it smaller."""
    now = _uncompactable(history)
    asked = {entry.seq for entry in now}
    before = sum(entry.tokens for entry in history.visible if entry.seq not in asked)
    sizes = [
        (head_tokens, ("the system prompt and the tools", "")),
        (round(before * factor), _TALK),
        *((round(entry.tokens * factor), _OF_A_KIND.get(entry.kind, _OF_A_KIND[EntryKind.SAID])) for entry in now),
    ]
    tokens, (name, remedy) = max(sizes, key=lambda one: one[0])
    help_ = remedy or f"A new session has them too: shorten SYSTEM_PROMPT, offer fewer tools, or {bound.more}."
    return f"{name}, about {tokens:,} tokens", help_


def _uncompactable(history: History) -> list[Entry]:
    """What a compaction keeps as it is: the latest request, and what tools returned for it."""
    visible = history.visible
    latest = next((entry for entry in reversed(visible) if entry.kind in REQUESTS), None)
    if latest is None:
        return []
    return [
        entry
        for entry in visible
        if entry.turn == latest.turn and (entry.kind in TO_ANSWER or entry.kind is EntryKind.RESULT)
    ]
