"""What an error of a provider means, in our words: by its status, its type, its code, and its own words.

It is the same on every wire. An ``error`` here is that of an SDK, or anything like one: it has a ``status_code`` (200
where it came in a stream), a ``body``, a ``message`` and a ``response`` with headers.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from bot.errors import Cause, ModelError, ModelOverflow, ModelRefused, cause_of
from bot.model.base import SettingNames
from bot.model.overflow.detection import is_context_overflow, stated_numbers
from bot.runtime.providers import ANTHROPIC

_RETRIED = frozenset({408, 409, 429, 498, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_RETRIED_TYPES = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
SILENCE = "silence"
"""What a try is counted as that took so long that nobody wants to wait for another one of the same."""
RETRIED = (*map(str, sorted(_RETRIED)), *sorted(_RETRIED_TYPES), "connection", "stream", "invalid", SILENCE)
"""What a try that is worth another can be counted as."""
_BUSY_TYPES = frozenset({"overloaded_error", "rate_limit_error"})
_NOT_HERE = re.compile(r"^\W*(invalid url|unknown request url|(file |resource |page )?not found\b\W*$)", re.IGNORECASE)
"""What is said where a path is not known, and not a model."""
_SEES_NOTHING = re.compile(r"image|multimodal|mmproj|vision", re.IGNORECASE)
"""llama.cpp and Ollama answer 500 to a picture that their model cannot see."""
_OF_A_MINUTE = re.compile(r"\btokens per minute\b.*?\blimit ([\d,]+), requested ([\d,]+)", re.IGNORECASE)
"""A request that is larger than what may be asked in a whole minute never fits: https://console.groq.com/docs/errors"""


_NO_TOOLS = re.compile(
    r"does not support (?:tools|tool use|function calling)|support tool use|function tools with \S+ are not supported"
    r"|'reasoning_effort' does not support 'none'",
    re.IGNORECASE,
)
"""Ollama; OpenRouter ("No endpoints found that support tool use"); OpenAI of models that want another API for them, or
that reason whatever they are told: https://github.com/BerriAI/litellm/pull/34569."""
_OTHER_API = re.compile(r"only supported in v1/|not a chat model", re.IGNORECASE)
"""OpenAI of models that it offers over another of its APIs alone."""


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
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and (found := _OF_A_MINUTE.search(said)):
        return ModelOverflow(said, asked=_tokens(found[2]), window=_tokens(found[1]))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and _SEES_NOTHING.search(said):
        return ModelRefused(f"The model's server refused the request ({said}).", of_content=True)
    cause = cause_of(status, types_in(error), said)
    if cause is Cause.CREDIT:  # some call that 429, but waiting pays no bill
        sentence = f"Nothing is left to pay the model's server with ({said})."
        return ModelRefused(sentence, cause=cause, advice="Add credit, or raise the limit of what may be spent.")
    if status in _RETRIED or (status == HTTPStatus.OK and type_in(error) in _RETRIED_TYPES):
        kind = type_in(error) if status == HTTPStatus.OK else str(status)
        cause = cause if cause is Cause.BUSY else Cause.AWAY
        return TryAgain(f"The model is not available ({said}).", retry_after(error), status=kind, cause=cause)
    if _NO_TOOLS.search(said):
        sentence = f"The model {model!r} takes no tools there ({said})."
        return ModelRefused(sentence, cause=Cause.MODEL, advice=f"Set {names.model} to one that does.")
    if _OTHER_API.search(said):
        sentence = f"The model {model!r} is not offered over Chat Completions there ({said})."
        return ModelRefused(sentence, cause=Cause.MODEL, advice=f"Set {names.model} to one that is.")
    if cause in (Cause.KEY, Cause.FORBIDDEN):
        if not names.has_key:
            sentence = f"The model's server wants a key, and {names.key} is not set ({said})."
            return ModelRefused(sentence, cause=cause, advice=f"Set {names.key}.")
        sentence = f"The model's server does not accept our key ({said})."
        return ModelRefused(sentence, cause=cause, advice=f"Check {names.key} and {names.base}.")
    if status == HTTPStatus.METHOD_NOT_ALLOWED or (status == HTTPStatus.NOT_FOUND and _NOT_HERE.search(said)):
        sentence = f"There is no model's server of this kind at this address ({said})."
        return ModelRefused(sentence, cause=Cause.AWAY, advice=f"Check {names.base}.")
    if cause is Cause.MODEL:
        sentence = f"The model's server does not know the model {model!r}."
        advice = f"Check {names.model} and {names.base}{_bare(model, names)}."
        return ModelRefused(sentence, cause=cause, advice=advice)
    bare = status == HTTPStatus.BAD_REQUEST and not message_in(error)
    return ModelRefused(f"The model's server refused the request ({said}).", bare=bare, of_content=True)


def _bare(model: str, names: SettingNames) -> str:
    """Where the whole is a name, it may have been meant as provider/model."""
    provider, _, rest = model.partition("/")
    if not rest or (provider, names.base) != (ANTHROPIC, "ANTHROPIC_BASE_URL"):
        return ""
    return f": beside {names.base} the whole of it is the name, which may be {rest} there"


def in_stream(error: Any, model: str, names: SettingNames) -> ModelOverflow | ModelRefused | TryAgain:
    """What is to be raised for an error in the middle of an answer. Some gateways have begun to answer before they
    know, and give the status then."""
    said = said_in(error)
    if is_context_overflow(error):
        return overflow(said)
    if stated := _status_in(error):
        return of_status(_Stated(error, stated), model, names)
    kind = type_in(error)
    status = kind if kind in _RETRIED_TYPES else "stream"
    cause = Cause.BUSY if kind in _BUSY_TYPES else Cause.AWAY
    return TryAgain(f"The model broke off its answer ({said}).", status=status, cause=cause)


class _Stated(Exception):
    """An error whose body says with which status it would have come."""

    def __init__(self, error: Any, status: int) -> None:
        super().__init__(error.message)
        self.status_code = status
        self.body = error.body
        self.message = error.message
        self.response = getattr(error, "response", None)


def _status_in(error: Any) -> int:
    """The status that the body gives as its code; 0 where it gives none."""
    found = _inner(error).get("code")
    code = int(found) if isinstance(found, int) or (isinstance(found, str) and found.isdecimal()) else 0
    return code if HTTPStatus.BAD_REQUEST <= code < 600 else 0  # noqa: PLR2004  # what HTTP has


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


def silent(seconds: float) -> TryAgain:
    """What is to be raised where nothing came for so long."""
    return TryAgain(f"The model's server said nothing for {seconds:.0f} seconds.", status=SILENCE)


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
    inner = _unwrapped(error.body)
    if not isinstance(inner, dict):
        return "" if inner is None else str(inner).strip()
    said = inner.get("message") or inner.get("detail") or ""
    behind = inner.get("metadata")  # OpenRouter has what the provider behind it says there
    raw = behind.get("raw") if isinstance(behind, dict) else None
    said = _message_of(raw) if isinstance(raw, str) and raw.strip() else said
    return said.strip() if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def type_in(error: Any) -> str:
    """What kind of error the body names; empty where it names none."""
    return str(_inner(error).get("type") or "")


def types_in(error: Any) -> tuple[str, ...]:
    """All that the body names as its kind: some say it in ``type`` alone, some in ``code``, Google in ``status``."""
    inner = _inner(error)
    return tuple(str(inner[name]) for name in ("type", "code", "status") if inner.get(name))


def _inner(error: Any) -> dict[str, Any]:
    inner = _unwrapped(error.body)
    return inner if isinstance(inner, dict) else {}


def _message_of(raw: str) -> str:
    """The message in a body that is a text."""
    try:
        inner = _unwrapped(json.loads(raw))
    except ValueError:
        return raw
    return str(inner.get("message") or raw) if isinstance(inner, dict) else raw


def _tokens(number: str) -> int:
    return int(number.replace(",", ""))


def _unwrapped(body: Any) -> Any:
    """What stands in a body's ``error``, if it has one; Google's bodies are lists of one."""
    if isinstance(body, list):
        body = body[0] if body else None
    return body.get("error", body) if isinstance(body, dict) else body


def retry_after(error: Any) -> float:
    """Seconds that the provider wants us to wait; 0 where it does not say."""
    headers = getattr(error.response, "headers", None) or {}
    if given := headers.get("retry-after", ""):
        return _seconds(given)
    if given := headers.get("retry-after-ms", ""):
        return _seconds(given) / 1_000
    details = _inner(error).get("details")  # Google's
    delays = [one.get("retryDelay") for one in details if isinstance(one, dict)] if isinstance(details, list) else []
    return max((_seconds(str(one).removesuffix("s")) for one in delays if one), default=0.0)


def _seconds(given: str) -> float:
    try:
        return max(0.0, float(given))
    except ValueError:
        return 0.0
