"""Content blocks on their way to and from the `anthropic` SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.messages import Block, Message
from bot.server_tools import CALL, as_texts, is_result, is_server_tool


def for_head(tools: Sequence[Mapping[str, Any]], messages: Sequence[Message]) -> Sequence[Message]:
    """Where the provider's own tools are not offered (any more), what they did is text."""
    return messages if any(map(is_server_tool, tools)) else as_texts(messages)


def plain(block: Any) -> Block:
    """A block of the SDK as JSON that can go back. What the provider's own tools did stays exactly as it came."""
    as_it_came: dict[str, Any] = block.model_dump(mode="json", exclude_unset=True)
    if block.type == CALL or is_result(as_it_came):
        return as_it_came
    data: dict[str, Any] = block.model_dump(mode="json", exclude_none=True)
    if data.get("type") == "text":
        text = {"type": "text", "text": data["text"]}
        return {**text, "citations": as_it_came["citations"]} if data.get("citations") else text
    if data.get("type") == "tool_use":
        return {"type": "tool_use", "id": data["id"], "name": data["name"], "input": data.get("input") or {}}
    return data
