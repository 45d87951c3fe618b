"""Content blocks on their way to and from the `anthropic` SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.history.server_tools import CALL, as_texts, is_result, is_server_tool
from bot.messages import Block, Message


def for_head(tools: Sequence[Mapping[str, Any]], messages: Sequence[Message]) -> Sequence[Message]:
    """Where the provider's own tools are not offered (any more), what they did is text."""
    return messages if any(map(is_server_tool, tools)) else as_texts(messages)


def plain(block: Mapping[str, Any]) -> Block:
    """A block as it came, as JSON that can go back. What the provider's own tools did stays exactly so."""
    if block["type"] == CALL or is_result(block):
        return dict(block)
    data = {name: value for name, value in block.items() if value is not None}
    if data["type"] == "text":
        text = {"type": "text", "text": data.get("text", "")}
        return {**text, "citations": data["citations"]} if data.get("citations") else text
    if data["type"] == "tool_use":
        return {"type": "tool_use", "id": data["id"], "name": data["name"], "input": data.get("input") or {}}
    return data
