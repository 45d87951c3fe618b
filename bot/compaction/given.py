"""Messages that come from outside: checked, as entries of a history, and back as messages. Pure.

What no layer touched comes back exactly as it was given: a string stays a string, and keys that nobody here knows
stay. Blocks are shared with what was given, and never changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from bot.compaction.refusals import BadMessages
from bot.estimate import Family, message_tokens
from bot.history import Entry, EntryKind, History, valid_request
from bot.messages import Block, Message, Role, text_block

GivenMessage = Mapping[str, Any]

_PLACES = {"tool_use": "assistant", "tool_result": "user"}
"""Blocks that only messages of one role may hold."""
_TEXTS = {"text": ("text",), "tool_use": ("id", "name"), "tool_result": ("tool_use_id",)}
"""Keys of a block that must be there, and be strings."""


@dataclass(frozen=True)
class Shown:
    """One message of a page. ``sources``: the indices of the given messages that are in it, none if it is new."""

    message: dict[str, Any]
    sources: tuple[int, ...] = ()
    changed: bool = False
    """Whether it differs from the given message that it came from."""


@dataclass(frozen=True)
class Given:
    """Messages as they were given, and their entries. ``sources``: the index of the message of each entry, by seq."""

    messages: tuple[GivenMessage, ...]
    entries: tuple[Entry, ...]
    sources: Mapping[int, int]

    @classmethod
    def of(cls, messages: Iterable[GivenMessage], *, family: Family = Family.NEWER) -> Given:
        """Raises BadMessages for what is no message."""
        if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
            raise BadMessages(f"Messages are a list, not {_kind(messages)}.")
        kept = tuple(messages)
        entries: list[Entry] = []
        sources: dict[int, int] = {}
        for index, message in enumerate(kept):
            _check_message(message, f"messages[{index}]")
            for kind, blocks in _parts(message):
                entry = _entry(len(entries) + 1, message["role"], blocks, kind, family)
                entries.append(entry)
                sources[entry.seq] = index
        return cls(kept, tuple(entries), sources)

    def untouched(self) -> tuple[Shown, ...]:
        """All of them, as they were given, whether or not a provider would take them."""
        return tuple(Shown(dict(message), (index,)) for index, message in enumerate(self.messages))

    def shown(self, history: History) -> tuple[Shown, ...]:
        """The page of a history over these entries, as a valid request.

        Calls at its very end that have no result yet stay calls: whoever has the results adds them.
        """
        groups = [list(group) for _, group in groupby(_standing(history.visible), key=lambda entry: entry.role)]
        request = valid_request([Message(role=group[0].role, content=_blocks(group)) for group in groups])
        opening = request[: len(request) - len(groups)]
        made = [list(message["content"]) for message in request[len(opening) :]]
        if groups and groups[-1][0].role == "assistant":
            made[-1] = self._with_open_calls(groups[-1], made[-1])
        pages = [self._page(group, blocks) for group, blocks in zip(groups, made, strict=True)]
        return (*(Shown(dict(message)) for message in opening), *pages)

    def _with_open_calls(self, group: Sequence[Entry], made: list[Any]) -> list[Any]:
        last = group[-1]
        if self.sources.get(last.seq) != len(self.messages) - 1:
            return made
        own = [block for block in last.blocks if not _is_blank(block)]
        return [*made[: len(made) - len(own)], *own]

    def _page(self, group: Sequence[Entry], blocks: list[Any]) -> Shown:
        sources = tuple(sorted({self.sources[entry.seq] for entry in group if entry.seq in self.sources}))
        if len(sources) != 1:
            return Shown({"role": group[0].role, "content": blocks}, sources, changed=True)
        given = self.messages[sources[0]]
        if blocks == _content(given):
            return Shown(dict(given), sources)
        return Shown({**given, "content": blocks}, sources, changed=True)


def entries_of(messages: Iterable[GivenMessage], *, family: Family = Family.NEWER) -> tuple[Entry, ...]:
    """Messages as entries, numbered from 1: what people wrote, each result of a tool, replies. Messages without
    content have none. Raises BadMessages."""
    return Given.of(messages, family=family).entries


def _entry(seq: int, role: Role, blocks: Sequence[Block], kind: EntryKind, family: Family) -> Entry:
    tokens = math.ceil(message_tokens({"role": role, "content": blocks}, family=family))
    return Entry(seq, role, tuple(blocks), kind, tokens=tokens)


def _parts(message: GivenMessage) -> Iterator[tuple[EntryKind, list[Block]]]:
    """A reply is one entry; of a user message each tool's result is one, and so is what stands between them."""
    blocks = _content(message)
    if message["role"] == "assistant":
        if blocks:
            yield EntryKind.REPLY, blocks
        return
    for is_result, group in groupby(blocks, key=lambda block: block["type"] == "tool_result"):
        if is_result:
            yield from ((EntryKind.RESULT, [block]) for block in group)
        else:
            yield EntryKind.SAID, list(group)


def _content(message: GivenMessage) -> list[Block]:
    content = message["content"]
    return [text_block(content)] if isinstance(content, str) else list(content)


def _standing(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Those that a request has something of."""
    return (entry for entry in entries if not all(map(_is_blank, entry.blocks)))


def _blocks(entries: Iterable[Entry]) -> list[Block]:
    return [block for entry in entries for block in entry.blocks if not _is_blank(block)]


def _is_blank(block: Block) -> bool:
    return block.get("type") == "text" and not block["text"].strip()


def _check_message(message: object, where: str) -> None:
    if not isinstance(message, Mapping):
        raise BadMessages(f"{where} is {_kind(message)}, and not an object with a role and a content.")
    role, content = message.get("role"), message.get("content")
    if role == "system":
        raise BadMessages(f"{where} has the role 'system': the system prompt stands beside the messages, in 'system'.")
    if role not in ("user", "assistant"):
        what = f"the role {role!r}" if "role" in message else "no role"
        raise BadMessages(f"{where} has {what}: it is 'user' or 'assistant'.")
    if isinstance(content, str):
        return
    if not isinstance(content, list | tuple):
        what = f"{_kind(content)} as its content" if content is not None else "no content"
        raise BadMessages(f"{where} has {what}: it is a text or a list of blocks.")
    for index, block in enumerate(content):
        _check_block(block, f"{where}.content[{index}]", role)


def _check_block(block: object, where: str, role: str) -> None:
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        raise BadMessages(f"{where} is not a block: an object with a type.")
    kind = block["type"]
    if _PLACES.get(kind, role) != role:
        raise BadMessages(f"{where} is a {kind} in a message of the role {role!r}: it belongs to {_PLACES[kind]!r}.")
    for key in _TEXTS.get(kind, ()):
        if not isinstance(block.get(key), str):
            raise BadMessages(f"{where} is a {kind} whose {key} is not a text.")
    if kind == "tool_result":
        _check_result(block.get("content", ""), where)


def _check_result(content: object, where: str) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list | tuple):
        raise BadMessages(f"{where} is a tool_result whose content is {_kind(content)}: it is a text or blocks.")
    for index, block in enumerate(content):
        _check_block(block, f"{where}.content[{index}]", "user")


def _kind(value: object) -> str:
    """As JSON calls it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
