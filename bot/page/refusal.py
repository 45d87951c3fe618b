"""What is said in place of a page."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.page.context import PageContext


class Refused(Exception):
    """This request is not answered with a page; the text is one sentence that says why."""

    def __init__(self, status: HTTPStatus, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = dict(headers or {})


def not_found(what: str) -> Refused:
    """There is nothing of this name."""
    return Refused(HTTPStatus.NOT_FOUND, what)


def refusal(context: PageContext, request: Request, refused: Refused) -> Response:
    """The answer to it: a page for people, JSON for scripts."""
    if wants_json(request.headers):
        return JSONResponse({"error": str(refused)}, refused.status, refused.headers)
    title = refused.status.phrase
    answer = context.answer(request, "error.html", refused.status, title=title, sentence=str(refused))
    answer.headers.update(refused.headers)
    return answer


def wants_json(headers: Headers) -> bool:
    """Whether a script asks, which reads no page."""
    return "application/json" in headers.get("accept", "") or "authorization" in headers
