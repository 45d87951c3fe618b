"""Who looks at the page, as far as its door knows."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from bot.page.access.caller import Caller


@dataclass(frozen=True)
class Visitor:
    """``session``: what the browser holds, empty for a script and for whoever has not logged in; ``csrf``: what each
    form carries; ``known``: whether they may see more than the login; ``can_log_out``: whether they had to log in."""

    caller: Caller
    session: str = ""
    csrf: str = ""
    known: bool = False
    can_log_out: bool = False


def visitor_of(request: Request) -> Visitor:
    """Whom the door let in with this request."""
    found: Visitor = request.scope["visitor"]
    return found
