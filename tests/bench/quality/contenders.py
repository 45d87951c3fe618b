"""What is compared: this program's strategies, and simple ways that need no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.compaction import STRATEGIES
from bot.compaction.manual.manual import Embed, compact_history
from bot.compaction.manual.refusals import CannotFit, NeedsSummary, NotCompacted
from bot.estimate import estimate_tokens
from bot.history import valid_request
from bot.messages import Block, Message
from tests.bench.quality.extract import SUMMARY_SHARE, extract
from tests.bench.quality.reading import blocks_of

Compact = Callable[[list[Message], int], Sequence[Message]]
"""Messages and a limit in tokens; the compacted messages. What does not fit comes back as small as it got."""

CLEARED = "[Old tool result cleared]"
_LATEST_RESULTS = 3


@dataclass(frozen=True)
class Contender:
    """One way to compact."""

    name: str
    compact: Compact
    ours: bool = False


def strategies(embed: Embed | None) -> list[Contender]:
    """Every registered strategy with its default options."""
    return [Contender(name, _by_strategy(name, embed), ours=True) for name in STRATEGIES]


def baselines() -> list[Contender]:
    """Without any library."""
    return [
        Contender("keep-last", newest),
        Contender("first+last", lambda messages, limit: newest(messages, limit, first=messages[:1])),
        Contender("clear-old-tools", clear_old_tools),
    ]


def newest(messages: Sequence[Message], limit: int, *, first: Sequence[Message] = ()) -> list[Message]:
    """The newest messages that fit, after ``first``; mended where a call lost its result or the other way round."""
    sizes = [estimate_tokens([message]) for message in messages]
    room, start = limit - estimate_tokens(first), len(messages)
    while start > len(first) and sizes[start - 1] <= room:
        start -= 1
        room -= sizes[start]
    while True:
        request = valid_request([*first, *messages[start:]])
        if start >= len(messages) or estimate_tokens(request) <= limit:
            return request
        start += 1


def clear_old_tools(messages: Sequence[Message], limit: int) -> list[Message]:
    """Results of tools but the last three become a note; then the newest messages that fit."""
    ids = [block["tool_use_id"] for message in messages for block in blocks_of(message) if "tool_use_id" in block]
    old = set(ids[:-_LATEST_RESULTS])
    cleared = [
        Message(role=message["role"], content=[_cleared(block, old) for block in blocks_of(message)])
        for message in messages
    ]
    return cleared if estimate_tokens(cleared) <= limit else newest(cleared, limit)


def _cleared(block: Block, old: set[str]) -> Block:
    return {**block, "content": CLEARED} if block.get("tool_use_id") in old else block


def _by_strategy(name: str, embed: Embed | None) -> Compact:
    def compact(messages: list[Message], limit: int) -> Sequence[Message]:
        summary: str | None = None
        while True:
            try:
                return _messages(compact_history(messages, strategy=name, limit=limit, embed=embed, summary=summary))
            except CannotFit as refusal:
                return _messages(refusal.result)
            except NeedsSummary as wanted:
                summary = extract(wanted.messages, SUMMARY_SHARE * limit)
            except NotCompacted:
                return messages

    return compact


def _messages(result: Any) -> list[Message]:
    return [Message(role=message["role"], content=message["content"]) for message in result.messages]
