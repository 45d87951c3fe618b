"""What an error of a provider means, in our words: by its status, its type, its code, and its own words.

It is the same on every wire. An ``error`` here is that of an SDK, or anything like one: it has a ``status_code`` (200
where it came in a stream), a ``body``, a ``message`` and a ``response`` with headers.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from bot.errors import Cause, ModelError, ModelOverflow, ModelRefused, cause_of
from bot.model.base import SettingNames
from bot.model.overflow.detection import is_context_overflow, stated_numbers

_RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_RETRIED_TYPES = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
RETRIED = (*map(str, sorted(_RETRIED)), *sorted(_RETRIED_TYPES), "connection", "stream", "invalid")
"""What a try that is worth another can be counted as."""
_BUSY_TYPES = frozenset({"overloaded_error", "rate_limit_error"})
_SEES_NOTHING = re.compile(r"image|multimodal|mmproj|vision", re.IGNORECASE)
"""llama.cpp and Ollama answer 500 to a picture that their model cannot see."""


class TryAgain(ModelError):
    """Worth another try, after ``wait`` seconds (0: our own pace). ``status``: what it is counted as."""

    def __init__(self, sentence: str, wait: float = 0.0, *, status: str = "invalid", cause: Cause = Cause.AWAY) -> None:
        super().__init__(sentence)
        self.cause = cause
        self.wait = wait
        self.status = status


def of_status(error: Any, model: str, names: SettingNames) -> ModelOverflow | ModelRefused | TryAgain:
    """What is to be raised for an answer with this status."""
    status, said = error.status_code, said_in(error)
    if is_context_overflow(error):
        return overflow(said)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and _SEES_NOTHING.search(said):
        return ModelRefused(f"The model's server refused the request ({said}).", of_content=True)
    cause = cause_of(status, types_in(error), said)
    if cause is Cause.CREDIT:  # some call that 429, but waiting pays no bill
        sentence = f"Nothing is left to pay the model's server with ({said})."
        return ModelRefused(f"{sentence} Add credit, or raise the limit of what may be spent.", cause=cause)
    if status in _RETRIED or (status == HTTPStatus.OK and type_in(error) in _RETRIED_TYPES):
        kind = type_in(error) if status == HTTPStatus.OK else str(status)
        cause = cause if cause is Cause.BUSY else Cause.AWAY
        return TryAgain(f"The model is not available ({said}).", retry_after(error), status=kind, cause=cause)
    if cause in (Cause.KEY, Cause.FORBIDDEN):
        sentence = f"The model's server does not accept our key ({said})."
        return ModelRefused(f"{sentence} Check {names.key} and {names.base}.", cause=cause)
    if cause is Cause.MODEL:
        sentence = f"The model's server does not know the model {model!r}."
        return ModelRefused(f"{sentence} Check {names.model} and {names.base}.", cause=cause)
    bare = status == HTTPStatus.BAD_REQUEST and not message_in(error)
    return ModelRefused(f"The model's server refused the request ({said}).", bare=bare, of_content=True)


def in_stream(error: Any) -> ModelOverflow | TryAgain:
    """What is to be raised for an error in the middle of an answer."""
    said = said_in(error)
    if is_context_overflow(error):
        return overflow(said)
    kind = type_in(error)
    status = kind if kind in _RETRIED_TYPES else "stream"
    cause = Cause.BUSY if kind in _BUSY_TYPES else Cause.AWAY
    return TryAgain(f"The model broke off its answer ({said}).", status=status, cause=cause)


def overflow(said: str) -> ModelOverflow:
    """A provider that refuses a context may say how large it was, and how much would have fitted."""
    numbers = stated_numbers(said)
    if numbers is None:
        return ModelOverflow(said)
    misread = numbers.asked and numbers.limit and numbers.asked <= numbers.limit
    return ModelOverflow(said, asked=numbers.asked, window=None if misread else numbers.limit)


def unreachable() -> TryAgain:
    """What is to be raised where the connection broke, before or in the middle of an answer."""
    return TryAgain("The model's server cannot be reached or broke off its answer.", status="connection")


def no_message() -> TryAgain:
    """What is to be raised for an answer that is none."""
    return TryAgain("The model's server answered something that is not a message.")


def no_end() -> TryAgain:
    """What is to be raised for an answer that stops before it says why."""
    return TryAgain("The model's server broke off its answer.", status="stream")


def said_in(error: Any) -> str:
    """One line of it."""
    lines = _without_markup((message_in(error) or str(error.message)).strip()).splitlines()
    return lines[0][:300] if lines else "no reason given"


def _without_markup(text: str) -> str:
    """Of a page that some proxy answers, its words."""
    if not text.startswith("<"):
        return text
    return " ".join(_TAG.sub(" ", _UNSEEN.sub(" ", text)).split())


_UNSEEN = re.compile(r"<!--.*?-->|<(script|style|head)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def message_in(error: Any) -> str:
    """What the body says, if it says anything."""
    if isinstance(error.body, str):
        return error.body.strip()
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    return str(inner.get("message") or "").strip() if isinstance(inner, dict) else str(inner).strip()


def type_in(error: Any) -> str:
    """What kind of error the body names; empty where it names none."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    return str(inner.get("type", "")) if isinstance(inner, dict) else ""


def types_in(error: Any) -> tuple[str, ...]:
    """All that the body names as its kind: some say it in ``type`` alone, some in ``code``."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    named = [inner.get("type"), inner.get("code")] if isinstance(inner, dict) else []
    return tuple(str(one) for one in named if one)


def retry_after(error: Any) -> float:
    """Seconds that the provider wants us to wait; 0 where it does not say."""
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0
