"""The prompt cache: which part of a prompt was read before, what reading and writing it is charged as, and for how long
it is kept.

From https://platform.claude.com/docs/en/build-with-claude/prompt-caching (and the page on tools with prompt caching):

- a prompt is its tools, its system prompt and its messages, in that order; whatever changes in it changes all behind;
- only marked places are written, at most four of them; a mark at the top level stands on the last block that takes one;
- from each mark the cache looks back over 20 blocks, the marked one included, for what an earlier request wrote;
- what is shorter than the model's minimum is not cached, and nothing says so;
- an entry lives five minutes, or an hour where its mark says so, and as long again after each use;
- the order of the keys in a call's arguments is a part of the prompt;
- ``tool_choice``, ``thinking`` and whether there are pictures at all belong to the messages' part of the key.

The documentation does not say whether reading a long entry keeps a shorter one alive that is a part of it. Here it does
only where the request marks that place too: what this account finds in the cache, the real one finds as well.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.servers.messages.wire import (
    MESSAGE_TOKENS,
    Json,
    Usage,
    blocks_of,
    tokens_of_content,
    tokens_of_tools,
)

LOOK_BACK = 20
"""Blocks."""
SECONDS = {"5m": 300.0, "1h": 3600.0}
MINIMUM = {
    "claude-opus-5": 512,
    "claude-fable-5": 512,
    "claude-mythos-5": 512,
    "claude-opus-4-7": 2048,
    "claude-opus-4-6": 4096,
    "claude-opus-4-5": 4096,
    "claude-haiku-4-5": 4096,
    "claude-opus": 1024,
    "claude-sonnet": 1024,
}
"""Beginning of a model's name to the tokens below which nothing is cached; of any other name, nothing is too short."""
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True)
class Place:
    """The end of one block: the key of everything up to here, its tokens, and whether the API marks it by itself."""

    key: str
    tokens: int
    takes_mark: bool = True


@dataclass(frozen=True)
class Charge:
    """The tokens of one prompt, by what they cost."""

    plain: int = 0
    written_5m: int = 0
    written_1h: int = 0
    read: int = 0

    @property
    def total(self) -> int:
        """All of the prompt."""
        return self.plain + self.written_5m + self.written_1h + self.read

    def __add__(self, other: Charge) -> Charge:
        return Charge(
            self.plain + other.plain,
            self.written_5m + other.written_5m,
            self.written_1h + other.written_1h,
            self.read + other.read,
        )


Known = dict[int, tuple[object, bytes, int]]
"""A block by its id: the block itself, its digest and its tokens."""


@dataclass(frozen=True)
class Prompt:
    """A request as the cache sees it. ``marks``: place to how long it is to be kept, in order."""

    places: tuple[Place, ...]
    marks: Mapping[int, str]
    tokens: int

    @classmethod
    def of(cls, body: Json, known: Known | None = None) -> Prompt:
        """All of a request. A mark at the top level is put where it belongs; what is too short has none.

        ``known``: what was read of blocks before, for callers that send the same objects again.
        """
        found = list(_places(body, {} if known is None else known))
        places = tuple(place for place, _ in found)
        marks = {index: life for index, (_, life) in enumerate(found) if life}
        if mark := body.get("cache_control"):
            last = next((index for index in reversed(range(len(places))) if places[index].takes_mark), None)
            if last is not None:
                marks.setdefault(last, mark.get("ttl", "5m"))
        minimum = minimum_of(str(body["model"]))
        marks = {index: life for index, life in marks.items() if places[index].tokens >= minimum}
        return cls(places, marks, places[-1].tokens)


class PromptCache:
    """Remembers prompts up to each mark for as long as they live. ``clock``: seconds, of any beginning."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._entries: dict[str, tuple[float, str]] = {}
        """Key to when it ends, and the life that a use of it gives."""

    def clear(self) -> None:
        """Forget everything, as after an hour."""
        self._entries.clear()

    def account(self, body: Json) -> Usage:
        """Split a prompt's tokens as the API reports them, and remember its marked places."""
        charge = self.charge(Prompt.of(body))
        written = charge.written_5m + charge.written_1h
        lives = {"ephemeral_5m_input_tokens": charge.written_5m, "ephemeral_1h_input_tokens": charge.written_1h}
        return Usage(
            input_tokens=charge.plain,
            cache_creation_input_tokens=written,
            cache_read_input_tokens=charge.read,
            cache_creation=lives if written or charge.read else None,
        )

    def charge(self, prompt: Prompt) -> Charge:
        """The same by what is charged for it."""
        places, marks = prompt.places, prompt.marks
        if not marks:
            return Charge(plain=prompt.tokens)
        now = self.clock()
        found = self._longest(prompt, now)
        read = places[found].tokens if found is not None else 0
        end = max(places[index].tokens for index in marks)
        hourly = max((places[index].tokens for index, life in marks.items() if life == "1h"), default=0)
        hourly = max(0, hourly - read)
        if found is not None:
            self._use(places[found], now)
        for index, life in marks.items():
            self._use(places[index], now, life)
        return Charge(prompt.tokens - end, end - read - hourly, hourly, read)

    def _longest(self, prompt: Prompt, now: float) -> int | None:
        for mark in sorted(prompt.marks, reverse=True):
            for index in range(mark, max(-1, mark - LOOK_BACK), -1):
                if self._lives(prompt.places[index].key, now):
                    return index
        return None

    def _lives(self, key: str, now: float) -> bool:
        entry = self._entries.get(key)
        return entry is not None and now < entry[0]

    def _use(self, place: Place, now: float, life: str = "5m") -> None:
        kept = self._entries[place.key][1] if self._lives(place.key, now) else life
        self._entries[place.key] = now + SECONDS[kept], kept


def minimum_of(model: str) -> int:
    """Tokens below which a prompt is not cached."""
    return next((tokens for name, tokens in MINIMUM.items() if model.startswith(name)), 0)


def without_marks(part: object) -> object:
    """The same with every `cache_control` left out: moving a mark changes no prompt."""
    if isinstance(part, dict):
        return {key: without_marks(value) for key, value in part.items() if key != "cache_control"}
    return [without_marks(item) for item in part] if isinstance(part, list) else part


def _places(body: Json, known: Known) -> Iterator[tuple[Place, str | None]]:
    """Each place, and the life of a mark on it."""
    digest = hashlib.sha256(str(body["model"]).encode())
    total = 0

    def place(block: Json) -> tuple[Place, str | None]:
        nonlocal total
        if id(block) not in known:
            known[id(block)] = block, _digest(block), tokens_of_content([block])
        _, own, tokens = known[id(block)]
        digest.update(own)
        total += tokens
        return Place(digest.hexdigest(), total, block.get("type") not in _UNMARKABLE), _life(block)

    if tools := body.get("tools") or []:
        digest.update(b"".join(map(_digest, tools)))
        total += tokens_of_tools(tools)
        yield Place(digest.hexdigest(), total), _life(tools)
    yield from map(place, blocks_of(body.get("system")))
    digest.update(json.dumps([body.get("tool_choice"), body.get("thinking"), _has_images(body)]).encode())
    role = ""
    for message in body["messages"]:
        if message["role"] != role:  # two messages in a row of one role are one
            role = message["role"]
            digest.update(role.encode())
        total += MESSAGE_TOKENS
        yield from map(place, blocks_of(message["content"]))


def _digest(block: Json) -> bytes:
    """The order of a block's own fields says nothing, that of arguments and schemas in it is read as it stands."""
    fields = sorted((name, without_marks(value)) for name, value in block.items() if name != "cache_control")
    return hashlib.sha256(json.dumps(fields).encode()).digest()


def _has_images(part: object) -> bool:
    if isinstance(part, dict):
        return part.get("type") == "image" or any(_has_images(part.get(name)) for name in ("messages", "content"))
    return any(map(_has_images, part)) if isinstance(part, list) else False


def _life(part: object) -> str | None:
    """Of the last mark in this part; in a tool's result, its content may be marked too."""
    if isinstance(part, dict):
        mark = part.get("cache_control")
        return str(mark.get("ttl", "5m")) if mark else _life(part.get("content"))
    return next(filter(None, map(_life, reversed(part))), None) if isinstance(part, list) else None
