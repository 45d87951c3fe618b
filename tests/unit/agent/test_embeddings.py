"""Texts become vectors, by the model that comes along or by an endpoint, and are kept."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.agent.embeddings import HttpEmbedder, WordLlamaEmbedder, vectors_for
from bot.compaction.parts.similarity import LONGEST_TEXT, cosine
from bot.errors import EmbeddingsUnavailable, PalimpsestError
from bot.history import Entry
from bot.messages import AgentId
from bot.runtime.strategies import how_to_get_vectors
from bot.store import Database
from tests.unit.entries import replied, said

ADA = AgentId("room-1")


class Ollama:
    """An endpoint that answers as it is told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.status = 200
        self.body: str | None = None
        self.hold = asyncio.Event()
        self.hold.set()
        self.url = ""

    async def embed(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        await self.hold.wait()
        rows = [[float(len(text)), 1.0] for text in self.asked[-1]["input"]]
        body = json.dumps({"model": "m", "embeddings": rows}) if self.body is None else self.body
        return web.Response(text=body, status=self.status, content_type="application/json")


@pytest.fixture
async def ollama() -> AsyncIterator[Ollama]:
    """On loopback."""
    ollama = Ollama()
    app = web.Application()
    app.router.add_post("/api/embed", ollama.embed)
    async with TestServer(app) as server:
        ollama.url = str(server.make_url("/"))
        yield ollama
        ollama.hold.set()


class Counting:
    """An embedder that fails after so many calls."""

    name = "counting"

    def __init__(self, *, fails_after: int = 1_000_000) -> None:
        self.texts: list[str] = []
        self.calls_left = fails_after

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if not self.calls_left:
            raise EmbeddingsUnavailable("no more")
        self.calls_left -= 1
        self.texts += texts
        return [[float(len(text)), 0.0] for text in texts]


def talk(count: int) -> list[Entry]:
    return [said(seq, "x" * seq) for seq in range(1, count + 1)]


async def test_the_model_that_comes_along_knows_what_is_related() -> None:
    texts = ["How does password hashing work?", "We store passwords with argon2.", "The button should be blue."]
    asked, near, far = await WordLlamaEmbedder().embed(texts)
    assert len(asked) == len(near) == 256
    assert cosine(asked, near) > cosine(asked, far) + 0.1


async def test_the_model_that_comes_along_takes_any_text() -> None:
    embedder = WordLlamaEmbedder()
    texts = ["", " ", "\u200b", "🙂", "数据库迁移", "миграция", "half of a character: \ud83d", "x" * 50_000]
    rows = await embedder.embed(texts)
    assert [len(row) for row in rows] == [256] * len(texts)
    assert all(-100 < number < 100 for row in rows for number in row)
    assert await embedder.embed([]) == []


async def test_where_there_is_no_wordllama_it_is_said_what_to_do() -> None:
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "wordllama"}
    sys.modules["wordllama"] = None  # type: ignore[assignment]  # how Python says that there is none
    try:
        with pytest.raises(EmbeddingsUnavailable, match=r"Install palimpsest\[vectors\], .* or set EMBEDDINGS__URL\."):
            await WordLlamaEmbedder().embed(["a"])
    finally:
        del sys.modules["wordllama"]
        sys.modules.update(kept)
    assert how_to_get_vectors((3, 14, 0)) == "Set EMBEDDINGS__URL: for Python 3.14 there is no WordLlama."


async def test_loading_the_model_twice_at_once_changes_nothing_and_leaves_the_logs_alone() -> None:
    embedder, root = WordLlamaEmbedder(), logging.getLogger()
    before = list(root.handlers), root.level
    one, other = await asyncio.gather(embedder.embed(["a fox"]), embedder.embed(["a fox"]))
    assert list(one[0]) == list(other[0])
    assert (list(root.handlers), root.level) == before


async def test_an_endpoint_is_asked_as_ollama_is(ollama: Ollama) -> None:
    rows = await HttpEmbedder(ollama.url, "nomic-embed-text").embed(["a", "bcd"])
    assert [list(row) for row in rows] == [[1.0, 1.0], [3.0, 1.0]]
    assert ollama.asked == [{"model": "nomic-embed-text", "input": ["a", "bcd"]}]


@pytest.mark.parametrize("ending", ["", "/", "api/embed", "api/embed/"])
async def test_the_address_may_be_given_with_or_without_its_path(ollama: Ollama, ending: str) -> None:
    assert len(await HttpEmbedder(f"{ollama.url}{ending}", "m").embed(["a"])) == 1


async def test_an_endpoint_gets_no_blank_and_no_endless_text_and_no_halves_of_characters(ollama: Ollama) -> None:
    assert await HttpEmbedder(ollama.url, "m").embed([]) == []
    assert ollama.asked == []
    await HttpEmbedder(ollama.url, "m").embed(["", "  \n", "y" * 9_000, "\ud83d"])
    assert ollama.asked[0]["input"] == [".", ".", "y" * LONGEST_TEXT, "?"]


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, '{"error": "model \\"m\\" not found, try pulling it first"}', 'says 404: model "m" not found'),
        (502, "<html>Bad gateway</html>", "says 502"),
        (302, "", "says 302"),
        (200, "not json", "one vector for each"),
        (200, "[]", "one vector for each"),
        (200, "{}", "one vector for each"),
        (200, '{"embeddings": []}', "one vector for each"),
        (200, '{"embeddings": [[1.0], [2.0]]}', "one vector for each"),
        (200, '{"embeddings": [[]]}', "one vector for each"),
        (200, '{"embeddings": [["a"]]}', "no vector"),
        (200, '{"embeddings": [[NaN]]}', "cannot be compared"),
        (200, '{"embeddings": [[1e999]]}', "cannot be compared"),
    ],
)
async def test_whatever_else_an_endpoint_says_is_an_error_of_ours(
    ollama: Ollama, status: int, body: str, reason: str
) -> None:
    ollama.status, ollama.body = status, body
    with pytest.raises(EmbeddingsUnavailable, match=reason) as caught:
        await HttpEmbedder(ollama.url, "m").embed(["a"])
    assert isinstance(caught.value, PalimpsestError)


async def test_vectors_of_different_lengths_are_refused(ollama: Ollama) -> None:
    ollama.body = '{"embeddings": [[1.0], [1.0, 2.0]]}'
    with pytest.raises(EmbeddingsUnavailable, match="cannot be compared"):
        await HttpEmbedder(ollama.url, "m").embed(["a", "b"])


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "no address", "http://", "ftp://127.0.0.1"])
async def test_an_endpoint_that_is_not_there_is_unavailable(url: str) -> None:
    with pytest.raises(EmbeddingsUnavailable, match="cannot be used"):
        await HttpEmbedder(url, "m").embed(["a"])


async def test_an_endpoint_that_is_silent_is_not_waited_for(ollama: Ollama) -> None:
    ollama.hold.clear()
    with pytest.raises(EmbeddingsUnavailable, match="in time"):
        await HttpEmbedder(ollama.url, "m", seconds=0.05).embed(["a"])


async def test_vectors_are_made_once_and_kept(database: Database) -> None:
    embedder = Counting()
    first = await vectors_for(embedder, database, ADA, talk(3))
    assert {seq: list(vector) for seq, vector in first.items()} == {1: [1.0, 0.0], 2: [2.0, 0.0], 3: [3.0, 0.0]}
    embedder.texts.clear()
    again = await vectors_for(embedder, database, ADA, talk(4))
    assert embedder.texts == ["xxxx"]
    assert {seq: list(vector) for seq, vector in again.items()} == {seq: [float(seq), 0.0] for seq in range(1, 5)}


async def test_the_newest_are_made_first_so_that_the_request_has_one(database: Database) -> None:
    embedder = Counting(fails_after=1)
    found = await vectors_for(embedder, database, ADA, talk(300))
    assert max(found) == 300
    assert 0 < len(found) < 300
    assert len(await vectors_for(Counting(), database, ADA, talk(300))) == 300, "and the rest is made the next time"


async def test_an_embedder_that_fails_leaves_what_is_in_the_book(database: Database) -> None:
    await vectors_for(Counting(), database, ADA, talk(2))
    found = await vectors_for(Counting(fails_after=0), database, ADA, talk(5))
    assert sorted(found) == [1, 2]


async def test_an_embedder_that_takes_too_long_is_not_waited_for(database: Database, ollama: Ollama) -> None:
    ollama.hold.clear()
    embedder = HttpEmbedder(ollama.url, "m")
    assert await vectors_for(embedder, database, ADA, talk(2), seconds=0.05) == {}
    ollama.hold.set()
    assert sorted(await vectors_for(embedder, database, ADA, talk(2))) == [1, 2]


async def test_entries_without_text_have_no_vector(database: Database) -> None:
    entries = [said(1, "  "), replied(2, "yes"), said(3, "")]
    embedder = Counting()
    assert sorted(await vectors_for(embedder, database, ADA, entries)) == [2]
    assert embedder.texts == ["yes"]
    assert await vectors_for(embedder, database, ADA, []) == {}
