"""Answers other than 200, as each provider words and wraps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.servers.messages.wire import Json, Refused

Form = Literal["openai", "gemini", "openrouter", "mistral", "vllm", "llamacpp", "plain", "detail"]
FROM_MEMORY = "from memory, without a page at hand"

_GRPC = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
_HTTP = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError"}


class ChatRefused(Refused):
    """What Chat Completions refuses. ``param`` and ``code`` are fields of the error; ``extra`` are more of them."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        type: str = "invalid_request_error",
        status: int | None = None,
        retry_after: float | None = None,
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        form: Form | None = None,
    ) -> None:
        super().__init__(message, type=type, status=status, retry_after=retry_after)
        self.param = param
        self.code = code
        self.extra = dict(extra or {})
        self.headers = dict(headers or {})
        self.form = form


@dataclass(frozen=True)
class Wording:
    """One error of one provider. ``text`` may name ``prompt``, ``answer``, ``total``, ``room`` and ``window`` (tokens),
    ``model``, ``key`` and ``path``. ``source``: where the wording is from."""

    text: str
    source: str
    status: int = 400
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    form: Form | None = None

    def refusal(self, **values: object) -> ChatRefused:
        """The error with these values."""
        extra = {
            name: int(value.format(**values)) if isinstance(value, str) and value.startswith("{") else value
            for name, value in self.extra.items()
        }
        return ChatRefused(
            self.text.format(**values),
            param=self.param,
            code=self.code,
            type=self.type,
            status=self.status,
            retry_after=self.retry_after,
            extra=extra,
            headers=self.headers,
            form=self.form,
        )


def error_of(refusal: Refused, form: Form) -> Json:
    """The error itself, as it stands in a body or in the middle of a stream."""
    param, code, extra = None, None, {}
    if isinstance(refusal, ChatRefused):
        param, code, extra = refusal.param, refusal.code, refusal.extra
    status, message = refusal.status, refusal.message
    match form:
        case "gemini":
            return {"code": status, "message": message, "status": _GRPC.get(status, "UNAVAILABLE"), **extra}
        case "openrouter":
            return {"message": message, "code": status, **extra}
        case "vllm":
            kind = _HTTP.get(status, "InternalServerError")
            return {"message": message, "type": kind, "param": param, "code": status, **extra}
        case "llamacpp":
            return {"code": status, "message": message, "type": refusal.type, **extra}
        case _:
            return {"message": message, "type": refusal.type, "param": param, "code": code, **extra}


def body_of(refusal: Refused, form: Form) -> object:
    """What goes over the wire in place of an answer."""
    if isinstance(refusal, ChatRefused) and refusal.form is not None:
        form = refusal.form
    error = error_of(refusal, form)
    match form:
        case "gemini":
            return [{"error": error}]
        case "mistral":
            return {"object": "error", **error, "raw_status_code": refusal.status}
        case "plain":
            return {"error": refusal.message}
        case "detail":
            return {"detail": refusal.message}
        case _:
            return {"error": error}
