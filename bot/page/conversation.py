"""One conversation: how full it was when, where the time of its turns goes, what was said, and what lies over it."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.bus import topics
from bot.compaction.facts.fact import Reason
from bot.compaction.memory_report import REASONS
from bot.compaction.standing_rules import pinned
from bot.estimate.meter import MeterRecord
from bot.files.blocks import FOLDER, folder_of
from bot.history import LASTING
from bot.messages import AgentId
from bot.page.context import PageContext
from bot.page.entries import shown
from bot.page.levels import LevelsOf
from bot.page.plot import points_of, sawtooth, told
from bot.page.query import Slice, chosen, named, seq, text
from bot.page.refusal import Refused, not_found
from bot.page.slowness import slowness
from bot.page.updates import Updates
from bot.store import Tx, facts, standing_rules
from bot.store.operators import conversations, orders, pages
from bot.store.operators.conversations import Conversation
from bot.store.operators.pages import Cover
from bot.store.search.words import query_words

log = structlog.get_logger(__name__)

_ENTRIES, _TURNS, _NOTICES, _POINTS = 50, 20, 5, 20_000
_SPANS: Mapping[str, float | None] = {"day": 86_400.0, "week": 604_800.0, "all": None}
_MOST_ROWS = 60
_CANDIDATES = 100
_COMMANDS = ("undo", "compact", "abort")
_KEY = re.compile(r"[0-9a-f]{32}")
_LONGEST_FOCUS, _LONGEST_QUERY = 500, 300
_MOST_FILES = 100
_PARTS = 6
"""Colours of the meter's parts."""


@dataclass(frozen=True)
class FileThere:
    """One file: its size in bytes, and when it was written, in seconds since 1970."""

    name: str
    size: int
    at: float


@dataclass(frozen=True)
class Part:
    """A share of a bar, from 0 to 100, beginning where the ones before it end."""

    name: str
    tokens: int
    begin: float
    width: float
    colour: int


class ConversationPage:
    """`/conversations/{agent}`."""

    def __init__(self, context: PageContext, updates: Updates) -> None:
        self._context = context
        self._updates = updates
        self._levels_of = LevelsOf(context.settings)
        self.routes = [
            Route("/conversations/{agent}", self._page, methods=["GET"]),
            Route("/conversations/{agent}/commands", self._command, methods=["POST"]),
            Route("/conversations/{agent}/memory", self._memory, methods=["GET"]),
            Route("/live/conversations/{agent}", self._stream, methods=["GET"]),
        ]

    async def _page(self, request: Request) -> Response:
        agent_id, side = AgentId(named(request, "agent")), chosen(request, "side", ("people", "model", "all"))
        before, after = seq(request, "before"), seq(request, "after")
        async with self._context.database.read(long=True) as tx:
            one = await _existing(tx, agent_id)
            covers = await pages.covers(tx, agent_id)
            stretch = await pages.said(tx, agent_id, side, before=before, after=after, most=_ENTRIES)  # type: ignore[arg-type]
            turns = await pages.turns_of(tx, agent_id, most=_TURNS)
            over_time = await self._over_time(tx, one, chosen(request, "span", tuple(_SPANS)))
            known = await facts.load(tx, agent_id)
            rules = pinned(await standing_rules.load(tx, agent_id))
            notices = await pages.notices(tx, one.address, most=_NOTICES)
            waiting = await pages.commands_waiting(tx, agent_id)
            state = await pages.state(tx, agent_id)
        return self._context.answer(
            request,
            "conversation.html",
            title=agent_id,
            one=one,
            strategy=one.strategy or self._levels_of.default,
            covers=list(reversed(covers)),
            top=_top(covers),
            is_undoing="undo" in waiting,
            side=side,
            stretch=stretch,
            entries=[shown(item, covers) for item in stretch.entries],
            words=query_words(text(request, "q", _LONGEST_QUERY)),
            newest=before is None and after is None,
            turns=turns,
            slowness=slowness(turns),
            parts=_parts(one.meter),
            files=await asyncio.to_thread(_newest_files, folder_of(self._context.settings.data_dir, agent_id) / FOLDER),
            facts=[item for item in known if item.is_listed],
            rules=rules,
            notices=notices,
            state=state,
            key=uuid4().hex,
            given=request.query_params.get("given", "") if request.query_params.get("given") in _COMMANDS else "",
            **over_time,
        )

    async def _over_time(self, tx: Tx, one: Conversation, span: str) -> dict[str, Any]:
        now, wide = self._context.database.clock(), _SPANS[span]
        since = now - wide if wide else 0.0
        fills = await pages.fills(tx, one.agent_id, since=since, most=_POINTS)
        drops = await pages.drops(tx, one.agent_id, since=since, most=_POINTS)
        points, levels = points_of(fills, drops), self._levels_of(one.strategy)
        limit = one.meter.limit if one.meter else fills[-1].limit if fills else 0
        picture = None
        if points and limit:
            begin = since or points[0].at
            picture = sawtooth(points, limit=limit, levels=levels, since=begin, until=now, name=one.agent_id)
        return {
            "span": span,
            "levels": levels,
            "picture": picture,
            "begin": since or (points[0].at if points else now),
            "told": told(points[-1]) if points else "",
            "points": list(reversed(points[-_MOST_ROWS:])),
        }

    async def _memory(self, request: Request) -> Response:
        """What was considered for memory, with what was decided about it."""
        agent_id = AgentId(named(request, "agent"))
        reason = chosen(request, "reason", ("", *Reason))
        async with self._context.database.read(long=True) as tx:
            one = await _existing(tx, agent_id)
            candidates = await facts.candidates(tx, agent_id)
        found = [item for item in reversed(candidates) if reason in ("", item.reason)]
        rows = Slice.of(request, len(found), _CANDIDATES)
        return self._context.answer(
            request,
            "candidates.html",
            title=f"Memory of {agent_id}",
            one=one,
            total=len(candidates),
            counts=Counter(item.reason.value for item in candidates).most_common(),
            reason=reason,
            reasons=REASONS,
            found=found[rows.offset : rows.offset + rows.most],
            rows=rows,
        )

    async def _command(self, request: Request) -> Response:
        """Undo, compact or abort, by the way that everybody's commands go: the chat sees what came of it."""
        agent_id = AgentId(named(request, "agent"))
        async with request.form(max_files=0, max_fields=10) as form:
            name, key = str(form.get("command", "")), str(form.get("key", ""))
            argument = " ".join(str(form.get("argument", "")).split())[:_LONGEST_FOCUS]
        if name not in _COMMANDS or not _KEY.fullmatch(key):
            raise Refused(HTTPStatus.BAD_REQUEST, f"There is to be a command ({', '.join(_COMMANDS)}) and its key.")
        database = self._context.database
        async with database.write() as tx:
            one = await _existing(tx, agent_id)
            said = f"/{name} {argument}".strip()
            new = await orders.command(tx, one.address, said, f"{name}:{key}", now=database.clock())
        if new:
            self._context.bus.ring(topics.inbox(agent_id))
            log.info("page_command", agent=agent_id, command=name)
        return RedirectResponse(f"/conversations/{quote(agent_id)}?given={name}#said-by-program", HTTPStatus.SEE_OTHER)

    async def _stream(self, request: Request) -> Response:
        agent_id = AgentId(named(request, "agent"))

        async def state() -> str:
            async with self._context.database.read() as tx:
                return await pages.state(tx, agent_id)

        async with self._context.database.read() as tx:
            one = await _existing(tx, agent_id)
        own = (topics.inbox(agent_id), topics.settled(agent_id), topics.outbox(one.address.connector))
        return self._updates.changes(request, (*own, topics.RUNS), state)


async def _existing(tx: Tx, agent_id: AgentId) -> Conversation:
    one = await conversations.get(tx, agent_id)
    if one is None:
        raise not_found("There is no conversation of this name.")
    return one


def _top(covers: Sequence[Cover]) -> int | None:
    """The layer that an undo would take off; what was put aside stays aside."""
    on = (cover.layer for cover in reversed(covers) if cover.is_on)
    return next((layer.number for layer in on if layer.kind not in LASTING), None)


def _parts(meter: MeterRecord | None) -> list[Part]:
    """What a context is made of, as shares of its limit, or of itself where it is over that."""
    if not meter:
        return []
    whole = max(meter.limit, meter.total, 1)
    found, begin = list[Part](), 0.0
    for at, part in enumerate(meter.parts):
        width = part.tokens * 100 / whole
        found.append(Part(part.name, part.tokens, begin, width, at % _PARTS + 1))
        begin += width
    return found


def _newest_files(folder: Path) -> list[FileThere]:
    """Those that lie in the folder of a conversation, the newest first."""
    found = list[FileThere]()
    try:
        with os.scandir(folder) as there:
            for one in there:
                if one.is_file(follow_symlinks=False):
                    stat = one.stat(follow_symlinks=False)
                    found.append(FileThere(one.name, stat.st_size, stat.st_mtime))
    except OSError:  # it has none, or they lie on a volume that is away: the page says what it knows
        return []
    return sorted(found, key=lambda file: file.at, reverse=True)[:_MOST_FILES]
