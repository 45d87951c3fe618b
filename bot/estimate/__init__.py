"""How many tokens something takes, how full a context is, and where a text is cut to fit. Pure.

`request` counts messages, pictures, files and tools (sizes of pictures by `media`), `text` what is written, by `rates`;
`meter` is the one number that the gate, the notices, the trace and the page show; `cuts` and `bounds` shorten. What a
provider reports is kept by the agent; nothing here asks anybody.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bot.estimate.request import (
        BLOCK_TOKENS,
        MESSAGE_TOKENS,
        PDF_PAGE_TOKENS,
        TOOL_PROMPT_TOKENS,
        UNKNOWN_DOCUMENT_TOKENS,
        UNKNOWN_IMAGE_TOKENS,
        Family,
        Level,
        Meter,
        Part,
        block_tokens,
        estimate_tokens,
        family_of,
        message_tokens,
        messages_tokens,
        text_tokens,
    )

__all__ = [
    "BLOCK_TOKENS",
    "MESSAGE_TOKENS",
    "PDF_PAGE_TOKENS",
    "TOOL_PROMPT_TOKENS",
    "UNKNOWN_DOCUMENT_TOKENS",
    "UNKNOWN_IMAGE_TOKENS",
    "Family",
    "Level",
    "Meter",
    "Part",
    "block_tokens",
    "estimate_tokens",
    "family_of",
    "message_tokens",
    "messages_tokens",
    "text_tokens",
]


def __getattr__(name: str) -> Any:
    """What is exported, when it is asked for: a process that opens files wants only where a text is cut."""
    if name in __all__:
        return getattr(import_module("bot.estimate.request"), name)
    raise AttributeError(name)
