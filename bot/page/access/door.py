"""The page's door: who is let in, by which name it may be called, and what every answer says to browsers.

Each request goes through the same steps, whatever it is for, so that no page can forget one of them::

    its Host ─▶ another site sent it? ─▶ token, session, or open to this machine ─▶ a form carries its session's mark
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qs, quote

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.errors import StoreUnavailable
from bot.page.access.caller import Caller, changes, comes_from_elsewhere
from bot.page.access.keys import new_session
from bot.page.access.login_rate import LoginRate
from bot.page.access.visitor import Visitor
from bot.page.context import PageContext
from bot.page.refusal import Refused, refusal, wants_json

log = structlog.get_logger(__name__)

COOKIE = "palimpsest"
CSRF = "csrf"
"""The field of a form, and the parameter of an address to which files are sent."""
CSRF_HEADER = "x-csrf-token"
MOST_FORM_BYTES = 100_000
_MOST_FIELDS = 1_000
_FORM = "application/x-www-form-urlencoded"
_PUBLIC = ("/static/", "/login")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
_HSTS = "max-age=31536000"


def cookie_name(caller: Caller) -> str:
    """What the session's cookie is called. By https no other site of the domain can set one of that name."""
    return f"__Host-{COOKIE}" if caller.https else COOKIE


class PageDoor:
    """Stands before the pages."""

    def __init__(self, app: ASGIApp, context: PageContext, rate: LoginRate) -> None:
        self._app = app
        self._context = context
        self._rate = rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope, receive)
        caller = self._context.callers.of(request)
        scope["visitor"] = Visitor(caller)
        sending = _Sending(send, caller)
        try:
            await self._admit(request, caller, sending)
            receive = await self._checked(request, caller, receive)
        except Refused as refused:
            await refusal(self._context, request, refused)(scope, receive, sending)
            return
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
            away = Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}. Try again in a moment.")
            await refusal(self._context, request, away)(scope, receive, sending)
            return
        visitor: Visitor = scope["visitor"]
        if not visitor.known and not request.url.path.startswith(_PUBLIC):
            await _to_login(request)(scope, receive, sending)
            return
        await self._app(scope, receive, sending)

    async def _admit(self, request: Request, caller: Caller, sending: _Sending) -> None:
        """Find out who it is. Raises Refused for whoever should not even be asked."""
        # Not Starlette's TrustedHostMiddleware: it answers in its own words, without the page and its headers, and has
        # no pattern for all names of this machine (127.0.0.0/8); which names are good depends on how one gets in.
        hosts, keys = self._context.settings.page.hosts, self._context.keys
        named = caller.host in hosts or caller.names_loopback
        if not caller.host or (not named and (hosts or not keys.any)):
            raise Refused(
                HTTPStatus.MISDIRECTED_REQUEST,
                f"This page is not called {caller.host or 'that'}. PAGE__HOSTS names what it is called.",
            )
        if not keys.any:
            self._admit_here(request, caller, sending)
        elif "authorization" in request.headers:
            self._admit_script(request, caller)
        else:
            await self._admit_session(request, caller)

    def _admit_here(self, request: Request, caller: Caller, sending: _Sending) -> None:
        if caller.forwarded:
            raise Refused(
                HTTPStatus.FORBIDDEN,
                "Something forwards requests to this page, so it is not open without a password: set PAGE__PASSWORD.",
            )
        session = request.cookies.get(cookie_name(caller), "")
        if not session:
            session = new_session()
            sending.cookies.append(session_cookie(caller, session, None))
        request.scope["visitor"] = Visitor(caller, session, self._context.keys.csrf(session), known=True)

    def _admit_script(self, request: Request, caller: Caller) -> None:
        kind, _, given = request.headers["authorization"].partition(" ")
        if kind.lower() != "bearer" or not self._context.keys.is_token(given.strip()):
            check_rate(self._rate, caller)
            self._rate.failed(caller.address)
            log.warning("page_token_refused", address=caller.address)
            raise Refused(HTTPStatus.UNAUTHORIZED, "That is not PAGE__TOKEN.", {"www-authenticate": "Bearer"})
        request.scope["visitor"] = Visitor(caller, known=True)

    async def _admit_session(self, request: Request, caller: Caller) -> None:
        session, keys = request.cookies.get(cookie_name(caller), ""), self._context.keys
        if not session or request.url.path.startswith("/static/"):
            return
        visitor = Visitor(caller, session, keys.csrf(session), known=True, can_log_out=True)
        if await self._context.goes_on(visitor):
            request.scope["visitor"] = visitor

    async def _checked(self, request: Request, caller: Caller, receive: Receive) -> Receive:
        """Whether this request is meant, where it may change something. Raises Refused; returns how its body is
        read from here on."""
        if not changes(request):
            return receive
        if comes_from_elsewhere(request, caller, self._context.settings.page.hosts):
            raise Refused(HTTPStatus.FORBIDDEN, "Another site sent this, so nothing was done.")
        visitor: Visitor = request.scope["visitor"]
        if not visitor.session:  # a script, which no other site can speak for; or nobody, who can only log in
            return receive
        given = request.headers.get(CSRF_HEADER) or request.query_params.get(CSRF, "")
        if not given and request.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
            body = await _whole(request)
            receive = _again(body, receive)
            given = _field(body, CSRF)
        if not self._context.keys.is_csrf(visitor.session, given) and request.url.path != "/login":
            raise Refused(HTTPStatus.FORBIDDEN, "This form is too old, so nothing was done: load the page anew.")
        return receive


class _Sending:
    """Adds to every answer what browsers are to know."""

    def __init__(self, send: Send, caller: Caller) -> None:
        self._send = send
        self._https = caller.https
        self.cookies: list[str] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if self._https:
                headers["strict-transport-security"] = _HSTS
            for cookie in self.cookies:
                headers.append("set-cookie", cookie)
        await self._send(message)


def check_rate(rate: LoginRate, caller: Caller) -> None:
    """Raises Refused for an address from which too many wrong passwords came."""
    if seconds := rate.wait(caller.address):
        raise Refused(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"Too many wrong passwords. Try again in {seconds + 1:.0f} s.",
            {"retry-after": f"{seconds + 1:.0f}"},
        )


def session_cookie(caller: Caller, session: str, seconds: float | None) -> str:
    """What has the browser hold a session for so long; None: until it is closed; 0: no longer."""
    lasting = "" if seconds is None else f"; Max-Age={seconds:.0f}"
    secure = "; Secure" if caller.https else ""
    return f"{cookie_name(caller)}={session}; Path=/; HttpOnly; SameSite=Lax{lasting}{secure}"


def _to_login(request: Request) -> Response:
    if (
        request.method != "GET"
        or wants_json(request.headers)
        or "text/event-stream" in request.headers.get("accept", "")
    ):
        return JSONResponse({"error": "Log in first."}, HTTPStatus.UNAUTHORIZED, {"www-authenticate": "Bearer"})
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse("/login" if path == "/" else f"/login?next={quote(path, safe='')}", HTTPStatus.SEE_OTHER)


async def _whole(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_FORM_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That is too long for a form.")
    return bytes(body)


def _field(body: bytes, name: str) -> str:
    try:
        return parse_qs(body.decode("latin-1"), max_num_fields=_MOST_FIELDS).get(name, [""])[0]
    except ValueError:
        return ""


def _again(body: bytes, receive: Receive) -> Receive:
    """The body once more, and then whatever comes after it."""
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
