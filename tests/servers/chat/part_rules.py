"""What Chat Completions refuses about a message's content: texts, pictures, files."""

from __future__ import annotations

import re
from typing import Any

from tests.servers.chat.manners import Manner
from tests.servers.chat.refusals import ChatRefused
from tests.servers.messages.media import problem_of
from tests.servers.messages.wire import Json

DATA_URL = re.compile(r"^data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)$", re.DOTALL)
_PARTS = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}


def check_content(number: int, message: Json, manner: Manner) -> None:
    """Raise `ChatRefused` unless this content may be sent in this role."""
    content, role = message.get("content"), message["role"]
    if content is None:
        if role == "assistant" and message.get("tool_calls") and not manner.never_null:
            return
        raise ChatRefused(
            "Invalid value for 'content': expected a string, got null.", param=f"messages.[{number}].content"
        )
    if not isinstance(content, str | list):
        raise ChatRefused(
            f"Invalid type for 'messages[{number}].content': expected one of a string or array of objects.",
            param=f"messages[{number}].content",
            code="invalid_type",
        )
    if content == []:
        raise ChatRefused(
            f"Invalid 'messages[{number}].content': empty array. Expected an array with minimum length 1, but got an"
            " empty array instead.",
            param=f"messages[{number}].content",
            code="empty_array",
        )
    if isinstance(content, list):
        for place, part in enumerate(content):
            _check_part(f"messages[{number}].content[{place}]", part, role, manner)
    if not manner.empty:
        _check_something(number, message, manner)


def _check_something(number: int, message: Json, manner: Manner) -> None:
    content = message["content"]
    said = content if isinstance(content, str) else "".join(str(part.get("text", "x")) for part in content)
    if said or message.get("tool_calls") or message["role"] == "tool":
        return
    if manner.form == "mistral":
        raise ChatRefused("Assistant message must have either content or tool_calls, but not none.", code="3240")
    raise ChatRefused(f"* GenerateContentRequest.contents[{number}].parts: contents.parts must not be empty.\n")


def _check_part(at: str, part: Any, role: str, manner: Manner) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    allowed = _PARTS.get(role, ("text",))
    if kind == "image_url" and role != "user":
        raise ChatRefused(
            f"Invalid '{at.partition('.')[0]}'. Image URLs are only allowed for messages with role 'user', but this"
            f" message with role '{role}' contains an image URL.",
            param=at.partition(".")[0],
            code="invalid_value",
        )
    if kind not in allowed:
        values = " and ".join(f"'{one}'" for one in allowed)
        raise ChatRefused(
            f"Invalid value: '{kind}'. Supported values are: {values}.", param=f"{at}.type", code="invalid_value"
        )
    if kind == "text" and not isinstance(part.get("text"), str):
        raise ChatRefused(f"Missing required parameter: '{at}.text'.", param=f"{at}.text")
    if kind == "image_url":
        _check_picture(at, part, manner)
    if kind == "file":
        _check_file(at, part, manner)


def _check_picture(at: str, part: Json, manner: Manner) -> None:
    if not manner.images:
        raise ChatRefused(
            f"Failed to deserialize the JSON body into the target type: {at.partition('.')[0]}: unknown variant"
            " `image_url`, expected `text` at line 1 column 123"
        )
    url = part["image_url"].get("url") if isinstance(part.get("image_url"), dict) else None
    if not isinstance(url, str):
        raise ChatRefused(f"Missing required parameter: '{at}.image_url.url'.", param=f"{at}.image_url.url")
    if url.startswith(("http://", "https://")):
        return
    found = DATA_URL.match(url)
    if found is None:
        raise ChatRefused(
            f"Invalid '{at}.image_url.url'. Expected a base64-encoded data URL with an image MIME type (e.g."
            " 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without the 'data:' prefix.",
            param=f"{at}.image_url.url",
            code="invalid_value",
        )
    source = {"type": "base64", "media_type": found["type"], "data": found["data"]}
    if problem_of({"type": "image", "source": source}):
        raise ChatRefused(
            "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png',"
            " 'jpeg', 'gif', 'webp'].",
            code="invalid_image_format",
        )


def _check_file(at: str, part: Json, manner: Manner) -> None:
    if not manner.documents:
        raise ChatRefused(f"Invalid value: 'file'. Unknown part type: file ({at})", param=f"{at}.type")
    file = part.get("file")
    if not isinstance(file, dict) or not (file.get("file_id") or file.get("file_data")):
        raise ChatRefused(f"Missing required parameter: '{at}.file.file_data'.", param=f"{at}.file.file_data")
    if file.get("file_id"):
        return
    if not file.get("filename"):
        raise ChatRefused(f"Missing required parameter: '{at}.file.filename'.", param=f"{at}.file.filename")
    found = DATA_URL.match(str(file["file_data"]))
    if found is None or found["type"] != "application/pdf":
        raise ChatRefused(
            f"Invalid '{at}.file.file_data'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g."
            " 'data:application/pdf;base64,aW1nIGJ5dGVzIGhlcmU='), but got another value.",
            param=f"{at}.file.file_data",
            code="invalid_value",
        )
    source = {"type": "base64", "media_type": found["type"], "data": found["data"]}
    if problem := problem_of({"type": "document", "source": source}):
        raise ChatRefused(f"Invalid file data: '{at}.file.file_data'. {problem}", code="invalid_value")
