"""What an error of a provider says: its words, its type and its status, whatever shape it comes in.

An SDK's exception has them in attributes, a gateway's in a body or in a response, botocore's in a dictionary, a task
group's in its members. They are read by name, and no SDK is imported. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 8_000
"""Characters of a message that are read, half of them from its end: a body may quote the whole request. Every pattern
over it looks a bounded way ahead, so that this bounds the time too."""

_DEEPEST = 4
"""Causes of causes, and groups in groups, that are followed."""

_ESCAPED_CHARACTER = re.compile(r"\\{1,4}u([0-9a-fA-F]{4})")
_ESCAPED_SPACE = re.compile(r"\\{1,4}[nrt]")
_RUN_TOGETHER = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_NOT = re.compile(r"n't\b|n’t\b", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s_\-`'\"’“”\\*]+")

_STATUS_IN_TEXT = re.compile(
    r"(?:error code|status(?: code)?|http(?:/\d(?:\.\d)?)?)\s?[:=]?\s?(\d{3})\b"
    r"|^(?:\w*error:? )?([45]\d\d)(?= [a-z{<(])"
)


@dataclass(frozen=True)
class Wording:
    """One error, without its causes."""

    words: str
    """Lower case; one space for white space, underscores, hyphens, quotes and backslashes, and one before a capital
    inside a name in camel case."""
    type_name: str
    """The exception's class; empty for a text."""
    status: int | None
    """HTTP; as an attribute says it, else as the words do."""


def wordings(error: BaseException | str, status: int | None = None) -> Iterator[Wording]:
    """``error``, and the errors that it came from, outermost first. ``status``: instead of theirs."""
    if isinstance(error, str):
        yield _wording(error, "", status)
        return
    for one in _errors(error, _DEEPEST):
        yield _wording(_text(one), type(one).__name__, status if status is not None else _status(one))


def normalized(text: str) -> str:
    """The ``words`` of a `Wording`; a text of more than ``LONGEST`` characters without its middle."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"
    text = _ESCAPED_CHARACTER.sub(lambda found: chr(int(found[1], 16)), text)
    text = _NOT.sub("nt", _RUN_TOGETHER.sub(" ", _ESCAPED_SPACE.sub(" ", text)))
    return _SEPARATORS.sub(" ", text.lower()).strip()


def _wording(text: str, type_name: str, status: int | None) -> Wording:
    words = normalized(text)
    if status is None and (found := _STATUS_IN_TEXT.search(words)):
        status = int(found[1] or found[2])
    return Wording(words, type_name, status)


def _errors(error: BaseException, depth: int) -> Iterator[BaseException]:
    """Not the ``__context__``: who answers an overflow may fail for a reason of his own."""
    yield error
    if depth > 1:
        members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        for one in (*members, error.__cause__):
            if one is not None:
                yield from _errors(one, depth - 1)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        return _http(_at(response, "ResponseMetadata", "HTTPStatusCode"))
    for holder in (error, response):
        for name in ("status_code", "status", "http_status", "code"):
            if (status := _http(getattr(holder, name, None))) is not None:
                return status
    return None


def _http(value: object) -> int | None:
    """Providers number their own errors too, in the same attributes."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:  # noqa: PLR2004  # what HTTP has
        return value
    return None


def _text(error: BaseException) -> str:
    pieces = [str(error)]
    for name in ("message", "code", "type", "status"):
        value = getattr(error, name, None)
        if isinstance(value, str):
            pieces.append(value)
    pieces.append(_body(getattr(error, "body", None)))
    response = getattr(error, "response", None)
    pieces.append(_body(response) if isinstance(response, Mapping) else _text_of_response(response))
    return "\n".join(filter(None, dict.fromkeys(pieces)))


def _body(body: object) -> str:
    if isinstance(body, bytes):
        return body.decode(errors="replace")
    if isinstance(body, Mapping):
        return json.dumps(body.get("error") or body.get("Error") or body, default=str, ensure_ascii=False)
    return body if isinstance(body, str) else ""


def _text_of_response(response: object) -> str:
    try:
        text = getattr(response, "text", None)
    except RuntimeError:  # httpx's ResponseNotRead: a stream whose body nobody has read
        return ""
    return text if isinstance(text, str) else ""


def _at(mapping: Mapping[Any, Any], *keys: str) -> object:
    value: object = mapping
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
