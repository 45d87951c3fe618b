"""What the program says over HTTP, and the page.

`/healthz`: the process lives; `/readyz`: every part it needs; `/metrics`: what Prometheus wants to know.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import structlog

from bot.errors import ConfigurationError
from bot.runtime.checks import Check, state_of
from bot.runtime.shutdown import Shutdown
from bot.runtime.tasks import stop

if TYPE_CHECKING:
    import uvicorn
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

log = structlog.get_logger(__name__)

Page: TypeAlias = "ASGIApp"
"""What answers every path that is none of the program's own."""

Metrics = Callable[[str], Awaitable[tuple[bytes, str]]]
"""Takes an Accept header, returns all metrics and their content type."""

Hook = Callable[[Mapping[str, str], bytes], Awaitable[int]]
"""Takes the headers (small letters) and the body of a platform's call, returns the status of the answer."""
_MOST_HOOK_BYTES = 4_000_000
_HANG_UP_SECONDS = 0.4
_LAST_PORT = 65_535


class HttpServer:
    """Serves on ``bind`` (host:port). ``checks`` are the parts by name, ``hooks`` what platforms call by its path;
    ``page``: an ASGI application for every other path; ``setting``: what says ``bind``, as it stands before it;
    ``heard`` is given the host:port once it listens."""

    def __init__(
        self,
        bind: str,
        checks: Mapping[str, Check],
        hooks: Mapping[str, Hook] | None = None,
        *,
        shutdown: Shutdown | None = None,
        metrics: Metrics | None = None,
        page: Page | None = None,
        setting: str = "HTTP_BIND=",
        heard: Callable[[str], None] | None = None,
    ) -> None:
        self._bind = bind
        self._setting = setting
        self.listens = asyncio.Event()
        self.address = ""
        """The host:port, once it listens."""
        self._metrics = metrics
        self._checks = checks
        self._hooks = dict(hooks or {})
        self._shutdown = shutdown or Shutdown()
        self._page = page
        self._heard = heard

    async def run(self) -> None:
        """Serve until cancelled. Raises ConfigurationError for an address that cannot be had."""
        import uvicorn  # slow to import
        from starlette.applications import Starlette
        from starlette.routing import BaseRoute, Mount, Route

        routes: list[BaseRoute] = [Route("/healthz", self._healthz), Route("/readyz", self._readyz)]
        routes += [Route("/metrics", self._show_metrics)] if self._metrics else []
        routes += [
            Route(path, _called(hook), methods=["POST"], max_body_size=_MOST_HOOK_BYTES)
            for path, hook in self._hooks.items()
        ]
        if self._page:
            routes.append(Mount("/", self._page))
        config = uvicorn.Config(
            Starlette(routes=routes),
            log_config=None,
            access_log=False,
            lifespan="off",
            proxy_headers=False,  # whose word on who calls is taken is the page's door to decide
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        server = _server(config)
        listening = self._listen()
        self.address = "{}:{}".format(*listening.getsockname()[:2])
        self.listens.set()
        log.info("http_listens", address=self.address)
        if self._heard:
            self._heard(self.address)
        try:
            await server.serve([listening])
        finally:
            # Not `listening.close()` first: asyncio would go on watching the descriptor, and whoever gets its number
            # next (a connection to Redis) would never be told that it can read.
            for listener in getattr(server, "servers", ()):
                listener.close()
            listening.close()
            await _hang_up(server)

    def _listen(self) -> socket.socket:
        try:
            return listening_at(self._bind)
        except OSError as error:
            example = f", e.g. {self._setting}{another(self._bind)}" if self._setting.endswith("=") else ""
            raise ConfigurationError(
                f"{self._setting}{self._bind} cannot be listened on: {error}. Choose another host:port{example}."
            ) from error

    async def _healthz(self, _request: Request) -> Response:
        from starlette.responses import JSONResponse

        return JSONResponse({"status": "ok"})

    async def _readyz(self, _request: Request) -> Response:
        from starlette.responses import JSONResponse

        checks = dict(self._checks)  # a role that begins now adds its own
        found = await asyncio.gather(*map(state_of, checks.values()))
        parts = dict(zip(checks, (said for _, said in found), strict=True))
        if self._shutdown.begun:  # a balancer is to send nothing more here
            return JSONResponse({"status": "ending", "parts": parts}, HTTPStatus.SERVICE_UNAVAILABLE)
        if all(works for works, _ in found):
            return JSONResponse({"status": "ok", "parts": parts})
        return JSONResponse({"status": "not ready", "parts": parts}, HTTPStatus.SERVICE_UNAVAILABLE)

    async def _show_metrics(self, request: Request) -> Response:
        from starlette.responses import Response

        assert self._metrics
        exposition, content_type = await self._metrics(request.headers.get("accept", ""))
        return Response(exposition, headers={"content-type": content_type})


def listening_at(bind: str) -> socket.socket:
    """A socket that listens at this host:port; an empty host means all of them. Raises OSError, which says why not
    in a few words."""
    host, _, port = bind.rpartition(":")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host.strip("[]") or "0.0.0.0", int(port)), family=family)  # noqa: S104
    except (OSError, ValueError) as error:  # ValueError: a host that is no name
        number = getattr(error, "errno", None) or 0
        raise OSError(os.strerror(number) if number > 0 else getattr(error, "strerror", None) or str(error)) from error


def another(bind: str) -> str:
    """The same host with the next port, as an example."""
    host, _, port = bind.rpartition(":")
    return f"{host}:{int(port) + 1 if int(port) < _LAST_PORT else 8081}"


class MadeWhenAsked:
    """An ASGI application that its first request makes; whoever asks meanwhile waits for it."""

    def __init__(self, make: Callable[[], Awaitable[ASGIApp]]) -> None:
        self._make = make
        self._made: ASGIApp | None = None
        self._making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See https://asgi.readthedocs.io/en/latest/specs/main.html."""
        async with self._making:
            if self._made is None:
                self._made = await self._make()
        await self._made(scope, receive, send)


async def serve_where_free(
    server: HttpServer, *, needed: bool, beside: Path | None, without: str = "health endpoints"
) -> None:
    """Serve until cancelled. An address that nobody asked for may be taken: then there is a line in the log, and no
    server; one that was named, or that a platform calls, is ``needed``.

    ``beside``: the DATA_DIR on which another process runs, which is then likely to be who has the address.
    ``without``: what is missed where nothing is served.
    """
    try:
        await server.run()
    except ConfigurationError as error:
        told = str(error)
        if beside:
            told = f"Already running here: another `palimpsest run` works on DATA_DIR={beside}. {told}"
        if needed:
            raise ConfigurationError(told) from error
        log.warning("http_off", reason=f"{told} This process goes on without {without}.")


async def _hang_up(server: uvicorn.Server) -> None:
    """Whoever is still connected, with a page that is kept up to date, is not waited for. Their requests end by that
    themselves, and have let go of the database when this returns."""
    for connection in list(server.server_state.connections):
        connection.transport.close()
    if tasks := set(server.server_state.tasks):
        await asyncio.wait(tasks, timeout=_HANG_UP_SECONDS)
        await stop(*tasks)


def _called(hook: Hook) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a hook."""

    async def endpoint(request: Request) -> Response:
        from starlette.responses import Response

        return Response(status_code=await hook(dict(request.headers), await request.body()))

    return endpoint


def _server(config: uvicorn.Config) -> uvicorn.Server:
    import uvicorn

    class Quiet(uvicorn.Server):
        """Leaves the process's signals to the program."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """None."""
            yield

    return Quiet(config)
