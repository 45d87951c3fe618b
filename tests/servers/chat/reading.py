"""What a request of Chat Completions says, in the form that the brain reads: that of the Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tests.servers.chat.part_rules import DATA_URL
from tests.servers.messages.wire import Json, count

_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def as_messages(body: Json) -> dict[str, Any]:
    """The same request as one of the Messages API; whatever cannot be read is left out.

    Messages of one role that follow each other are one, as results of tools and what people say behind them are there.
    """
    messages = [m for m in body.get("messages") or () if isinstance(m, Mapping)]
    system = [text for m in messages if m.get("role") in ("system", "developer") for text in _texts(m.get("content"))]
    read: dict[str, Any] = {"model": body.get("model"), "messages": list(_merged(messages))}
    if system:
        read["system"] = [{"type": "text", "text": text} for text in system]
    if tools := [tool for tool in map(_tool, body.get("tools") or ()) if tool]:
        read["tools"] = tools
    longest = body.get("max_completion_tokens") or body.get("max_tokens")
    if isinstance(longest, int):
        read["max_tokens"] = longest
    if (choice := body.get("tool_choice")) is not None:
        read["tool_choice"] = {"type": _CHOICES.get(choice, "auto") if isinstance(choice, str) else "tool"}
    if body.get("stream"):
        read["stream"] = True
    return read


def cut_to(read: Json, window: int) -> dict[str, Any]:
    """The request without its oldest messages, so that it fits: https://github.com/ollama/ollama (server/prompt.go)."""
    shorter = dict(read)
    messages = list(read["messages"])
    while len(messages) > 1 and count(shorter) > window:
        messages.pop(0)
        shorter["messages"] = messages
    return shorter


def _merged(messages: Sequence[Json]) -> Iterator[dict[str, Any]]:
    role, blocks = "", list[dict[str, Any]]()
    for message in messages:
        if message.get("role") in ("system", "developer"):
            continue
        its = "assistant" if message.get("role") == "assistant" else "user"
        if its != role and blocks:
            yield {"role": role, "content": blocks}
            blocks = []
        role = its
        blocks = [*blocks, *_blocks(message)]
    if blocks:
        yield {"role": role, "content": blocks}


def _blocks(message: Json) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    if message.get("role") == "tool":
        inner = content if isinstance(content, str) else [{"type": "text", "text": text} for text in _texts(content)]
        yield {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": inner}
        return
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
    for part in parts:
        if isinstance(part, Mapping) and (block := _block(part)):
            yield block
    for call in message.get("tool_calls") or ():
        with suppress(KeyError, TypeError):
            function = call["function"]
            yield {"type": "tool_use", "id": call["id"], "name": function["name"], "input": _input(function)}


def _input(function: Json) -> object:
    try:
        return json.loads(function["arguments"] or "{}")
    except ValueError:
        return {"arguments": function["arguments"]}


def _block(part: Json) -> dict[str, Any] | None:
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": part.get("text")} if part.get("text") else None
    if kind == "refusal":
        return {"type": "text", "text": str(part.get("refusal"))}
    url = {"image_url": (part.get("image_url") or {}), "file": (part.get("file") or {})}.get(str(kind), {})
    found = DATA_URL.match(str(url.get("url") or url.get("file_data") or ""))
    if found is None:
        return None
    source = {"type": "base64", "media_type": found["type"], "data": found["data"]}
    if kind == "image_url":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": url.get("filename")}


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content] if content else []
    parts = content if isinstance(content, list) else []
    return [str(p["text"]) for p in parts if isinstance(p, Mapping) and p.get("type") == "text" and p.get("text")]


def _tool(tool: Any) -> dict[str, Any] | None:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping):
        return None
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function.get("name"), "description": function.get("description"), "input_schema": schema}
