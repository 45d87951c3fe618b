"""What all pages share: the book, the bell, the settings, and how an answer is made."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from bot.bus.bus import Bus
from bot.bus.jobs import Jobs
from bot.page.access.caller import Callers
from bot.page.access.keys import Keys
from bot.page.access.visitor import Visitor, visitor_of
from bot.page.rendering import Rendering
from bot.runtime.settings import Settings
from bot.store import Database, sessions

THEME_COOKIE = "palimpsest_theme"
THEMES = ("light", "dark")


@dataclass(frozen=True)
class PageContext:
    """One for each process that serves the page."""

    settings: Settings
    database: Database
    bus: Bus
    jobs: Jobs
    keys: Keys
    callers: Callers
    rendering: Rendering

    @classmethod
    def of(cls, settings: Settings, database: Database, bus: Bus, jobs: Jobs) -> PageContext:
        """As the settings say."""
        page = settings.page
        password, token = (secret.get_secret_value() if secret else "" for secret in (page.password, page.token))
        return cls(
            settings=settings,
            database=database,
            bus=bus,
            jobs=jobs,
            keys=Keys(password, token),
            callers=Callers(page.proxies),
            rendering=Rendering(settings.secrets),
        )

    def answer(
        self, request: Request, template: str, status: int = HTTPStatus.OK, *, here: str = "", **values: Any
    ) -> HTMLResponse:
        """A page. ``here``: the place in the navigation that it belongs to."""
        path = request.url.path if request.method == "GET" else "/"
        if request.method == "GET" and request.url.query:
            path = f"{path}?{request.url.query}"
        theme = request.cookies.get(THEME_COOKIE, "")
        text = self.rendering.text(
            template,
            visitor=visitor_of(request),
            theme=theme if theme in THEMES else "",
            path=path,
            here=here,
            now=self.database.clock(),
            **values,
        )
        return HTMLResponse(text, status)

    @property
    def model_name(self) -> str:
        """The model that talks, as far as the settings name one."""
        return self.settings.talker.name

    async def goes_on(self, visitor: Visitor) -> bool:
        """Whether somebody who was let in still would be: their session may have ended since."""
        if not visitor.can_log_out:
            return visitor.known
        async with self.database.read() as tx:
            return await sessions.is_open(tx, self.keys.kept(visitor.session), now=self.database.clock())
