"""How many tokens a request takes, guessed before anyone is asked: its texts, pictures, documents, tools and
framing.

Pure: no I/O, no clock, no settings.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.image_size import image_size
from bot.messages import Block
from bot.meter import Level, Meter, Part
from bot.text_tokens import Family, family_of, text_tokens

__all__ = [
    "Family",
    "Level",
    "Meter",
    "Part",
    "block_tokens",
    "estimate_tokens",
    "family_of",
    "message_tokens",
    "text_tokens",
]

MESSAGE_TOKENS = 4
"""Framing of one message: its role and its separators."""

BLOCK_TOKENS = 12
"""Framing of a tool call or a tool result: its kind and its id."""

TOOL_PROMPT_TOKENS = 346
"""The system prompt that Anthropic adds when a request has tools (its tool-use page: 313 to 346); for Claude
only.
"""

PIXELS_PER_TOKEN = 750
"""Anthropic's vision page: tokens = width × height / 750."""

LARGEST_IMAGE_TOKENS = {Family.OLDER: 1_600, Family.NEWER: 4_784}
"""Larger pictures are scaled down before the model sees them (vision page)."""

UNKNOWN_IMAGE_TOKENS = 1_600
"""A picture whose size is not known: a URL, a file id, an unknown format."""

PDF_PAGE_TOKENS = 2_250
"""A page of a PDF, its text and a picture of it: 1,500 to 3,000 in Anthropic's page on PDF support."""

PDF_PAGE_BYTES = 50_000
"""Size of a page, where a PDF does not show how many it has."""

MOST_PDF_PAGES = 600
"""A request with more is refused (PDF support page)."""

UNKNOWN_DOCUMENT_TOKENS = 3 * PDF_PAGE_TOKENS

_PDF_PAGE = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")


def estimate_tokens(
    messages: Iterable[Mapping[str, Any]],
    *,
    system: str | Sequence[str | Block] | None = None,
    tools: Iterable[Mapping[str, Any]] | None = None,
    model: str | None = None,
) -> int:
    """The input tokens of a request to the Messages API, rounded up.

    ``messages``: ``{"role", "content"}`` with a string or a list of blocks. ``system``: a string or a list
    of blocks. ``tools``: tool definitions. ``model`` chooses the tokenizer family (:func:`family_of`), the
    newest by default.
    """
    family = family_of(model)
    total = sum(message_tokens(message, family=family) for message in messages)
    total += _content_tokens(system, family)
    definitions = list(tools or ())
    total += sum(text_tokens(_json(tool), family=family) for tool in definitions)
    if definitions and (model or "").startswith("claude-"):
        total += TOOL_PROMPT_TOKENS
    return math.ceil(total)


def message_tokens(message: Mapping[str, Any], *, family: Family) -> float:
    """The tokens of one message with its framing."""
    return MESSAGE_TOKENS + _content_tokens(message.get("content"), family)


def block_tokens(block: str | Block, *, family: Family) -> float:
    """The tokens of one content block of any type; of a type that is not known, those of its JSON."""
    if isinstance(block, str):
        return text_tokens(block, family=family)
    match block.get("type"):
        case "text":
            return text_tokens(str(block.get("text") or ""), family=family)
        case "thinking":
            return text_tokens(str(block.get("thinking") or ""), family=family)
        case "image":
            return _image_tokens(block, family)
        case "document":
            return _document_tokens(block, family)
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            call = f"{block.get('name', '')} {_json(block.get('input') or {})}"
            return BLOCK_TOKENS + text_tokens(call, family=family)
        case "tool_result" | "mcp_tool_result":
            return BLOCK_TOKENS + _content_tokens(block.get("content"), family)
        case _:
            return text_tokens(_json(block), family=family)


def _content_tokens(content: object, family: Family) -> float:
    if content is None:
        return 0.0
    if isinstance(content, str):
        return text_tokens(content, family=family)
    if isinstance(content, Mapping):
        return block_tokens(content, family=family)
    if isinstance(content, Iterable):
        return sum(block_tokens(block, family=family) for block in content if isinstance(block, str | Mapping))
    return text_tokens(str(content), family=family)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _source(block: Block) -> Mapping[str, Any]:
    source = block.get("source")
    return source if isinstance(source, Mapping) else {}


def _image_tokens(block: Block, family: Family) -> float:
    source = _source(block)
    match source.get("type"):
        case "base64":
            size = image_size(str(source.get("data") or ""))
        case "folder":
            size = (source["width"], source["height"])
        case _:
            size = None
    if size is None:
        return UNKNOWN_IMAGE_TOKENS
    return min(max(1.0, size[0] * size[1] / PIXELS_PER_TOKEN), LARGEST_IMAGE_TOKENS[family])


def _document_tokens(block: Block, family: Family) -> float:
    titles = " ".join(str(block[key]) for key in ("title", "context") if block.get(key))
    source = _source(block)
    match source.get("type"):
        case "text":
            body = text_tokens(str(source.get("data") or ""), family=family)
        case "content":
            body = _content_tokens(source.get("content"), family)
        case "base64":
            body = _pdf_pages(str(source.get("data") or "")) * PDF_PAGE_TOKENS
        case "folder":
            body = source["pages"] * PDF_PAGE_TOKENS
        case _:
            body = UNKNOWN_DOCUMENT_TOKENS
    return body + text_tokens(titles, family=family)


def _pdf_pages(data: str) -> int:
    """The pages that a PDF shows, or a guess by its size: newer files keep their page objects compressed."""
    try:
        raw = base64.b64decode(data)
    except (binascii.Error, ValueError):
        raw = b""
    pages = len(_PDF_PAGE.findall(raw)) or math.ceil(len(data) * 3 / 4 / PDF_PAGE_BYTES)
    return min(max(1, pages), MOST_PDF_PAGES)
