"""What is to come, of all conversations or of one, and what was missed."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.page.context import PageContext
from bot.store import appointments

_MOST = 200
_LONGEST_NAME = 120


class AppointmentsPage:
    """`/appointments`; with `?agent=` of that conversation alone."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self.routes = [Route("/appointments", self._page, methods=["GET"])]

    async def _page(self, request: Request) -> Response:
        agent_id = request.query_params.get("agent", "")[:_LONGEST_NAME]
        async with self._context.database.read() as tx:
            coming = await appointments.all_coming(tx, agent_id, most=_MOST)
            missed = await appointments.all_missed(tx, agent_id, most=_MOST)
        return self._context.answer(
            request,
            "appointments.html",
            here="appointments",
            title="Appointments",
            agent=agent_id,
            coming=coming,
            missed=missed,
            most=_MOST,
        )
