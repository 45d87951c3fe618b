"""Short ways to ask the model server something through the real client."""

from collections.abc import Sequence
from typing import Any

import anthropic

MODEL = "claude-test"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture, as base64 of a PNG."""
TOOLS: Any = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}]


def user(content: Any) -> Any:
    return {"role": "user", "content": content}


def assistant(content: Any) -> Any:
    return {"role": "assistant", "content": content}


async def ask(client: anthropic.AsyncAnthropic, messages: Sequence[Any], **more: Any) -> anthropic.types.Message:
    more.setdefault("max_tokens", 500)
    reply: anthropic.types.Message = await client.messages.create(model=MODEL, messages=messages, **more)
    return reply


def said(message: anthropic.types.Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


async def stream(client: anthropic.AsyncAnthropic, messages: Sequence[Any], **more: Any) -> anthropic.types.Message:
    async with client.messages.stream(model=MODEL, max_tokens=500, messages=messages, **more) as events:
        return await events.get_final_message()
