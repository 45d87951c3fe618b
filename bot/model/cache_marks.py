"""Where the provider is told to remember a prompt, so that the next request reads it for a tenth of the price. Pure.

A prompt is read from the cache as far as it is, word for word, what an earlier request marked. All of the four marks
that a request may have are used::

    tools, system ■  rules ■  said, answered, … said ■  called, result, called, result ■
                  │        │                         │                  all of it; the API puts this one down ┘
                  │        │                         └ where the request before this one ended
                  │        └ the head: what is still read when a compaction has changed everything behind it
                  └ … and when that has changed what people's rules stand there

The API looks back over only 20 blocks from a mark for what it remembers, and one reply with ten calls and their results
is longer than that; so the end of the request before is marked again.
https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from bot.messages import Block, Message, text_block

Life = Literal["5m", "1h"]
"""How long the provider remembers after the last use. Writing costs 1.25 times the input price, or twice it."""


def seconds_of(life: Life) -> float:
    """So long is that."""
    return 3600.0 if life == "1h" else 300.0


class Mark(TypedDict, total=False):
    """As the API takes it."""

    type: Required[Literal["ephemeral"]]
    ttl: Life


def mark_for(life: Life) -> Mark:
    """On a block, or at the top level of a request."""
    return Mark(type="ephemeral") if life == "5m" else Mark(type="ephemeral", ttl=life)


def marked_head(system: str, tools: Sequence[Mapping[str, Any]], mark: Mark, standing: str = "") -> dict[str, Any]:
    """The request's ``tools`` and ``system``, the end of them marked, and the end of what stands behind that; what is
    empty is left out."""
    head: dict[str, Any] = {"tools": list(tools)} if tools else {}
    if parts := [{**text_block(text), "cache_control": mark} for text in (system, standing) if text]:
        head["system"] = parts
    return head


def marked(messages: Sequence[Message], mark: Mark) -> list[Message]:
    """The messages with the end of the request before marked: what the last reply answered. None are changed."""
    page = list(messages)
    replies = [index for index, message in enumerate(page) if message["role"] == "assistant"]
    if not replies or replies[-1] == 0:
        return page
    asked = replies[-1] - 1
    content = page[asked]["content"]
    blocks: list[Block] = [text_block(content)] if isinstance(content, str) else list(content)
    if page[asked]["role"] == "user" and blocks:
        page[asked] = Message(role="user", content=[*blocks[:-1], {**blocks[-1], "cache_control": mark}])
    return page
