"""All pages together, behind their door."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bot.bus.bus import Bus
from bot.bus.jobs import Jobs
from bot.connector import OfferedCommand
from bot.errors import BusUnavailable, StoreUnavailable
from bot.page.access.door import PageDoor
from bot.page.access.login import Login
from bot.page.access.login_rate import LoginRate
from bot.page.appointments import AppointmentsPage
from bot.page.chat.routes import Chat, Store
from bot.page.compactions import Compactions
from bot.page.context import PageContext
from bot.page.conversation import ConversationPage
from bot.page.overview import Overview
from bot.page.parked import ParkedPage
from bot.page.people import PeoplePage
from bot.page.refusal import Refused, refusal
from bot.page.search import Search
from bot.page.spending import SpendingPage
from bot.page.updates import Updates
from bot.runtime.settings import Settings
from bot.store import Database

log = structlog.get_logger(__name__)

_A_YEAR = "public, max-age=31536000, immutable"


def page_app(
    settings: Settings,
    database: Database,
    bus: Bus,
    jobs: Jobs,
    store: Store | None = None,
    *,
    commands: Sequence[OfferedCommand] = (),
) -> ASGIApp:
    """The page as an ASGI application. ``store``: where the chat page stores what is said on it; without, there is no
    chat page. ``commands``: what it offers there."""
    context, rate = PageContext.of(settings, database, bus, jobs), LoginRate()
    updates = Updates(context)
    routes = [
        *Overview(context, updates).routes,
        *ConversationPage(context, updates).routes,
        *Compactions(context, updates).routes,
        *Search(context).routes,
        *ParkedPage(context).routes,
        *PeoplePage(context).routes,
        *AppointmentsPage(context).routes,
        *SpendingPage(context).routes,
        *Login(context, rate).routes,
        *(Chat(context, updates, store, commands).routes if store else ()),
        Route("/static/{name}", _static_of(context), methods=["GET"]),
    ]
    return PageDoor(Starlette(routes=routes, exception_handlers=_handlers(context)), context, rate)


def _static_of(context: PageContext) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        file = context.rendering.files.get(request.path_params["name"])
        if file is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        headers = {"cache-control": _A_YEAR, "content-type": file.media_type, "etag": f'"{file.version}"'}
        return Response(file.body, headers=headers)

    return answer


def _handlers(context: PageContext) -> Mapping[Any, Any]:
    """What is said when there is no such page, or something is away. Anything else is a defect, and logged as one."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return refusal(context, request, error)

    async def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status = HTTPStatus(error.status_code)
        sentence = "There is no such page." if status is HTTPStatus.NOT_FOUND else f"{status.phrase}."
        return refusal(context, request, Refused(status, sentence, error.headers))

    async def away(request: Request, error: Exception) -> Response:
        if isinstance(error, StoreUnavailable):
            log.warning("store_unavailable", reason=str(error))
        return refusal(context, request, Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}. Try again in a moment."))

    async def broken(request: Request, _error: Exception) -> Response:
        sentence = "Something in this page broke; the log says what."
        return refusal(context, request, Refused(HTTPStatus.INTERNAL_SERVER_ERROR, sentence))

    return {Refused: refused, HTTPException: failed, StoreUnavailable: away, BusUnavailable: away, Exception: broken}
