"""The steps as pages on loopback, for one browser: the address that is shown opens them once, and to nobody else.

They are made like those of :mod:`bot.page`, and need no JavaScript. Each form goes through :meth:`_Pages._checked`.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.app.doctor.web import Web
from bot.app.http import HttpServer
from bot.app.setup.address_step import AddressStep
from bot.app.setup.first_word import FirstWord
from bot.app.setup.model_step import LOCAL, NONE, ModelAnswer, ModelStep, Offer, meant_address
from bot.app.setup.platform_step import PLATFORMS, PlatformStep, TokenTrial, asked_for
from bot.app.setup.settings_file import SettingsFile
from bot.app.setup.standing import is_named, places, shown, standing
from bot.app.setup.trial import Trial
from bot.errors import PalimpsestError
from bot.gateway.admission import new_code
from bot.messages import Inbound
from bot.page.access.caller import Callers, comes_from_elsewhere
from bot.page.access.door import HEADERS
from bot.page.access.visitor import Visitor
from bot.page.rendering import Rendering
from bot.runtime.checks import Finding, problem
from bot.runtime.tasks import stop

_TEMPLATES = Path(__file__).with_name("templates")
_COOKIE = "palimpsest_setup"
_MOST_BYTES = 20_000
_A_YEAR = "public, max-age=31536000, immutable"
_Answer: TypeAlias = Callable[[Request], Awaitable[Response]]


@dataclass
class _Waiting:
    """For somebody's code."""

    code: str
    trial: TokenTrial
    listening: FirstWord | None = None
    task: asyncio.Task[Inbound] | None = None
    said: str = ""
    """Why it cannot be waited for."""


@dataclass
class _Told:
    """What the next page says first."""

    findings: Sequence[Finding] = ()
    lines: Sequence[str] = field(default_factory=list)


class BrowserSetup:
    """Serves the steps until somebody says that it may start, or is cancelled."""

    def __init__(self, file: SettingsFile, web: Web, *, port: int = 0, starts: bool = True) -> None:
        """On any port that is free, or this one. ``starts``: the program does, when somebody says that this is all."""
        self._pages = _Pages(file, web, starts=starts)
        self._server = HttpServer(f"127.0.0.1:{port}", {}, page=self._pages.app, setting="--port: ")

    async def run(self, opened: Callable[[str], None]) -> None:
        """``opened`` is given the address once it is served. Raises ConfigurationError where the port is taken."""
        serving = asyncio.create_task(self._server.run())
        listening = asyncio.create_task(self._server.listens.wait())
        done = asyncio.create_task(self._pages.done.wait())
        try:
            await asyncio.wait({serving, listening}, return_when=asyncio.FIRST_COMPLETED)
            if not listening.done():
                await serving
            opened(f"http://{self._server.address}/?key={self._pages.key}")
            await asyncio.wait({serving, done}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._pages.close()
            await stop(serving, listening, done)


class _Pages:
    """One browser's."""

    def __init__(self, file: SettingsFile, web: Web, *, starts: bool) -> None:
        self._starts = starts
        self._file = file
        self._web = web
        self._models = ModelStep(file, web)
        self._platforms = {name: PlatformStep(one, file, web) for name, one in PLATFORMS.items()}
        self._waiting: dict[str, _Waiting] = {}
        self._fetching: asyncio.Task[Trial] | None = None
        self._told = _Told()
        self._session = secrets.token_urlsafe(32)
        self._rendering = Rendering((), templates=(_TEMPLATES,))
        self.key = secrets.token_urlsafe(24)
        """Opens the pages, once."""
        self.done = asyncio.Event()
        routes = [
            Route("/", self._open, methods=["GET"]),
            Route("/static/{name}", self._static, methods=["GET"]),
            Route("/model", self._checked(self._list), methods=["GET"]),
            Route("/model/fetch", self._checked(self._fetch), methods=["GET", "POST"], max_body_size=_MOST_BYTES),
            Route("/model/{name}", self._checked(self._model), methods=["GET", "POST"], max_body_size=_MOST_BYTES),
            Route(
                "/platform/{name}", self._checked(self._platform), methods=["GET", "POST"], max_body_size=_MOST_BYTES
            ),
            Route("/platform/{name}/code", self._checked(self._code), methods=["GET"]),
            Route("/platform/{name}/leave", self._checked(self._leave), methods=["POST"]),
            Route("/address", self._checked(self._address), methods=["POST"]),
            Route("/start", self._checked(self._start), methods=["POST"]),
        ]
        self.app = Starlette(
            routes=routes, exception_handlers={HTTPException: self._refused, PalimpsestError: self._broken}
        )

    async def close(self) -> None:
        """Listen no more, and fetch nothing."""
        await stop(*([self._fetching] if self._fetching else []))
        await stop(*(one.task for one in self._waiting.values() if one.task))

    # --- the door ---

    async def _open(self, request: Request) -> Response:
        """The address that was shown, or what it led to."""
        given = request.query_params.get("key", "")
        if not given:
            return await self._checked(self._overview)(request)
        _refuse_strangers(request)
        if not (self.key and hmac.compare_digest(given.encode(), self.key.encode())):
            if self._is_known(request):
                return RedirectResponse("/", HTTPStatus.SEE_OTHER)
            raise HTTPException(HTTPStatus.FORBIDDEN, "This address was opened before: call `palimpsest setup` again.")
        self.key = ""
        answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        answer.set_cookie(_COOKIE, self._session, httponly=True, samesite="strict", path="/")
        return answer

    def _checked(self, page: _Answer) -> _Answer:
        """For this browser alone, and no form that another site sent."""

        async def answer(request: Request) -> Response:
            _refuse_strangers(request)
            if not self._is_known(request):
                raise HTTPException(HTTPStatus.FORBIDDEN, "Open the address that `palimpsest setup` shows.")
            if request.method == "POST":
                given = str((await request.form()).get("csrf", ""))
                if not hmac.compare_digest(given.encode(), self._csrf.encode()):
                    raise HTTPException(
                        HTTPStatus.FORBIDDEN, "This form is too old, so nothing was done: load it anew."
                    )
            found = await page(request)
            found.headers.update(HEADERS)
            return found

        return answer

    def _is_known(self, request: Request) -> bool:
        return hmac.compare_digest(request.cookies.get(_COOKIE, "").encode(), self._session.encode())

    @property
    def _csrf(self) -> str:
        return hmac.new(self._session.encode(), b"csrf", "sha256").hexdigest()

    # --- pages ---

    async def _overview(self, request: Request) -> Response:
        address = AddressStep(self._file, self._web)
        other = await address.instead()
        return self._page(
            request,
            "setup.html",
            "Set it up",
            standing=standing(self._file),
            is_model_set=is_named(self._file),
            lacks_model=self._models.lacks_model,
            megabytes=self._models.megabytes_to_fetch,
            places=places(self._file),
            platforms=[(one.platform, bool(one.token), one.admins) for one in self._platforms.values()],
            taken=address.finding if other else None,
            other=other,
            starts=self._starts,
        )

    async def _list(self, request: Request) -> Response:
        return self._page(request, "setup_models.html", "Which model answers?", offers=await self._models.offers())

    async def _model(self, request: Request) -> Response:
        offer = next((one for one in await self._models.offers() if one.name == request.path_params["name"]), None)
        if offer is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such provider.")
        if request.method == "GET":
            return await self._model_form(request, offer)
        form = {name: str(value).strip() for name, value in (await request.form()).items()}
        answer = ModelAnswer(
            LOCAL if offer.name == NONE else offer.name,
            form.get("model", ""),
            None if "no_key" in form and not form.get("key") else form.get("key", ""),
            form["base_url"] if form.get("base_url") else None,
        )
        if not offer.provider and self._models.megabytes_to_fetch:
            self._models.keep(answer)
            return await self._fetch(request)
        trial = await self._models.attempt(answer)
        if trial.state == "works" or (trial.state == "untried" and "untried" in form):
            self._told = _Told(trial.findings, shown(self._models.keep(answer)))
            return RedirectResponse("/", HTTPStatus.SEE_OTHER)
        base_url, known = answer.base_url or "", list(offer.models)
        if offer.provider:
            base_url = meant_address(offer.provider, base_url)
            if trial.state == "wrong" and not known:  # perhaps it is the name alone
                known += await self._models.models(replace(answer, model=answer.model or "-"))
        return await self._model_form(request, offer, trial, known=known, model=answer.model, base_url=base_url)

    async def _fetch(self, request: Request) -> Response:
        """Fetch the model that comes along; the page waits for it."""
        if request.method == "POST":
            if self._fetching is None:
                self._fetching = asyncio.create_task(self._models.fetch())
            return RedirectResponse("/model/fetch", HTTPStatus.SEE_OTHER)
        if self._fetching is None:
            return RedirectResponse("/", HTTPStatus.SEE_OTHER)
        trial = self._fetching.result() if self._fetching.done() else None
        self._fetching = self._fetching if trial is None else None
        megabytes = self._models.megabytes_to_fetch
        return self._page(request, "setup_fetch.html", "The small local model", trial=trial, megabytes=megabytes)

    async def _model_form(
        self, request: Request, offer: Offer, trial: Trial | None = None, known: Sequence[str] = (), **given: str
    ) -> Response:
        usual = self._models.usual_model(offer.name) if offer.provider else ""
        known = known or offer.models
        if offer.provider and offer.key and not known:
            known = await self._models.models(ModelAnswer(offer.name, usual or "-"))
        return self._page(
            request,
            "setup_model.html",
            offer.title,
            offer=offer,
            known=known,
            model=given.get("model") or usual or next(iter(known), ""),
            base_url=given.get("base_url", ""),
            megabytes=0 if offer.provider else self._models.megabytes_to_fetch,
            asides=[*self._models.changes(ModelAnswer(LOCAL))] if not offer.provider else [],
            trial=trial,
        )

    async def _platform(self, request: Request) -> Response:
        step = self._step(request)
        if request.method == "GET":
            return self._page(request, "setup_platform.html", step.platform.title, step=step, trial=None)
        form = await request.form()
        token = str(form.get("token", "")).strip()
        trial = await step.attempt(token) if token or step.token else TokenTrial("wrong", [_nothing(step)])
        if not (trial.state == "works" or ("untried" in form and (trial.state == "untried" or trial.bot))):
            return self._page(request, "setup_platform.html", step.platform.title, step=step, trial=trial)
        self._told = _Told(trial.findings, shown(step.keep(token)) if token else ())
        await self._forget(step.platform.name)
        self._waiting[step.platform.name] = _Waiting(new_code(), trial)
        return RedirectResponse(f"/platform/{step.platform.name}/code", HTTPStatus.SEE_OTHER)

    async def _code(self, request: Request) -> Response:
        step = self._step(request)
        waiting = self._waiting.get(step.platform.name)
        if waiting is None:
            return RedirectResponse(f"/platform/{step.platform.name}", HTTPStatus.SEE_OTHER)
        if waiting.task is None and not waiting.said:
            waiting.said = await step.cannot_listen()
            if not waiting.said:
                waiting.listening = step.listen(waiting.code)
                waiting.task = asyncio.create_task(waiting.listening.run())
        heard = None
        if waiting.task and waiting.task.done():
            try:
                heard = await waiting.task
            except PalimpsestError as error:
                waiting.said = str(error)
        return self._page(
            request,
            "setup_code.html",
            step.platform.title,
            step=step,
            asked=asked_for(step.platform, waiting.trial, waiting.code),
            heard=heard,
            said=waiting.said,
            has_begun=waiting.listening is not None and waiting.listening.has_begun,
            trouble=waiting.listening.trouble if waiting.listening else "",
        )

    async def _leave(self, request: Request) -> Response:
        await self._forget(self._step(request).platform.name)
        return RedirectResponse("/", HTTPStatus.SEE_OTHER)

    async def _forget(self, name: str) -> None:
        if (waiting := self._waiting.pop(name, None)) and waiting.task:
            await stop(waiting.task)

    async def _address(self, request: Request) -> Response:  # noqa: ARG002
        step = AddressStep(self._file, self._web)
        if other := await step.instead():
            self._told = _Told((), shown(step.keep(other)))
        return RedirectResponse("/", HTTPStatus.SEE_OTHER)

    async def _start(self, request: Request) -> Response:
        if self._starts and self._models.lacks_model:
            advice = "Choose a model, or fetch the small one."
            self._told = _Told([problem("model", "It cannot start yet: nobody would answer.", advice)])
            return RedirectResponse("/", HTTPStatus.SEE_OTHER)
        if not self._file.exists:
            self._file.keep({})
        await self.close()
        title = "It starts now" if self._starts else "That is all"
        answer = self._page(
            request,
            "setup_done.html",
            title,
            starts=self._starts,
            bind=self._file.settings().http_bind,
            places=places(self._file),
        )
        asyncio.get_running_loop().call_later(0.2, self.done.set)  # this answer goes out first
        return answer

    # --- answers ---

    def _page(self, request: Request, template: str, title: str, **values: Any) -> Response:
        told, self._told = self._told, _Told()
        visitor = Visitor(Callers().of(request), self._session, self._csrf)
        common: Mapping[str, Any] = {"visitor": visitor, "theme": "", "path": "/", "here": "", "told": told}
        return HTMLResponse(self._rendering.text(template, title=title, file=str(self._file.path), **common, **values))

    async def _static(self, request: Request) -> Response:
        file = self._rendering.files.get(request.path_params["name"])
        if file is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return Response(file.body, headers={"cache-control": _A_YEAR, "content-type": file.media_type})

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return self._error(request, error.status_code, error.detail)

    async def _broken(self, request: Request, error: Exception) -> Response:
        return self._error(request, HTTPStatus.CONFLICT, str(error))

    def _error(self, request: Request, status: int, sentence: str) -> Response:
        visitor = Visitor(Callers().of(request))
        values: Mapping[str, Any] = {"visitor": visitor, "theme": "", "path": "/", "here": ""}
        title = HTTPStatus(status).phrase
        text = self._rendering.text("error.html", title=title, sentence=sentence, **values)
        return HTMLResponse(text, status, headers=dict(HEADERS))

    def _step(self, request: Request) -> PlatformStep:
        found = self._platforms.get(request.path_params["name"])
        if found is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such platform.")
        return found


def _refuse_strangers(request: Request) -> None:
    """Raises HTTPException for a name that somebody else may have made lead here, and what another site sent."""
    caller = Callers().of(request)
    if not caller.names_loopback or caller.forwarded:
        raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, "This page is for this machine alone.")
    if request.method == "POST" and comes_from_elsewhere(request, caller, frozenset()):
        raise HTTPException(HTTPStatus.FORBIDDEN, "Another site sent this, so nothing was done.")


def _nothing(step: PlatformStep) -> Finding:
    return problem(step.platform.name, "There is no token yet.", "Paste the one that you were given.")
