"""What a server answers, as text and pictures for a model. Pure; the toolbox bounds it and keeps the pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bot.agent.tools.tool import ToolError
from bot.messages import Block, text_block

if TYPE_CHECKING:
    from mcp_types import CallToolResult

_BYTES_OF_FOUR = 3
"""Four letters of base64 hold so many bytes."""


def shown(result: CallToolResult) -> str | Sequence[Block]:
    """The result as text, or as blocks where it has pictures. Raises ToolError when the tool says that it failed."""
    blocks = [_block(item) for item in result.content]
    if result.structured_content is not None and not any(item.type == "text" for item in result.content):
        blocks.append(text_block(json.dumps(result.structured_content, ensure_ascii=False)))
    text = "\n\n".join(block["text"] for block in blocks if block["type"] == "text")
    if result.is_error:
        raise ToolError(text if text.strip() else "The tool failed, and does not say why.")
    return blocks if any(block["type"] == "image" for block in blocks) else text


def _block(item: Any) -> Block:
    match item.type:
        case "text":
            return text_block(item.text)
        case "image":
            source = {"type": "base64", "media_type": item.mime_type, "data": item.data}
            return {"type": "image", "source": source}
        case "resource_link":
            about = f": {item.description}" if item.description else ""
            return text_block(f"[Link: {item.title or item.name}, {item.uri}{about}]")
        case "resource" if hasattr(item.resource, "text"):
            return text_block(f"[{item.resource.uri}]\n{item.resource.text}")
        case "resource":
            kind = item.resource.mime_type or "data"
            return text_block(f"[{item.resource.uri}: {kind}, {_size(item.resource.blob):,} bytes, not shown]")
        case kind:
            return text_block(f"[{kind}: {item.mime_type}, {_size(item.data):,} bytes, not shown]")


def _size(data: str) -> int:
    return len(data) * _BYTES_OF_FOUR // 4
