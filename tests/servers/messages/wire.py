"""What crosses the wire of the Messages API, as values that tests can look at."""

import base64
import binascii
import json
import math
import re
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.servers.messages.media import tokens_of_media

Json = Mapping[str, Any]
MARK = re.compile(r'<sent at="[^"\n]*"/>')
Outcome = Literal["running", "completed", "refused", "failed", "hung_up", "cut"]

STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""https://platform.claude.com/docs/en/api/errors"""


class Refused(Exception):
    """An answer other than 200, as the API words it."""

    def __init__(
        self,
        message: str,
        *,
        type: str = "invalid_request_error",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.type = type
        self.status = STATUS_OF.get(type, 400) if status is None else status
        self.retry_after = retry_after

    def body(self, request_id: str) -> Json:
        """The JSON that goes over the wire."""
        error = {"type": self.type, "message": self.message}
        return {"type": "error", "error": error, "request_id": request_id}


def blocks_of(content: object) -> list[Json]:
    """Content as blocks, whichever of its two forms it has."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if isinstance(content, Sequence):
        return [block for block in content if isinstance(block, Mapping)]
    return []


def texts_of(content: object) -> Iterator[str]:
    """Every text a model would read in this content, tool calls and results included."""
    for block in blocks_of(content):
        match block.get("type"):
            case "text":
                yield str(block.get("text", ""))
            case "tool_use":
                arguments = json.dumps(block.get("input"), ensure_ascii=False)
                yield f"{block.get('name', '')} {arguments}"
            case "tool_result":
                yield from texts_of(block.get("content", ""))
            case "document":
                if block.get("source", {}).get("type") == "text":
                    yield str(block["source"].get("data", ""))
            case "thinking":
                yield str(block.get("thinking", ""))
            case "server_tool_use":
                yield f"{block.get('name', '')} {json.dumps(block.get('input'), ensure_ascii=False)}"
            case "web_search_tool_result" | "web_fetch_tool_result":
                yield from _texts_from_the_web(block.get("content"))


def _texts_from_the_web(content: object) -> Iterator[str]:
    for result in content if isinstance(content, list) else [content]:
        if isinstance(result, Mapping):
            yield f"{result.get('title', '')} {result.get('url', '')}"
            yield from texts_of([result.get("content")])
            with suppress(ValueError, binascii.Error):
                yield unsealed(str(result.get("encrypted_content", "")))


def unsealed(value: str) -> str:
    """What `sealed` made unreadable. Raises ValueError where somebody changed it."""
    data = base64.b64decode(value, validate=True)
    if zlib.crc32(data[4:]).to_bytes(4, "big") != data[:4]:
        raise ValueError(value)
    return data[4:].decode()


def tokens_of_text(text: str) -> int:
    """This server's own tokenizer: 3.3 bytes of UTF-8 are one token."""
    return math.ceil(len(text.encode()) / 3.3)


def tokens_of_content(content: object) -> int:
    """Tokens of a system prompt or of one message's content."""
    results = [block for block in blocks_of(content) if block.get("type") == "tool_result"]
    inner = [block for result in results for block in blocks_of(result.get("content", ""))]
    media = sum(tokens_of_media(block) for block in [*blocks_of(content), *inner])
    return sum(map(tokens_of_text, texts_of(content))) + media


def tokens_of_tools(tools: Sequence[Json]) -> int:
    """Tokens of the tool definitions."""
    return tokens_of_text(json.dumps(tools, ensure_ascii=False)) if tools else 0


MESSAGE_TOKENS = 4


def count(body: Json) -> int:
    """Tokens of a whole request: system, tools, and 4 more for each message."""
    return (
        tokens_of_content(body.get("system"))
        + tokens_of_tools(body.get("tools") or [])
        + sum(
            MESSAGE_TOKENS + tokens_of_content(message.get("content"))
            for message in body.get("messages") or []
            if isinstance(message, Mapping)
        )
    )


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model calls. ``cut``: so many characters of its arguments come before the answer ends; wants
    `stop_reason="max_tokens"`."""

    name: str
    input: Json = field(default_factory=dict)
    id: str | None = None
    cut: int | None = None


@dataclass(frozen=True)
class Reply:
    """What the model says; without `stop_reason` it follows from the tool calls. `blocks` come before the text: what
    the server's own tools did, and texts with citations."""

    text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    stop_reason: str | None = None
    blocks: Sequence[Json] = ()
    thinking: str = ""
    """What it thinks first, where its provider shows that."""


@dataclass(frozen=True)
class Usage:
    """Tokens, as the API splits them."""

    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0
    server_tool_use: Json | None = None
    """How often the server's own tools ran."""
    cache_creation: Json | None = None
    """What was written to the cache, by how long it is kept."""

    @property
    def prompt_tokens(self) -> int:
        """The whole prompt, cached or not."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens


@dataclass(frozen=True)
class MessagesRequest:
    """One request, as received. Whatever its wire, `body` is in the form of the Messages API; `sent` is what came over
    another one."""

    body: Json
    index: int
    tokens: int
    merged_roles: bool = False
    wire: Literal["messages", "chat"] = "messages"
    sent: Json | None = None

    @property
    def system(self) -> str:
        """The text of the system prompt."""
        return "\n".join(texts_of(self.body.get("system")))

    @property
    def messages(self) -> Sequence[Json]:
        """The messages, as sent."""
        messages = self.body.get("messages")
        return messages if isinstance(messages, list) else []

    @property
    def tools(self) -> Sequence[Json]:
        """The tool definitions, as sent."""
        return self.body.get("tools") or []

    @property
    def last_user_texts(self) -> list[str]:
        """The text blocks of the last user message."""
        for message in reversed(self.messages):
            if message.get("role") == "user":
                blocks = blocks_of(message.get("content"))
                return [str(b["text"]) for b in blocks if b.get("type") == "text"]
        return []

    @property
    def last_user_words(self) -> list[str]:
        """The same without the marks that say when it was sent; what Chat Completions has in one text, apart."""
        pieces = [piece for text in self.last_user_texts for piece in text.split("\n\n")]
        return [piece for piece in pieces if not MARK.fullmatch(piece)]

    @property
    def last_user_text(self) -> str:
        """The last text block of the last user message, or an empty string."""
        return (self.last_user_texts or [""])[-1]

    @property
    def all_text(self) -> str:
        """Everything the model can read, but for the tool definitions."""
        texts = [self.system]
        texts += [t for m in self.messages for t in texts_of(m.get("content"))]
        return "\n".join(texts)

    @property
    def is_summary(self) -> bool:
        """Whether this asks for a summary of a conversation, not for an answer."""
        asked = self.last_user_text
        return "You write summaries" in self.system or (
            len(asked) > 150 and "summary" in asked and "Write the summary" in asked
        )


Brain = Callable[[MessagesRequest], Reply | Awaitable[Reply]]


@dataclass
class Record:
    """One request and what became of it."""

    request: MessagesRequest
    status: int = 0
    outcome: Outcome = "running"
    usage: Usage = Usage()
    error: Refused | None = None
    reply: Reply | None = None
    deltas: int = 0
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None

    def journal_line(self) -> str:
        """One line of JSON about it."""
        line = {
            "index": self.request.index,
            "status": self.status,
            "outcome": self.outcome,
            "tokens": self.request.tokens,
            "is_summary": self.request.is_summary,
            "merged_roles": self.request.merged_roles,
            "wire": self.request.wire,
            "usage": vars(self.usage),
            "error": self.error and {"type": self.error.type, "message": str(self.error)},
            "reply": self.reply and self.reply.text,
            "body": self.request.body,
        }
        return json.dumps(line, ensure_ascii=False)
