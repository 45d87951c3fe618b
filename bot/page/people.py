"""Who was let in, who waits to be, and buttons that let somebody in, and no more in."""

from __future__ import annotations

from http import HTTPStatus

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.bus import topics
from bot.page.context import PageContext
from bot.page.query import chosen
from bot.page.refusal import not_found
from bot.store import people

log = structlog.get_logger(__name__)

_MOST = 200
_LONGEST_CODE = 20
_LONGEST_NAME = 200


class PeoplePage:
    """`/people`."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self.routes = [
            Route("/people", self._page, methods=["GET"]),
            Route("/people/let-in", self._let_in, methods=["POST"]),
            Route("/people/forget", self._forget, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        database, settings = self._context.database, self._context.settings
        async with database.read() as tx:
            found = await people.everybody(tx, now=database.clock())
        return self._context.answer(
            request,
            "people.html",
            here="people",
            title="People",
            waiting=[one for one in found if one.state == "pending"],
            known=[one for one in found if one.state == "approved"][:_MOST],
            most=_MOST,
            mode=settings.access,
            admins=sorted(settings.admins),
            allowed=sorted(settings.allow),
            done=chosen(request, "done", ("no", "yes", "forgotten")),
        )

    async def _let_in(self, request: Request) -> Response:
        """As `palimpsest pair approve` does it."""
        async with request.form(max_files=0, max_fields=5) as form:
            code = str(form.get("code", ""))[:_LONGEST_CODE]
        async with self._context.database.write() as tx:
            person = await people.let_in(tx, code, now=self._context.database.clock())
        if person is None:
            raise not_found("Nobody waits with this code any more; whoever writes to the bot again gets a new one.")
        self._context.bus.ring(topics.outbox(person.connector))
        log.info("page_let_in", connector=person.connector, person=person.person)
        return RedirectResponse("/people?done=yes", HTTPStatus.SEE_OTHER)

    async def _forget(self, request: Request) -> Response:
        """As `palimpsest pair revoke` does it: what they said stays, and they are let in no more."""
        async with request.form(max_files=0, max_fields=5) as form:
            connector, person = (str(form.get(name, ""))[:_LONGEST_NAME] for name in ("connector", "person"))
        async with self._context.database.write() as tx:
            is_gone = await people.revoke(tx, connector, person)
        if not is_gone:
            raise not_found("That person is not let in any more.")
        log.info("page_forgot", connector=connector, person=person)
        return RedirectResponse("/people?done=forgotten", HTTPStatus.SEE_OTHER)
