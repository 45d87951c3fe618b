"""What crosses the wire of the Bot API, as values that tests can look at."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.servers.telegram.files import StoredFile

Json = Mapping[str, Any]

NUMBERS = frozenset(
    {
        "chat_id",
        "draft_id",
        "from_chat_id",
        "limit",
        "max_connections",
        "message_id",
        "message_thread_id",
        "offset",
        "timeout",
        "user_id",
    }
)
FLAGS = frozenset(
    {
        "can_stop",
        "disable_notification",
        "drop_pending_updates",
        "has_spoiler",
        "is_big",
        "keep_on_stop",
        "protect_content",
        "revoke",
        "show_alert",
    }
)
STRUCTURES = frozenset(
    {
        "allowed_updates",
        "caption_entities",
        "commands",
        "entities",
        "link_preview_options",
        "message_ids",
        "reaction",
        "reply_markup",
        "reply_parameters",
        "rich_message",
        "scope",
    }
)


class Rejected(Exception):
    """An answer with `ok: false`; its code is the HTTP status too."""

    def __init__(
        self,
        code: int,
        description: str,
        *,
        retry_after: int | None = None,
        migrate_to_chat_id: int | None = None,
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.retry_after = retry_after
        self.migrate_to_chat_id = migrate_to_chat_id

    def body(self) -> Json:
        """The JSON that goes over the wire."""
        body: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        parameters = {"retry_after": self.retry_after, "migrate_to_chat_id": self.migrate_to_chat_id}
        if known := {name: value for name, value in parameters.items() if value is not None}:
            body["parameters"] = known
        return body


def bad_request(reason: str) -> Rejected:
    """What nearly every rule answers with."""
    return Rejected(400, f"Bad Request: {reason}")


def forbidden(reason: str) -> Rejected:
    """What someone's decision against the bot brings about."""
    return Rejected(403, f"Forbidden: {reason}")


def too_many_requests(seconds: int) -> Rejected:
    """What a flood limit answers with."""
    return Rejected(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


def conflict(reason: str) -> Rejected:
    """What a second poller, or a poller beside a webhook, brings about."""
    return Rejected(409, f"Conflict: {reason}")


@dataclass(frozen=True)
class Upload:
    """A file in a multipart request."""

    name: str
    content: bytes = field(repr=False)


async def read_parameters(http: web.Request) -> dict[str, Any]:
    """Query, JSON, form or multipart, typed by the name of the field; a file is an `Upload`."""
    raw: dict[str, Any] = dict(http.query)
    if http.content_type == "application/json":
        try:
            body = await http.json()
        except ValueError:
            raise bad_request("can't parse JSON object") from None
        raw |= body
    elif http.method == "POST":
        try:
            raw |= dict(await http.post())
        except web.HTTPRequestEntityTooLarge:
            raise Rejected(413, "Request Entity Too Large") from None
    return {name: _typed(name, value) for name, value in raw.items()}


def _typed(name: str, value: Any) -> Any:
    if isinstance(value, web.FileField):
        with value.file as file:
            return Upload(value.filename, file.read())
    if not isinstance(value, str):
        return value
    if name in NUMBERS:
        return int(value) if value.removeprefix("-").isdecimal() else value
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
    """A chat as the platform knows it.

    `topics` are names by id; `moved_to` is the supergroup that a group became; `admin` is about the bot.
    `allowed_reactions` are emoji, `None` where all of Telegram's are.
    """

    id: int
    type: str
    title: str
    blocked: bool = False
    started: bool = True
    deactivated: bool = False
    member: bool = True
    admin: bool = False
    forum: bool = False
    moved_to: int | None = None
    topics: dict[int, str] = field(default_factory=dict)
    allowed_reactions: frozenset[str] | None = None

    @property
    def private(self) -> bool:
        """Whether it is with one person."""
        return self.type == "private"

    def wire(self) -> Json:
        """Its JSON."""
        name = "first_name" if self.private else "title"
        body = {"id": self.id, "type": self.type, name: self.title}
        return body | {"is_forum": True} if self.forum else body


@dataclass
class SentMessage:
    """A message of the bot, with what it said before each edit.

    `text` is what people read now (trimmed, markup taken out; a file's caption); `source` is the same with
    its markup, where it has a parse mode or is rich. `at` is `time.monotonic()`, `edited_at` has one for
    each edit. `file` is what was sent along, `rich` the blocks of a rich message.
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
    file: StoredFile | None = None
    rich: list[Json] | None = None

    @property
    def buttons(self) -> list[Json]:
        """The inline buttons, row after row."""
        rows = (self.reply_markup or {}).get("inline_keyboard", [])
        return [button for row in rows for button in row]
