"""A tool of an MCP server: offered under a name of its own, called, and its answer as text and pictures for a model.

The toolbox bounds the answer and keeps the pictures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.agent.tools.mcp.connection import Connection
from bot.agent.tools.mcp.tools import Offer
from bot.agent.tools.tool import Occasion, ToolError
from bot.messages import Block, text_block

if TYPE_CHECKING:
    from mcp_types import CallToolResult

_BYTES_OF_FOUR = 3
"""Four letters of base64 hold so many bytes."""


@dataclass(frozen=True)
class McpTool:
    """A tool of a server, under the name that models call it by."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    idempotent: bool
    connection: Connection
    tool: str

    @classmethod
    def of(cls, name: str, connection: Connection, offer: Offer) -> McpTool:
        """What a server offers."""
        config = connection.config
        idempotent = offer.name in config.idempotent or (config.trust_annotations and offer.harmless)
        return cls(name, offer.description or offer.name, offer.schema, idempotent, connection, offer.name)

    @property
    def characters(self) -> int:
        """What its definition takes."""
        return len(self.name) + len(self.description) + len(json.dumps(self.parameters, ensure_ascii=False))

    @property
    def server(self) -> str:
        """As the operator named it."""
        return self.connection.config.name

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str | Sequence[Block]:
        """What the server gives. Raises ToolError with a sentence for the model."""
        if self.connection.config.admins_only and not occasion.by_admin:
            raise ToolError("Only admins may use this tool.")
        return _shown(await self.connection.call(self.tool, arguments))


def _shown(result: CallToolResult) -> str | Sequence[Block]:
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
