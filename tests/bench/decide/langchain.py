"""What langchain-core does with a history. Imported only when it is asked: it need not be installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.messages import Block, Message

REFERENCE = "langchain-core: count_tokens_approximately"


def translated(messages: Sequence[Message]) -> list[Any]:
    """The same history as langchain's messages. ImportError where it is not installed."""
    return [theirs for message in messages for theirs in _translated(message)]


def counted(theirs: list[Any]) -> int:
    """Tokens, as langchain guesses them."""
    from langchain_core.messages.utils import count_tokens_approximately

    return int(count_tokens_approximately(theirs))


def trimmed(theirs: list[Any], *, to: int) -> list[Any]:
    """The last messages that take at most so many tokens."""
    from langchain_core.messages import trim_messages

    return list(trim_messages(theirs, max_tokens=to, token_counter="approximate", strategy="last"))


def _translated(message: Message) -> list[Any]:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    content = message["content"]
    if isinstance(content, str):
        return [HumanMessage(content)]
    if message["role"] == "user":
        return [ToolMessage(block["content"], tool_call_id=block["tool_use_id"]) for block in content]
    calls = [_call(block) for block in content if block["type"] == "tool_use"]
    return [AIMessage("\n".join(block["text"] for block in content if block["type"] == "text"), tool_calls=calls)]


def _call(block: Block) -> dict[str, Any]:
    return {"name": block["name"], "args": block["input"], "id": block["id"]}
