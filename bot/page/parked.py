"""Messages that were put aside, and another try for them."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.bus import topics
from bot.errors import PalimpsestError
from bot.page.context import PageContext
from bot.page.query import named, text
from bot.page.refusal import Refused, not_found
from bot.store.operators import parked

log = structlog.get_logger(__name__)

_MOST = 200
_LONGEST_NAME = 20


class ParkedPage:
    """`/parked`."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self.routes = [
            Route("/parked", self._page, methods=["GET"]),
            Route("/parked/{name}/retry", self._retry, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        async with self._context.database.read(long=True) as tx:
            found = await parked.listed(tx, most=_MOST)
        return self._context.answer(
            request,
            "parked.html",
            here="parked",
            title="Put aside",
            found=list(reversed(found)),
            most=_MOST,
            retried=text(request, "retried", _LONGEST_NAME),
        )

    async def _retry(self, request: Request) -> Response:
        """As `palimpsest parked retry` does it."""
        name, database = named(request, "name"), self._context.database
        try:
            async with database.write() as tx:
                one = await parked.retry(tx, name, now=database.clock())
        except PalimpsestError:
            raise
        except Exception as error:
            log.exception("parked_not_retried", key=name)
            sentence = f"{name} still cannot be stored ({type(error).__name__}): it stays aside."
            raise Refused(HTTPStatus.CONFLICT, sentence) from error
        if one is None:
            raise not_found("Nothing of this name is put aside; perhaps it was tried again meanwhile.")
        self._context.bus.ring(topics.inbox(one.agent_id))
        log.info("page_retry", agent=one.agent_id, key=name)
        return RedirectResponse(f"/parked?retried={quote(one.id)}", HTTPStatus.SEE_OTHER)
