"""What is compared: this program's strategies, and simple ways that need no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.compaction import STRATEGIES
from bot.compaction.manual.manual import Embed, compact_history
from bot.compaction.manual.refusals import CannotFit, NeedsSummary, NotCompacted
from bot.estimate import Family, estimate_tokens, text_tokens
from bot.history import valid_request
from bot.messages import Block, Message, text_block
from tests.bench.yardstick.extract import SUMMARY_SHARE, extract
from tests.bench.yardstick.reading import blocks_of, request_text

Compact = Callable[[list[Message], int], Sequence[Message]]
"""Messages and a limit in tokens; the compacted messages. What does not fit comes back as small as it got."""

Summarise = Callable[[Sequence[Message], float], str]
"""What goes, and the room in tokens; the summary."""

SUMMARISING = ("reset", "segmented", "tiered", "two_phase")
"""Strategies that want a summary."""
_VALUE = re.compile(r"[^\s\"'{}\[\],:;()]*\d[^\s\"'{}\[\],;()]*|\b[A-Z][\w.-]+\b")
CLEARED = "[Old tool result cleared]"
_LATEST_RESULTS = 3


@dataclass(frozen=True)
class Contender:
    """One way to compact."""

    name: str
    compact: Compact
    ours: bool = False
    quotes: bool = False
    """It shows lines of its own as what was said."""


def strategies(embed: Embed | None, summarise: Summarise = extract, *, said: str = "") -> list[Contender]:
    """Every registered strategy with its default options; ``said`` of those whose summaries are written so."""
    return [
        Contender(
            f"{name}{said if name in SUMMARISING else ''}",
            _by_strategy(name, embed, summarise),
            ours=True,
            quotes=name == "memory" or name in SUMMARISING,
        )
        for name in STRATEGIES
    ]


def baselines(summarise: Summarise = extract) -> list[Contender]:
    """Without any library."""
    return [
        Contender("keep-last", newest),
        Contender("first+last", lambda messages, limit: newest(messages, limit, first=messages[:1])),
        Contender("clear-old-tools", clear_old_tools),
        Contender("summary+recent", lambda messages, limit: summary_and_recent(messages, limit, summarise)),
        Contender("bare ids", bare_ids),
    ]


def nothing_kept(messages: Sequence[Message], room: float) -> str:
    """The worst summary that is one: it names no value and no subject."""
    return "The person asked for several things. The assistant looked up what was needed and carried them out."


def summary_and_recent(messages: Sequence[Message], limit: int, summarise: Summarise) -> list[Message]:
    """As most assistants do it: a summary of what is old in a fifth of the room, the newest messages in the rest."""
    recent = newest(messages, round(limit * (1 - SUMMARY_SHARE)))
    old = messages[: len(messages) - len(recent)]
    if not old:
        return recent
    text = summarise(old, limit * SUMMARY_SHARE)
    page = Message(role="user", content=[text_block(f"Summary of the conversation so far:\n{text}")])
    return newest([page, *recent], limit, first=[page])


def bare_ids(messages: Sequence[Message], limit: int) -> list[Message]:
    """Nothing but what looks like a value, newest first, until it is full: counting values alone is fooled."""
    found = dict.fromkeys(word for message in reversed(messages) for word in reversed(_VALUE.findall(_said(message))))
    words, room = list(found), limit * 1.0
    while True:
        taken, left = [], room
        for word in words:
            left -= text_tokens(f"{word} ", family=Family.NEWER)
            if left < 0:
                break
            taken.append(word)
        page = [Message(role="user", content=[text_block(" ".join(taken) or "-")])]
        if not taken or estimate_tokens(page) <= limit:
            return page
        words, room = taken, room * 0.95


def _said(message: Message) -> str:
    return request_text([message])


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


def _by_strategy(name: str, embed: Embed | None, summarise: Summarise) -> Compact:
    def compact(messages: list[Message], limit: int) -> Sequence[Message]:
        summary: str | None = None
        while True:
            try:
                return _messages(compact_history(messages, strategy=name, limit=limit, embed=embed, summary=summary))
            except CannotFit as refusal:
                return _messages(refusal.result)
            except NeedsSummary as wanted:
                summary = summarise(wanted.messages, SUMMARY_SHARE * limit)
            except NotCompacted:
                return messages

    return compact


def _messages(result: Any) -> list[Message]:
    return [Message(role=message["role"], content=message["content"]) for message in result.messages]
