"""What one open chat page is told, for as long as it is open: server-sent events, made from the book and the bell.

The book says what was said, so a page that comes back after whatever kept it away is told what it missed. Between two
looks at the book, the bell brings what is gone in a moment. A reply that grows is sent block by block, and only the
blocks that changed.

Events: ``page`` (all newest lines), ``line`` (one that is new or changed; with its ``payload``,
if it has one for machines), ``gone``, ``writing`` (blocks of a reply),
``typing``, ``meter``, ``book`` (whether it answers), ``ended`` (the session).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from markupsafe import Markup

from bot.bus import topics
from bot.bus.bells import SWEEP_SECONDS
from bot.bus.events import MeterFacts
from bot.errors import StoreUnavailable
from bot.estimate.meter import MeterRecord
from bot.messages import Address
from bot.page.access.visitor import Visitor
from bot.page.chat.moments import Moments
from bot.page.chat.view import Shown, View, written
from bot.page.context import PageContext
from bot.page.updates import event
from bot.store.operators import talk

MOST_LINES = 50
_GATHER_SECONDS = 0.1
_RENDER_SHARE = 0.2
"""Of the time of this process, at most, that one growing reply is worth for one page."""


async def look(context: PageContext, address: Address) -> Shown:
    """What is in the book now. Raises StoreUnavailable."""
    async with context.database.read() as tx:
        lines, before = await talk.lines(tx, address, most=MOST_LINES)
        return Shown(lines, before, await talk.meter(tx, address))


class Stream:
    """One page that is open. ``seen``: the digest of what it shows already."""

    def __init__(self, context: PageContext, moments: Moments, visitor: Visitor, address: Address, seen: str) -> None:
        self._context = context
        self._moments = moments
        self._visitor = visitor
        self._address = address
        self._view = View(context, visitor, address)
        self._seen = seen
        self._shown: Shown | None = None
        self._texts: dict[str, str] = {}
        """What was told of each reply that grows, by its line."""
        self._blocks: dict[str, list[Markup]] = {}
        self._told: dict[str, Any] = {"typing": False, "book": "there", "meter": None, "facts": None, "html": ""}
        self._asked_for: set[int] = set()
        """Slots that were looked for in the book."""
        self._next_look = self._next_render = 0.0

    async def events(self) -> AsyncIterator[str]:
        """Until the session ends, or nobody listens any more."""
        agent = self._address.agent_id
        in_a_moment = topics.live(agent)
        in_book = (topics.outbox(self._address.connector), topics.inbox(agent), topics.marked(agent))
        now = asyncio.get_running_loop().time
        async with self._context.bus.bell(*in_book, in_a_moment) as bell:
            while True:
                rung = await bell.wait(self._patience(now()))
                if now() >= self._next_look:
                    if not await self._goes_on():
                        yield event("ended", {})
                        return
                    yield ": here\n\n"
                if now() >= self._next_look or rung - {in_a_moment} or self._is_strange():
                    self._next_look = now() + SWEEP_SECONDS
                    for told in await self._from_book():
                        yield told
                for told in self._of_moment(now()):
                    yield told

    def _patience(self, now: float) -> float:
        waits = self._next_render if self._has_more() else self._next_look
        return max(0.01, min(waits, self._next_look) - now)

    async def _goes_on(self) -> bool:
        try:
            return await self._context.goes_on(self._visitor)
        except StoreUnavailable:  # nobody can tell now
            return True

    def _is_strange(self) -> bool:
        """Whether a reply grows that nobody has told of: its slot is in the book then."""
        known = {line.slot for line in self._shown.lines} if self._shown else set()
        new = set(self._moments.of(self._address).texts) - known - self._asked_for
        self._asked_for |= new
        return bool(new)

    async def _from_book(self) -> list[str]:
        try:
            shown = await look(self._context, self._address)
        except StoreUnavailable:
            return [*self._once("book", "away")]
        events = [*self._once("book", "there"), *self._changes(shown), *self._meter_in_book(shown)]
        self._shown = shown
        return events

    def _meter_in_book(self, shown: Shown) -> Iterator[str]:
        """What was heard last counts, from the book or from the bell."""
        if self._shown is None:
            self._told |= {"meter": shown.meter, "facts": (facts := self._moments.of(self._address).facts)}
            yield from self._meter(facts or shown.meter)
        elif self._is_news("meter", shown.meter):
            yield from self._meter(shown.meter)

    def _meter(self, facts: MeterFacts | MeterRecord | None) -> Iterator[str]:
        if self._is_news("html", html := self._view.meter(facts)):
            yield event("meter", {"html": html})

    def _changes(self, shown: Shown) -> Iterator[str]:
        before = {line.id: line.version for line in self._shown.lines} if self._shown else {}
        if self._shown is None and shown.digest == self._seen:
            return
        moment = self._moments.of(self._address)
        if not before or not before.keys() & {line.id for line in shown.lines}:
            html = self._view.lines(shown.lines, moment)
            self._texts = {line.id: written(line, moment) for line in shown.lines if line.slot is not None}
            self._blocks = {line: self._view.blocks(text) for line, text in self._texts.items()}
            yield event("page", {"html": html, "before": str(shown.before or "")}, shown.digest)
            return
        after = ""
        for line in shown.lines:
            if before.get(line.id) != line.version:
                blocks = self._view.blocks(text := written(line, moment))
                if line.slot is not None:
                    self._texts[line.id], self._blocks[line.id] = text, blocks
                html = self._view.line(line, blocks)
                payload = {"payload": line.payload} if line.payload else {}
                yield event("line", {"id": line.id, "after": after, "html": html, **payload}, shown.digest)
            after = line.id
        for gone in self._gone(shown):
            yield event("gone", {"id": gone}, shown.digest)

    def _gone(self, shown: Shown) -> Iterator[str]:
        """Lines that are no more; not those that only have become too old to be looked at."""
        there = {line.id for line in shown.lines}
        is_within = shown.before is None
        for line in self._shown.lines if self._shown else ():
            is_within = is_within or line.id in there
            if is_within and line.id not in there:
                yield line.id

    def _of_moment(self, now: float) -> Iterator[str]:
        moment = self._moments.of(self._address)
        yield from self._once("typing", moment.is_typing)
        if self._shown and self._is_news("facts", moment.facts):
            yield from self._meter(moment.facts)
        if now >= self._next_render and self._has_more():
            yield from self._writing()
            took = asyncio.get_running_loop().time() - now
            self._next_render = now + max(_GATHER_SECONDS, took / _RENDER_SHARE)

    def _has_more(self) -> bool:
        return any(text != self._texts.get(line) for line, text in self._growing())

    def _growing(self) -> Iterator[tuple[str, str]]:
        moment = self._moments.of(self._address)
        for line in self._shown.lines if self._shown else ():
            if line.slot is not None and (text := written(line, moment)):
                yield line.id, text

    def _writing(self) -> Iterator[str]:
        """What has changed of replies that grow: from the first block on that is another one now."""
        for line, text in self._growing():
            before, blocks = self._blocks.get(line, []), self._view.blocks(text)
            same = 0
            while same < min(len(before), len(blocks)) and before[same] == blocks[same]:
                same += 1
            self._texts[line], self._blocks[line] = text, blocks
            if same < max(len(before), len(blocks)):
                yield event("writing", {"id": line, "from": same, "blocks": blocks[same:]})

    def _once(self, kind: str, state: Any) -> Iterator[str]:
        """Tell a state, where it is another one than was told last."""
        if self._is_news(kind, state):
            yield event(kind, {"is": state})

    def _is_news(self, kind: str, state: Any) -> bool:
        known, self._told[kind] = self._told[kind], state
        return bool(known != state)
