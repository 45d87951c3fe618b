"""How many tokens a request takes, guessed before anyone is asked: its texts, pictures, documents, tools and
framing.

Pure: no I/O, no clock, no settings. What texts take is remembered, for callers that count a growing list again and
again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from bot.estimate import chat_form
from bot.estimate.media import image_size, pdf_pages
from bot.estimate.meter import Level, Meter, Part
from bot.estimate.text import Family, family_of, text_tokens, texts_tokens
from bot.messages import Block

__all__ = [
    "Family",
    "Level",
    "Meter",
    "Part",
    "block_tokens",
    "estimate_tokens",
    "family_of",
    "message_tokens",
    "messages_tokens",
    "text_tokens",
]

MESSAGE_TOKENS = 4
"""Framing of one message: its role and its separators."""

BLOCK_TOKENS = 12
"""Framing of a tool call or a tool result: its kind and its id."""

TOOL_PROMPT_TOKENS = 346
"""The system prompt that Anthropic adds when a request has tools (its tool-use page: 313 to 346); for Claude
only.
"""

PIXELS_PER_TOKEN = 750
"""Anthropic's vision page: tokens = width × height / 750."""

LARGEST_IMAGE_TOKENS = {Family.OLDER: 1_600, Family.NEWER: 4_784}
"""Larger pictures are scaled down before the model sees them (vision page)."""

UNKNOWN_IMAGE_TOKENS = 1_600
"""A picture whose size is not known: a URL, a file id, an unknown format."""

PDF_PAGE_TOKENS = 2_250
"""A page of a PDF, its text and a picture of it: 1,500 to 3,000 in Anthropic's page on PDF support."""

ENCRYPTED_CHARACTERS_PER_TOKEN = 4.0
"""Of a search result: base64 of an encrypted English text, whose tokens are those of the text."""

UNKNOWN_DOCUMENT_TOKENS = 3 * PDF_PAGE_TOKENS


def estimate_tokens(
    messages: Iterable[Mapping[str, Any]],
    *,
    system: str | Sequence[str | Block] | None = None,
    tools: Iterable[Mapping[str, Any]] | None = None,
    model: str | None = None,
) -> int:
    """The input tokens of a request to the Messages API, rounded up.

    ``messages``: ``{"role", "content"}`` with a string or a list of blocks. ``system``: a string or a list
    of blocks. ``tools``: tool definitions. ``model`` chooses the tokenizer family (:func:`family_of`), the
    newest by default. Messages may also have the form of the Chat Completions API (:mod:`bot.estimate.chat_form`);
    their system messages count as the system prompt. What is malformed is counted as it stands, and raises nothing.
    """
    request = _Contents(family_of(model))
    messages = list(messages)
    if any(chat_form.is_chat(message) or chat_form.is_system(message) for message in messages):
        request.add(chat_form.system_of(messages))
        messages = [message for _, message in chat_form.read(messages)]
    given = [message.get("content") if type(message) is dict else _content_of(message) for message in messages]
    request.fixed += MESSAGE_TOKENS * len(given)
    request.texts += [content for content in given if type(content) is str]
    request.add([content for content in given if type(content) is not str])
    request.add(system)
    definitions = list(tools or ())
    for definition in definitions:
        request.add_json(definition)
    if definitions and (model or "").startswith("claude-"):
        request.fixed += TOOL_PROMPT_TOKENS
    return math.ceil(request.fixed + _memories[request.family].total(request.texts))


def message_tokens(message: Mapping[str, Any], *, family: Family) -> float:
    """The tokens of one message with its framing."""
    return messages_tokens([message], family=family)[0]


def messages_tokens(messages: Iterable[Mapping[str, Any]], *, family: Family) -> list[float]:
    """The tokens of each of these messages with its framing; many are counted faster together than one by one."""
    return [MESSAGE_TOKENS + tokens for tokens in _tokens(map(_content_of, messages), family)]


def block_tokens(block: str | Block, *, family: Family) -> float:
    """The tokens of one content block of any type; of a type that is not known, those of its JSON."""
    return _tokens([block], family)[0]


def _content_of(message: object) -> object:
    return message.get("content") if isinstance(message, Mapping) else message


def _tokens(given: Iterable[object], family: Family) -> list[float]:
    """Of each of these contents."""
    read = [_Contents(family, content) for content in given]
    found = texts_tokens(chain.from_iterable(contents.texts for contents in read), family=family)
    return [contents.fixed + sum(map(found.__getitem__, contents.texts)) for contents in read]


_REMEMBERED_CHARACTERS = 16_000_000
"""How much text is remembered of a family at most: a caller that counts the same list again holds the same strings.
With more, everything is forgotten."""


class _Memory:
    """What texts take. The texts themselves are the keys, so that none is taken for another."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._known: dict[str, float] = {}
        self._characters = 0

    def total(self, texts: Sequence[str]) -> float:
        """The tokens of all these texts. Those that are new are counted in one go."""
        known = self._known
        new = set(texts).difference(known)
        if new:
            known.update(texts_tokens(new, family=self._family))
            self._characters += sum(map(len, new))
        total = sum(map(known.__getitem__, texts))
        if self._characters > _REMEMBERED_CHARACTERS:
            self._known, self._characters = {}, 0
        return total


_memories = {family: _Memory(family) for family in Family}


_SCALARS = frozenset({int, float, bool, type(None)})


class _Contents:
    """What is in a request: its texts, which are still to be counted, and the tokens of everything else."""

    def __init__(self, family: Family, content: object = None) -> None:
        self.family = family
        self.texts: list[str] = []
        self.fixed: float = 0
        self.add(content)

    def add(self, content: object) -> None:
        """Content of any shape: a string, a block, or any of them in lists, however deep."""
        waiting: list[Any] = [content]
        while waiting:
            item = waiting.pop()
            kind = type(item)
            if kind is str:
                self.texts.append(item)
            elif kind is dict:
                self._add_block(item, waiting)
            elif kind is list:
                waiting += item
            elif item is not None:
                self._add_other(item, waiting)

    def add_json(self, value: object) -> None:
        """A value as its JSON, member by member, without the escapes in its strings."""
        member, entry, container = _structure(self.family)
        waiting: list[Any] = [value]
        while waiting:
            item = waiting.pop()
            kind = type(item)
            if kind is str:
                self.texts.append(item)
            elif kind in _SCALARS:
                self.texts.append(str(item))
            elif kind is dict or isinstance(item, Mapping):
                self.fixed += container + member * len(item)
                self.texts += map(str, item)
                waiting += item.values()
            elif kind is list or isinstance(item, (tuple, set, frozenset)):
                self.fixed += container + entry * len(item)
                waiting += item
            else:
                self.texts.append(str(item))

    def _add_other(self, item: object, waiting: list[Any]) -> None:
        """What is seldom content: other kinds of mappings and lists, and what should not be there."""
        if isinstance(item, Mapping):
            self._add_block(item, waiting)
        elif isinstance(item, Iterable) and not isinstance(item, (str, bytes, bytearray)):
            waiting += item
        else:
            self.texts.append(str(item))

    def _add_block(self, block: Block, waiting: list[Any]) -> None:
        """Count a block; the content in it is yet to be counted."""
        match block.get("type"):
            case "text":
                waiting.append(block.get("text"))
            case "tool_result" | "mcp_tool_result":
                self.fixed += BLOCK_TOKENS
                waiting.append(block.get("content"))
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                self.fixed += BLOCK_TOKENS
                self.texts.append(str(block.get("name") or ""))
                self.add_json(block.get("input") or {})
            case "thinking":
                waiting.append(block.get("thinking"))
            case "reasoning":
                if block.get("lasting"):  # else it is sent in its own tool round, whose replies are measured
                    self.add_json(block.get("value"))
            case "image":
                self.fixed += _image_tokens(_source(block), self.family)
            case "document":
                waiting += (block.get("title"), block.get("context"))
                self._add_document(_source(block), waiting)
            case "web_search_tool_result" | "web_fetch_tool_result":
                self.fixed += BLOCK_TOKENS
                self._add_from_the_web(block.get("content"), waiting)
            case _:
                self.add_json(block)

    def _add_from_the_web(self, content: object, waiting: list[Any]) -> None:
        """What was found or read; an encrypted text is longer than what the model reads of it."""
        for item in content if isinstance(content, list) else [content]:
            if isinstance(item, Mapping):
                encrypted = str(item.get("encrypted_content") or "")
                self.fixed += len(encrypted) / ENCRYPTED_CHARACTERS_PER_TOKEN
                waiting += (item.get("title"), item.get("url"), item.get("page_age"), item.get("content"))

    def _add_document(self, source: Mapping[str, Any], waiting: list[Any]) -> None:
        match source.get("type"):
            case "text":
                waiting.append(source.get("data"))
            case "content":
                waiting.append(source.get("content"))
            case "base64":
                self.fixed += PDF_PAGE_TOKENS * pdf_pages(str(source.get("data") or ""))
            case "folder":
                self.fixed += PDF_PAGE_TOKENS * _positive(source.get("pages"), 3)
            case _:
                self.fixed += UNKNOWN_DOCUMENT_TOKENS


@cache
def _structure(family: Family) -> tuple[float, float, float]:
    """The tokens of the marks of JSON: around a member's name and value, around an item, around all of them."""
    member, entry, container = (text_tokens(marks, family=family) for marks in ('" ": " ",', '" ",', "{ }"))
    return member, entry, container


def _source(block: Block) -> Mapping[str, Any]:
    source = block.get("source")
    return source if isinstance(source, Mapping) else {}


def _image_tokens(source: Mapping[str, Any], family: Family) -> int:
    size: tuple[int, int] | None = None
    match source.get("type"):
        case "base64":
            size = image_size(str(source.get("data") or ""))
        case "folder":
            size = (_positive(source.get("width"), 0), _positive(source.get("height"), 0))
    if size is None or 0 in size:
        return UNKNOWN_IMAGE_TOKENS
    return min(
        math.ceil(size[0] * size[1] / PIXELS_PER_TOKEN),
        LARGEST_IMAGE_TOKENS.get(family, LARGEST_IMAGE_TOKENS[Family.NEWER]),
    )


def _positive(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and value > 0 else otherwise
