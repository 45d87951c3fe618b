"""Embeddings: texts as vectors, by a small model in its own package or by an endpoint. Vectors are kept in the book.

::

    entries ─▶ vectors in the book? ─▶ what is missing: embedded, the newest first, and kept ─▶ by seq
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import threading
from array import array
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import structlog

from bot.compaction.parts.similarity import LONGEST_TEXT, comparable_text
from bot.errors import EmbeddingsUnavailable
from bot.history import Entry, Usage
from bot.messages import AgentId
from bot.runtime.strategies import how_to_get_vectors
from bot.store import Database, vectors
from bot.store.money import ledger
from bot.store.money.ledger import Charge

log = structlog.get_logger(__name__)

PATIENCE = 20.0
"""Seconds that a compaction waits for embeddings; without those that are not there by then it compares words."""

_AT_ONCE = 128
"""Entries that are embedded, and kept, in one step."""
_REQUEST_SECONDS = 10.0
_PADDED = 8
"""Texts that the local model pools together: each takes the memory of the longest, a kilobyte a token."""
_OK = 200


class Embedder(Protocol):
    """Makes vectors of texts."""

    @property
    def name(self) -> str:
        """Of the model, at most 120 characters: vectors of two models cannot be compared."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector of finite numbers a text, in their order, all of one length. Raises EmbeddingsUnavailable."""


class WordLlamaEmbedder:
    """WordLlama: static embeddings of 256 dimensions, whose weights come with its package, which the extra `vectors`
    brings. Nothing is downloaded.

    Loaded at the first use (a third of a second, some 60 MB), in a thread, as all its work is.
    """

    def __init__(self) -> None:
        self._model: Any = None
        self._one_at_a_time = threading.Lock()
        try:
            self.name = f"wordllama-{version('wordllama')}"
        except PackageNotFoundError:  # an installation without it: whoever wants vectors goes on without them
            self.name = "wordllama"

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Some 10,000 short texts a second. A text without a token has a vector without length."""
        return await asyncio.to_thread(self._embed, [_sendable(text) for text in texts])

    def _embed(self, texts: list[str]) -> list[array[float]]:
        with self._one_at_a_time:
            try:
                model = self._loaded()
                rows = model.embed(texts, batch_size=_PADDED) if texts else []
            except ModuleNotFoundError as error:
                raise EmbeddingsUnavailable(f"{error}. {how_to_get_vectors()}") from error
            except (ImportError, OSError, ValueError, RuntimeError, MemoryError) as error:
                raise EmbeddingsUnavailable(f"WordLlama cannot embed: {type(error).__name__}: {error}") from error
        return [array("f", row.tobytes()) for row in rows]

    def _loaded(self) -> Any:
        if self._model is None:
            root = logging.getLogger()
            before = list(root.handlers), root.level
            import wordllama  # a third of a second to import

            root.handlers[:], root.level = before  # it calls logging.basicConfig
            folder = Path(wordllama.__file__).parent
            self._model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        return self._model


class Embedded(list["array[float]"]):
    """Vectors, and how many ``tokens`` an endpoint says that it read for them."""

    tokens = 0


class HttpEmbedder:
    """An endpoint that speaks Ollama's ``POST /api/embed`` (https://docs.ollama.com/api/embed).

    ``url``: the server's, e.g. ``http://127.0.0.1:11434``. ``seconds``: patience with one request.
    """

    def __init__(self, url: str, model: str, *, seconds: float = _REQUEST_SECONDS) -> None:
        base = url.rstrip("/").removesuffix("/api/embed")
        self._url = f"{base}/api/embed"
        self._model = model
        self._seconds = aiohttp.ClientTimeout(total=seconds)
        self.name = f"http-{model}"[:120]
        self.model = model
        """As the endpoint calls it."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """All texts in one request; none for no texts. A blank text is sent as a full stop: servers refuse it."""
        if not texts:
            return []
        asked = {"model": self._model, "input": [_sendable(text) if text.strip() else "." for text in texts]}
        try:
            async with (
                aiohttp.ClientSession(timeout=self._seconds) as session,
                session.post(self._url, json=asked, allow_redirects=False) as answer,
            ):
                status, text = answer.status, await answer.text()
        except TimeoutError as error:
            raise EmbeddingsUnavailable("The embedding server does not answer in time.") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise EmbeddingsUnavailable(f"The embedding server cannot be used: {type(error).__name__}.") from error
        body = _json(text)
        if status != _OK:
            raise EmbeddingsUnavailable(f"The embedding server says {status}{_reason(body)}.")
        rows = Embedded(_checked(body, len(texts)))
        counted = body.get("prompt_eval_count") if isinstance(body, dict) else None
        rows.tokens = counted if isinstance(counted, int) and counted > 0 else 0
        return rows


async def vectors_for(
    embedder: Embedder,
    database: Database,
    agent_id: AgentId,
    entries: Sequence[Entry],
    *,
    seconds: float = PATIENCE,
) -> Mapping[int, Sequence[float]]:
    """The vectors of these entries by seq: those in the book, and those that are made now, which are then in the book.

    The newest are made first, as the latest request is what all others are compared with. An embedder that fails, or
    takes more than ``seconds`` in all, is logged, and what there is by then is returned. Entries without any text
    have none. Raises StoreUnavailable.
    """
    async with database.read() as tx:
        found: dict[int, Sequence[float]] = dict(
            await vectors.load(tx, agent_id, embedder.name, [entry.seq for entry in entries])
        )
    missing = sorted((entry for entry in entries if entry.seq not in found), key=lambda entry: -entry.seq)
    texts = [(entry.seq, text) for entry in missing if (text := comparable_text(entry))]
    try:
        async with asyncio.timeout(seconds):
            for begin in range(0, len(texts), _AT_ONCE):
                some = texts[begin : begin + _AT_ONCE]
                rows = await embedder.embed([text for _, text in some])
                made = {seq: row for (seq, _), row in zip(some, rows, strict=True)}
                async with database.write() as tx:
                    await vectors.keep(tx, agent_id, embedder.name, made)
                    if isinstance(rows, Embedded) and isinstance(embedder, HttpEmbedder):
                        await ledger.record(tx, [_charge(embedder.model, agent_id, rows.tokens, database.clock())])
                found |= made
    except (EmbeddingsUnavailable, TimeoutError) as error:
        reason = str(error) or f"it takes more than {seconds:g} seconds"
        log.warning("embeddings_missing", agent=agent_id, there=len(found), wanted=len(texts), reason=reason)
    return found


def _charge(model: str, agent_id: AgentId, tokens: int, at: float) -> Charge:
    """The endpoint speaks as Ollama does, whose tokens nobody charges for, unless the file of prices says otherwise."""
    usage, connector = Usage(input=tokens), agent_id.partition("-")[0]
    one = Charge(ledger.new_id(at), agent_id, at, "embedding", model, usage, connector, provider="ollama")
    return one.priced()


def _sendable(text: str) -> str:
    """Bounded, and without halves of characters, which are no text to a tokenizer or to JSON."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode()


def _json(text: str) -> object:
    """None for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _reason(body: object) -> str:
    said = body.get("error") if isinstance(body, dict) else None
    return f": {said[:200]}" if isinstance(said, str) else ""


def _checked(body: object, count: int) -> list[array[float]]:
    """The vectors of an answer. Raises EmbeddingsUnavailable for anything else."""
    rows = body.get("embeddings") if isinstance(body, dict) else None
    if not isinstance(rows, list) or len(rows) != count or not all(isinstance(row, list) and row for row in rows):
        raise EmbeddingsUnavailable("The embedding server did not answer with one vector for each text.")
    try:
        made = [array("f", row) for row in rows]
    except (TypeError, OverflowError) as error:
        raise EmbeddingsUnavailable("The embedding server answered with what is no vector.") from error
    if len({len(row) for row in made}) != 1 or not all(math.isfinite(number) for row in made for number in row):
        raise EmbeddingsUnavailable("The embedding server answered with vectors that cannot be compared.")
    return made
