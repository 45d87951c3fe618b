"""Logging in and out, and light or dark."""

from __future__ import annotations

import re
from http import HTTPStatus

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.page.access.door import check_rate, cookie_name, session_cookie
from bot.page.access.keys import new_session
from bot.page.access.login_rate import LoginRate
from bot.page.access.visitor import visitor_of
from bot.page.context import THEME_COOKIE, THEMES, PageContext
from bot.store import sessions

log = structlog.get_logger(__name__)

_LOCAL = re.compile(r"/(?![/\\])[!-~]{0,2000}")
_YEAR = 31_536_000
_HOUR = 3_600
_LONGEST = 1_000
"""Characters of a password that are looked at."""


class Login:
    """The pages that are about the door."""

    def __init__(self, context: PageContext, rate: LoginRate) -> None:
        self._context = context
        self._rate = rate
        self.routes = [
            Route("/login", self._form, methods=["GET"]),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/logout", self._log_out, methods=["POST"]),
            Route("/theme", self._theme, methods=["POST"]),
        ]

    async def _form(self, request: Request) -> Response:
        if visitor_of(request).known:
            return _to(request.query_params.get("next", ""))
        return self._asking(request, HTTPStatus.OK, "", request.query_params.get("next", ""))

    async def _log_in(self, request: Request) -> Response:
        if not self._context.keys.any:
            return _to("")
        caller = visitor_of(request).caller
        async with request.form(max_files=0, max_fields=10) as form:
            given, following = str(form.get("password", ""))[:_LONGEST], str(form.get("next", ""))
        check_rate(self._rate, caller)
        if not self._context.keys.log_in(given):
            self._rate.failed(caller.address)
            log.warning("page_login_refused", address=caller.address)
            return self._asking(request, HTTPStatus.UNAUTHORIZED, "That is not the password.", following)
        session = await self._begun(request.cookies.get(cookie_name(caller), ""))
        log.info("page_login", address=caller.address)
        answer = _to(following)
        answer.headers.append("set-cookie", session_cookie(caller, session, self._seconds))
        return answer

    @property
    def _seconds(self) -> float:
        return self._context.settings.page.session_hours * _HOUR

    async def _begun(self, before: str) -> str:
        """A new session; what the browser held ``before`` is none any more, wherever it had that from."""
        session, database, keys = new_session(), self._context.database, self._context.keys
        async with database.write() as tx:
            if before:
                await sessions.end(tx, keys.kept(before))
            await sessions.begin(tx, keys.kept(session), now=database.clock(), seconds=self._seconds)
        return session

    async def _log_out(self, request: Request) -> Response:
        visitor = visitor_of(request)
        if visitor.can_log_out:
            async with self._context.database.write() as tx:
                await sessions.end(tx, self._context.keys.kept(visitor.session))
        answer = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
        answer.headers.append("set-cookie", session_cookie(visitor.caller, "", 0))
        return answer

    async def _theme(self, request: Request) -> Response:
        async with request.form(max_files=0, max_fields=10) as form:
            theme, following = str(form.get("theme", "")), str(form.get("next", ""))
        answer = _to(following)
        kept = theme if theme in THEMES else ""
        https = visitor_of(request).caller.https
        answer.set_cookie(THEME_COOKIE, kept, max_age=_YEAR if kept else 0, samesite="lax", secure=https)
        return answer

    def _asking(self, request: Request, status: HTTPStatus, problem: str, following: str) -> Response:
        return self._context.answer(request, "login.html", status, title="Log in", problem=problem, following=following)


def local_path(path: str) -> str:
    """A path of this site; whatever else was asked for becomes the overview."""
    return path if _LOCAL.fullmatch(path) else "/"


def _to(path: str) -> RedirectResponse:
    return RedirectResponse(local_path(path), HTTPStatus.SEE_OTHER)
