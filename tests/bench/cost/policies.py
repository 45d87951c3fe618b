"""What others do with a long conversation, as pure functions: the page so far and what was said in, the next page out.

Each is marked for the cache as this program marks its own requests, and each request is charged by the same account.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.history import Entry, EntryKind, as_request
from bot.messages import Block, Message, text_block
from tests.servers.messages.wire import MESSAGE_TOKENS, tokens_of_content, tokens_of_text

ANSWER = 8_192
"""Tokens that are kept free for the answer."""
CLEARED = "[Old tool result content cleared]"


@dataclass(frozen=True)
class Sized:
    """An entry and its tokens by the server's own count, whole and cleared of a tool's result."""

    entry: Entry
    tokens: int
    cleared: int

    @classmethod
    def of(cls, entry: Entry) -> Sized:
        """Count it."""
        tokens = MESSAGE_TOKENS + tokens_of_content(list(entry.blocks))
        is_result = entry.kind is EntryKind.RESULT
        return cls(entry, tokens, MESSAGE_TOKENS + tokens_of_text(CLEARED) if is_result else tokens)


@dataclass(frozen=True)
class Page:
    """What is in view: a summary, and the entries from ``start`` on, the results before ``cleared`` without content."""

    start: int = 0
    cleared: int = 0
    summary: str = ""

    def tokens(self, said: Sequence[Sized]) -> int:
        """Without the head."""
        shown = sum(one.cleared if at < self.cleared else one.tokens for at, one in enumerate(said) if at >= self.start)
        return tokens_of_text(self.summary) + shown

    def messages(self, said: Sequence[Sized]) -> list[Message]:
        """As they are sent."""
        shown = [
            replace(one.entry, blocks=tuple(map(_cleared, one.entry.blocks))) if at < self.cleared else one.entry
            for at, one in enumerate(said)
            if at >= self.start
        ]
        request = as_request(shown)
        if not self.summary:
            return request
        first = request[0]["content"]
        assert not isinstance(first, str)
        return [Message(role="user", content=[text_block(self.summary), *first]), *request[1:]]


Turned = Callable[[Page, Sequence[Sized]], Page]
"""The page at the beginning of a turn; what a person just said is the last that was said."""


@dataclass(frozen=True)
class Policy:
    """``turned``: what it does before each turn; ``drops``: at an overflow it drops the older half of the page, where
    others put a summary in its place."""

    name: str
    turned: Turned
    drops: bool = False


def policies(window: int, program_compacts_at: float) -> list[Policy]:
    """All that are compared. ``program_compacts_at``: tokens; a sliding window of that size shows the model as much
    as the program does at most, one of half that size as much as it does on average."""
    return [
        Policy("nothing until overflow, then a summary", lambda page, said: page),
        Policy("nothing until overflow, then drop the older half", lambda page, said: page, drops=True),
        *(
            Policy(f"sliding window, last {tokens:,} tokens", last_tokens(tokens), drops=True)
            for tokens in (int(program_compacts_at), int(program_compacts_at / 2), window // 10)
        ),
        Policy("sliding window, last 50 messages", last_messages(50), drops=True),
        Policy("clear all tool results every turn", clear_results(0)),
        Policy("clear all but the last 3 tool results every turn", clear_results(3)),
    ]


def last_tokens(most: int) -> Turned:
    """The newest turns that take at most so many tokens."""

    def turned(page: Page, said: Sequence[Sized]) -> Page:
        room, start = most, len(said)
        while start and said[start - 1].tokens <= room:
            start -= 1
            room -= said[start].tokens
        return replace(page, start=_begin_with_a_person(said, max(start, page.start)))

    return turned


def last_messages(most: int) -> Turned:
    """The newest entries, so many at most."""
    return lambda page, said: replace(page, start=_begin_with_a_person(said, max(0, len(said) - most)))


def clear_results(keep: int) -> Turned:
    """Results of tools lose their content, but for the last few."""

    def turned(page: Page, said: Sequence[Sized]) -> Page:
        results = [at for at, one in enumerate(said) if one.entry.kind is EntryKind.RESULT]
        return replace(page, cleared=results[-keep] if 0 < keep < len(results) else 0 if keep else len(said))

    return turned


def dropped(page: Page, said: Sequence[Sized]) -> Page:
    """Without the older half of its tokens."""
    room, start = page.tokens(said) // 2, page.start
    while room > 0 and start < len(said) - 1:
        room -= said[start].tokens
        start += 1
    return replace(page, start=_begin_with_a_person(said, start))


def summarised(page: Page, said: Sequence[Sized], summary: str) -> Page:
    """The summary, and what the person just said."""
    return replace(page, start=_begin_with_a_person(said, len(said) - 1, back=True), summary=summary)


def _begin_with_a_person(said: Sequence[Sized], start: int, *, back: bool = False) -> int:
    step = -1 if back else 1
    while 0 <= start < len(said) and said[start].entry.kind is not EntryKind.SAID:
        start += step
    return min(max(0, start), len(said) - 1)


def _cleared(block: Block) -> Block:
    cleared: dict[str, Any] = {**block, "content": CLEARED}
    return cleared if block.get("type") == "tool_result" else block
