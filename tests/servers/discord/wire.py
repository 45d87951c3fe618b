"""What crosses the wire of Discord's REST API, as values that tests can look at."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import BodyPartReader, web

Json = Mapping[str, Any]

LARGEST_NUMBER_OF_FILES = 10


class Refused(Exception):
    """An answer that is no success, with one of the codes that Discord documents.

    https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
    """

    def __init__(
        self,
        status: int,
        code: int,
        message: str,
        *,
        more: Json | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {code} {message}")
        self.status = status
        self.code = code
        self.message = message
        self.more = more or {}
        self.headers = headers or {}

    def answer(self) -> web.Response:
        """The HTTP response."""
        return json_answer({"message": self.message, "code": self.code, **self.more}, self.status, self.headers)


def invalid_form(path: str, code: str, message: str) -> Refused:
    """What a body that breaks a rule is answered with; `path` is `components.0.components`, say.

    https://docs.discord.com/developers/reference#error-messages
    """
    tree: dict[str, Any] = {"_errors": [{"code": code, "message": message}]}
    for name in reversed(path.split(".")):
        tree = {name: tree}
    return Refused(400, 50035, "Invalid Form Body", more={"errors": tree})


def too_long(path: str, most: int) -> Refused:
    """A text of more characters than it may have."""
    return invalid_form(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")


def bad_length(path: str, least: int, most: int) -> Refused:
    """A text or list that is too short or too long."""
    return invalid_form(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")


def required(path: str) -> Refused:
    """A field that is missing."""
    return invalid_form(path, "BASE_TYPE_REQUIRED", "This field is required")


def unknown(what: str, code: int) -> Refused:
    """Something that is not there (any more)."""
    return Refused(404, code, f"Unknown {what}")


def unauthorized() -> Refused:
    """A token that is not the bot's."""
    return Refused(401, 0, "401: Unauthorized")


def rate_limited(seconds: float, scope: str = "user") -> Refused:
    """What one call too many is answered with; the scope is `user`, `shared` or `global`.

    https://docs.discord.com/developers/topics/rate-limits#exceeding-a-rate-limit
    """
    headers = {"Via": "1.1 google", "Retry-After": f"{seconds:g}", "X-RateLimit-Scope": scope}
    if scope == "global":
        headers["X-RateLimit-Global"] = "true"
    more = {"retry_after": seconds, "global": scope == "global"}
    return Refused(429, 0, "You are being rate limited.", more=more, headers=headers)


def json_answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """JSON as Discord sends it: discord.py does not parse it if the content type names a charset."""
    encoded = json.dumps(body).encode()
    return web.Response(body=encoded, status=status, headers={"Content-Type": "application/json", **(headers or {})})


@dataclass(frozen=True)
class Upload:
    """A file of a multipart body; `index` is the n of its field `files[n]`."""

    index: int
    filename: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Request:
    """A call of the API, read; `ids` are the variable parts of its path."""

    method: str
    ids: Mapping[str, str]
    query: Mapping[str, str]
    payload: Any
    uploads: tuple[Upload, ...] = ()

    def id(self, name: str) -> int:
        """A snowflake of the path; 50035 if it is none."""
        if not self.ids[name].isascii() or not self.ids[name].isdigit():
            raise invalid_form(f"{name}_id", "NUMBER_TYPE_COERCE", f'Value "{self.ids[name]}" is not snowflake.')
        return int(self.ids[name])

    @property
    def form(self) -> Json:
        """The body, which has to be an object."""
        if not isinstance(self.payload, dict):
            raise invalid_form("body", "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType")
        return self.payload


@dataclass(frozen=True)
class Call:
    """One request of the bot and the status that it got; 0 where it got no answer."""

    method: str
    verb: str
    path: str
    params: Any
    status: int
    at: float = field(default_factory=time.monotonic)


async def read_body(http: web.Request) -> tuple[Any, tuple[Upload, ...]]:
    """The JSON of a body and the files beside it."""
    if http.content_type.startswith("multipart/"):
        return await _read_multipart(http)
    text = await http.text()
    return (_parsed(text) if text else {}), ()


async def _read_multipart(http: web.Request) -> tuple[Any, tuple[Upload, ...]]:
    payload: Any = {}
    uploads: list[Upload] = []
    async for part in await http.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        content = bytes(await part.read())
        if part.name == "payload_json":
            payload = _parsed(content.decode())
        elif part.name.startswith("files[") and part.filename:
            uploads.append(Upload(int(part.name[6:-1]), part.filename, content))
    if len(uploads) > LARGEST_NUMBER_OF_FILES:
        raise bad_length("files", 0, LARGEST_NUMBER_OF_FILES)
    return payload, tuple(uploads)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Refused(400, 50109, "The request body contains invalid JSON.") from None
