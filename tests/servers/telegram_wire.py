"""What crosses the wire of the Bot API, as values that tests can look at."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = Mapping[str, Any]

NUMBERS = frozenset(
    {"chat_id", "draft_id", "from_chat_id", "limit", "message_id", "message_thread_id", "offset", "timeout"}
)
FLAGS = frozenset({"disable_notification", "drop_pending_updates", "is_big", "protect_content", "revoke", "show_alert"})
STRUCTURES = frozenset(
    {
        "allowed_updates",
        "commands",
        "entities",
        "link_preview_options",
        "message_ids",
        "reaction",
        "reply_markup",
        "reply_parameters",
        "scope",
    }
)


class Rejected(Exception):
    """An answer with `ok: false`; its code is the HTTP status too."""

    def __init__(self, code: int, description: str, *, retry_after: int | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.retry_after = retry_after

    def body(self) -> Json:
        """The JSON that goes over the wire."""
        body: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        if self.retry_after is not None:
            body["parameters"] = {"retry_after": self.retry_after}
        return body


def bad_request(reason: str) -> Rejected:
    """What nearly every rule answers with."""
    return Rejected(400, f"Bad Request: {reason}")


def too_many_requests(seconds: int) -> Rejected:
    """What a flood limit answers with."""
    return Rejected(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


def conflict(reason: str) -> Rejected:
    """What a second poller, or a poller beside a webhook, brings about."""
    return Rejected(409, f"Conflict: {reason}")


async def read_parameters(http: web.Request) -> dict[str, Any]:
    """Query, JSON, form or multipart, typed by the name of the field."""
    raw: dict[str, Any] = dict(http.query)
    if http.content_type == "application/json":
        try:
            body = await http.json()
        except ValueError:
            raise bad_request("can't parse JSON object") from None
        raw |= body
    elif http.method == "POST":
        raw |= dict(await http.post())
    return {name: _typed(name, value) for name, value in raw.items()}


def _typed(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in NUMBERS:
        return int(value) if value.lstrip("-").isdigit() else value
    if name in FLAGS:
        return value.lower() in ("true", "1")
    if name in STRUCTURES:
        try:
            return json.loads(value)
        except ValueError:
            raise bad_request(f"can't parse {name} JSON object") from None
    return value


@dataclass(frozen=True)
class Call:
    """One request of the bot and the status that it got; 0 where it got no answer."""

    method: str
    params: Json
    status: int
    at: float = field(default_factory=time.monotonic)


@dataclass
class Chat:
    """A chat as the platform knows it."""

    id: int
    type: str
    title: str
    blocked: bool = False

    def wire(self) -> Json:
        """Its JSON."""
        name = "first_name" if self.type == "private" else "title"
        return {"id": self.id, "type": self.type, name: self.title}


@dataclass
class SentMessage:
    """A message of the bot, with what it said before each edit.

    `text` is what people read now (trimmed, markup taken out); `source` is the same with
    its markup, where it has a parse mode. `at` is `time.monotonic()`, `edited_at` has one for each edit.
    """

    message_id: int
    chat_id: int
    text: str
    source: str
    at: float
    thread_id: int | None = None
    reply_to: int | None = None
    reply_markup: Json | None = None
    entities: list[Json] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)
    edited_at: list[float] = field(default_factory=list)
    reactions: list[Json] = field(default_factory=list)
    deleted: bool = False

    @property
    def buttons(self) -> list[Json]:
        """The inline buttons, row after row."""
        rows = (self.reply_markup or {}).get("inline_keyboard", [])
        return [button for row in rows for button in row]
