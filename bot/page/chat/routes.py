"""The chat page: conversations of the web's own, in which whoever runs the bot talks to it.

What is sent goes the way of every message: into the inbox, by the gateway of this process. What is shown comes from the
book (:mod:`bot.page.chat.stream`), so it does not matter which process a browser has reached.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Literal, Protocol
from uuid import uuid4

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.connector import OfferedCommand
from bot.files.blocks import folder_of
from bot.messages import NAMES, Address, Attachment, Inbound, is_name, name_like
from bot.page.access.visitor import visitor_of
from bot.page.chat.files import file_response
from bot.page.chat.moments import Moments
from bot.page.chat.stream import MOST_LINES, Stream, look
from bot.page.chat.upload import MOST_FILES, UPLOADS, Form, forget_old, read_form
from bot.page.chat.view import Shown, View
from bot.page.context import PageContext
from bot.page.query import Slice
from bot.page.refusal import Refused, not_found, wants_json
from bot.page.updates import Updates
from bot.runtime import access
from bot.runtime.access import OPERATOR, OPERATOR_NAME, WEB
from bot.store import inbox
from bot.store.operators import talk
from bot.store.operators.talk import Place

_KEY = re.compile(r"[A-Za-z0-9_-]{8,64}")
_MOST_LISTED = 50
_MOST_BESIDE = 30
_MULTIPART = "multipart/form-data"


class Store(Protocol):
    """Where the page stores what is said on it. The gateway of the web implements it."""

    async def __call__(self, inbounds: Sequence[Inbound]) -> int:
        """As :meth:`bot.connector.Intake.store`."""


class Chat:
    """The chat's pages."""

    def __init__(
        self, context: PageContext, updates: Updates, store: Store, commands: Sequence[OfferedCommand]
    ) -> None:
        self._context = context
        self._commands = commands
        self._updates = updates
        self._store = store
        self._moments = Moments(context.bus, WEB)
        self.routes = [
            Route("/chat", self._list, methods=["GET"]),
            Route("/chat", self._begin, methods=["POST"]),
            Route("/chat/{name}", self._page, methods=["GET"]),
            Route("/chat/{name}", self._said, methods=["POST"]),
            Route("/chat/{name}/beside", self._beside, methods=["GET"]),
            Route("/chat/{name}/earlier", self._earlier, methods=["GET"]),
            Route("/chat/{name}/stream", self._stream, methods=["GET"]),
            Route("/chat/{name}/files/{path:path}", self._file, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        async with self._context.database.read() as tx:
            rows = Slice.of(request, await talk.count(tx, WEB), _MOST_LISTED)
            found = await talk.conversations(tx, WEB, most=rows.most, offset=rows.offset)
        return self._context.answer(
            request, "chat_list.html", here="chat", title="Chat", conversations=found, rows=rows
        )

    async def _begin(self, request: Request) -> Response:
        async with request.form(max_files=0, max_fields=10) as form:
            written = str(form.get("name", "")).strip().lower()
        name = written if is_name(written) else name_like(written)
        if not is_name(name):
            raise Refused(HTTPStatus.BAD_REQUEST, f"Choose another name: {NAMES}.")
        return RedirectResponse(f"/chat/{name}", HTTPStatus.SEE_OTHER)

    async def _page(self, request: Request) -> Response:
        address, visitor = _address(request), visitor_of(request)
        moment, view = self._moments.of(address), View(self._context, visitor, address)
        before = _place(request)
        shown = await self._before(address, before) if before else await look(self._context, address)
        return self._context.answer(
            request,
            "chat.html",
            here="chat",
            title=address.chat,
            name=address.chat,
            agent=address.agent_id,
            lines=view.lines(shown.lines, moment),
            is_empty=not shown.lines,
            before=str(shown.before or ""),
            is_earlier=before is not None,
            meter=view.meter(moment.facts or shown.meter),
            digest=shown.digest,
            key=uuid4().hex,
            most_bytes=self._context.settings.files.most_bytes,
            most_files=MOST_FILES,
            commands=self._commands,
            beside=await self._others(address),
        )

    async def _beside(self, request: Request) -> Response:
        """The conversations beside this one, for a page that is open."""
        return JSONResponse({"html": await self._others(_address(request))})

    async def _others(self, address: Address) -> Markup:
        async with self._context.database.read() as tx:
            found = await talk.conversations(tx, WEB, most=_MOST_BESIDE)
        now = self._context.database.clock()
        html = self._context.rendering.text("chat_beside.html", conversations=found, name=address.chat, now=now)
        return Markup(html)  # noqa: S704  # made by a template that escapes

    async def _earlier(self, request: Request) -> Response:
        """The lines before a place, for a page that is open."""
        address, visitor = _address(request), visitor_of(request)
        shown = await self._before(address, _place(request))
        html = View(self._context, visitor, address).lines(shown.lines, self._moments.of(address))
        return JSONResponse({"html": html, "before": str(shown.before or "")})

    async def _before(self, address: Address, before: Place | None) -> Shown:
        async with self._context.database.read() as tx:
            lines, further = await talk.lines(tx, address, before=before, most=MOST_LINES)
            return Shown(lines, further, await talk.meter(tx, address))

    async def _stream(self, request: Request) -> Response:
        address, visitor = _address(request), visitor_of(request)
        seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
        stream = Stream(self._context, self._moments, visitor, address, seen)
        return self._updates.answer(request, stream.events())

    async def _file(self, request: Request) -> Response:
        folder = self._folder(_address(request))
        return await file_response(folder, request.path_params["path"], shown="shown" in request.query_params)

    async def _said(self, request: Request) -> Response:
        """Somebody says something, or presses a button."""
        address = _address(request)
        form = await self._form(request, address)
        try:
            inbound = self._inbound(address, form)
            if not await self._store([inbound]):
                await self._look_whether_stored(inbound)
                form.forget()  # it came before, with the files that it had then
        except Refused:
            form.forget()
            raise
        if wants_json(request.headers):
            return JSONResponse({"stored": True})
        return RedirectResponse(f"/chat/{address.chat}#end", HTTPStatus.SEE_OTHER)

    async def _form(self, request: Request, address: Address) -> Form:
        if not request.headers.get("content-type", "").startswith(_MULTIPART):
            async with request.form(max_files=0, max_fields=10) as form:
                return Form({name: str(value) for name, value in form.items()})
        uploads = self._folder(address) / UPLOADS
        await asyncio.to_thread(forget_old, uploads, self._context.database.clock())
        return await read_form(request, uploads, most_bytes=self._context.settings.files.most_bytes)

    def _inbound(self, address: Address, form: Form) -> Inbound:
        """Raises Refused for a form in which nothing is said."""
        press, key = form.fields.get("press", "").strip(), form.fields.get("key", "")
        text = press or form.fields.get("text", "").replace("\r\n", "\n").strip("\n").rstrip()
        if not text and not form.uploads:
            raise Refused(HTTPStatus.BAD_REQUEST, "There is nothing to send: write something, or choose a file.")
        if press and not press.startswith("/"):
            raise Refused(HTTPStatus.BAD_REQUEST, "That is no button of this conversation.")
        if key and not _KEY.fullmatch(key):
            raise Refused(HTTPStatus.BAD_REQUEST, "A key has 8 to 64 letters, digits, _ and -.")
        key = key or uuid4().hex
        kind: Literal["press", "message"] = "press" if press else "message"
        return Inbound(
            address,
            f"{kind}:{address.chat}:{key}",
            kind,
            time.time_ns(),
            person=OPERATOR,
            text=text,
            person_name=OPERATOR_NAME,
            ref=key,
            attachments=tuple(
                Attachment(f"{address.agent_id}/{UPLOADS}/{one.path.name}", one.name, one.media_type, one.size)
                for one in form.uploads
            ),
        )

    async def _look_whether_stored(self, inbound: Inbound) -> None:
        """A form that was sent again is fine. Raises Refused for one that the door of the gateway did not let in."""
        async with self._context.database.read() as tx:
            if not await inbox.known(tx, WEB, [inbound.key]):
                raise Refused(HTTPStatus.TOO_MANY_REQUESTS, access.TOO_FAST, {"retry-after": "60"})

    def _folder(self, address: Address) -> Path:
        return folder_of(self._context.settings.data_dir, address.agent_id)


def _address(request: Request) -> Address:
    name = request.path_params["name"]
    if not is_name(name):
        raise not_found(f"No conversation is called so: {NAMES}.")
    return Address(WEB, name)


def _place(request: Request) -> Place | None:
    if not (given := request.query_params.get("before", "")):
        return None
    try:
        return Place.parse(given)
    except ValueError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, "There is no such place in this conversation.") from error
