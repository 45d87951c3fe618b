"""Search: over conversations, people, and what was said in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.history.entry_text import text_to_read
from bot.messages import AgentId
from bot.page.context import PageContext
from bot.page.entries import is_prose
from bot.page.markup import plain
from bot.page.query import text
from bot.store.operators import conversations
from bot.store.search import finding
from bot.store.search.snippets import excerpt, snippet
from bot.store.search.words import Wanted, query_words

_MOST = 30
_LONGEST_QUERY = 300
_WIDTH, _WIDE = 240, 2_000


@dataclass(frozen=True)
class Hit:
    """An entry that was found, and the part of it that says why."""

    agent_id: AgentId
    seq: int
    kind: str
    at: float
    text: str


class Search:
    """`/search?q=`."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self.routes = [Route("/search", self._page, methods=["GET"])]

    async def _page(self, request: Request) -> Response:
        query = text(request, "q", _LONGEST_QUERY)
        found, called, said = list[conversations.Conversation](), list[finding.Person](), list[finding.Found]()
        if query:
            async with self._context.database.read(long=True) as tx:
                found = await conversations.listed(tx, like=query, most=_MOST)
                called = await finding.people_called(tx, query, most=_MOST)
                said = await finding.said(tx, query, most=_MOST)
        words = query_words(query)
        hits = [Hit(one.agent_id, one.entry.seq, one.entry.kind.value, one.at, self._part(one, words)) for one in said]
        return self._context.answer(
            request,
            "search.html",
            title="Search",
            query=query,
            words=words,
            found=found,
            called=called,
            hits=hits,
            most=_MOST,
        )

    def _part(self, one: finding.Found, words: Sequence[Wanted]) -> str:
        """The part that was found, without the signs of Markdown. Secrets are taken out of a wider one, so that none is
        cut and then not known."""
        wide = self._context.rendering.shown(excerpt(text_to_read(one.entry.blocks), words, _WIDE))
        return snippet(plain(wide, _WIDE) if is_prose(one.entry) else wide, words, _WIDTH)
