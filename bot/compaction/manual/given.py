"""Messages that come from outside: checked, as entries of a history, and back as messages. Pure.

What no layer touched comes back exactly as it was given: a string stays a string, and keys that nobody here knows
stay. Blocks are shared with what was given, and never changed. Messages in the form of the Chat Completions API go back
in that form (:mod:`bot.estimate.chat_form`); system messages among the others are never touched, and stay before what
they stood before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, groupby
from operator import itemgetter
from typing import Any

from bot.compaction.manual import own_words
from bot.compaction.manual.refusals import BadMessages
from bot.estimate import Family, chat_form, message_tokens
from bot.history import ASKED, Entry, EntryKind, History, Layer, result_or_parts, valid_request
from bot.messages import Block, Message, Role, text_block, text_of

GivenMessage = Mapping[str, Any]

EARLIER = Layer(0, upto=0)
"""What put down what earlier compactions left: beneath all layers that follow."""
_OF_LAYERS = frozenset({EntryKind.MARKER, EntryKind.SUMMARY, EntryKind.NOTE})
_NAME = re.compile(r"(?P<who>[^:\[\]\n]{1,60}): ")
_FEWEST_NAMED, _NEARLY_ALL, _MOST_PEOPLE = 4, 0.9, 0.6
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
    """Messages as they were given, and their entries. ``sources``: the index of the message of each entry, by seq;
    ``read``: those but the system's as messages of the Messages API, by their indices."""

    messages: tuple[GivenMessage, ...]
    entries: tuple[Entry, ...]
    sources: Mapping[int, int]
    read: Mapping[int, GivenMessage]

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
        read = dict(chat_form.read(kept))
        for index, message in read.items():
            for kind, blocks in _parts(message):
                entry = _entry(len(entries) + 1, message["role"], blocks, kind, family)
                entries.append(entry)
                sources[entry.seq] = index
        return cls(kept, _with_people(entries), sources, read)

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
        made: list[list[Any]] = [list(message["content"]) for message in request[len(opening) :]]
        if groups and groups[-1][0].role == "assistant":
            made[-1] = self._with_open_calls(groups[-1], made[-1])
        is_chat = any(map(chat_form.is_chat, self.messages))
        pages = [
            shown
            for group, blocks in zip(groups, made, strict=True)
            for shown in (self._chat(group, blocks) if is_chat else (self._page(group, blocks),))
        ]
        opens = [chat_form.words("user", _content(page)) if is_chat else dict(page) for page in opening]
        return tuple(self._with_system([*map(Shown, opens), *pages]))

    @property
    def system(self) -> tuple[GivenMessage, ...]:
        """The system messages among them."""
        return tuple(message for message in self.messages if chat_form.is_system(message))

    def _with_system(self, pages: Sequence[Shown]) -> Iterator[Shown]:
        waiting = [index for index, message in enumerate(self.messages) if chat_form.is_system(message)]
        end = len(self.messages)
        befores = []
        for page in reversed(pages):
            end = page.sources[0] if page.sources else end
            befores.append(end)
        for page, before in zip(pages, reversed(befores), strict=True):
            while waiting and waiting[0] < before:
                yield self._as_given(waiting.pop(0))
            yield page
        yield from map(self._as_given, waiting)

    def _as_given(self, index: int) -> Shown:
        return Shown(dict(self.messages[index]), (index,))

    def _chat(self, group: Sequence[Entry], blocks: Sequence[Block]) -> Iterator[Shown]:
        """The same as :meth:`_page`, in the form of the Chat Completions API, where each result is a message."""
        if group[0].role == "assistant":
            if _blocks(group) != list(blocks):
                yield self._chat_reply(group, blocks)
            else:
                yield from (self._chat_reply(entries, _blocks(entries)) for entries in self._apart(group))
            return
        kept = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
        rest: list[Entry] = []
        for entry in group:
            if entry.kind is EntryKind.RESULT and entry.blocks[0]["tool_use_id"] in kept:
                kept.remove(entry.blocks[0]["tool_use_id"])
                yield self._chat_result(entry)
            else:
                rest.append(entry)
        for is_result, entries in groupby(rest, key=self._answers_nothing):
            if is_result:
                yield from map(self._chat_result, entries)
            else:
                yield from map(self._chat_words, self._apart([_as_words(entry) for entry in entries]))

    def _answers_nothing(self, entry: Entry) -> bool:
        """Whether it is a result that never said which call it answers."""
        given = self.messages[self.sources[entry.seq]] if entry.kind is EntryKind.RESULT else {}
        return given.get("role") == chat_form.TOOL and not chat_form.id_of(given)

    def _apart(self, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
        """Messages of one role that stood side by side stay two; those that came to stand so become one."""
        batch: list[Entry] = []
        for entry in entries:
            if batch and self._is_next(batch[-1], entry):
                yield batch
                batch = []
            batch.append(entry)
        yield batch

    def _is_next(self, first: Entry, second: Entry) -> bool:
        before, after = self.sources.get(first.seq), self.sources.get(second.seq)
        if before is None or after is None or any(before < index < after for index in self.read) or before == after:
            return False
        pairs = ((first, before), (second, after))
        return all(list(entry.blocks) == _content(self.read[index]) for entry, index in pairs)

    def _chat_reply(self, entries: Sequence[Entry], blocks: Sequence[Block]) -> Shown:
        page = self._page(entries, blocks)
        given = [self.messages[index] for index in page.sources]
        return Shown(chat_form.reply(blocks, given), page.sources, changed=True) if page.changed else page

    def _chat_result(self, entry: Entry) -> Shown:
        block, index = entry.blocks[0], self.sources[entry.seq]
        if [block] == list(_content(self.read[index])):
            return self._as_given(index)
        return Shown(chat_form.result(block, self.messages[index]), (index,), changed=True)

    def _chat_words(self, said: Sequence[Entry]) -> Shown:
        page = self._page(said, _blocks(said))
        if not page.changed:
            return page
        people = [self.messages[index] for index in page.sources if self.messages[index]["role"] == "user"]
        more = people[0] if len(people) == 1 else {}  # who said it, if only one did
        return Shown({**more, **chat_form.words("user", _blocks(said))}, page.sources, changed=True)

    def _with_open_calls(self, group: Sequence[Entry], made: list[Any]) -> list[Any]:
        last = group[-1]
        if self.sources.get(last.seq) != len(self.messages) - 1:
            return made
        own = [block for block in last.blocks if not _is_blank(block)]
        return [*made[: len(made) - len(own)], *own]

    def _page(self, group: Sequence[Entry], blocks: Sequence[Block]) -> Shown:
        sources = tuple(sorted({self.sources[entry.seq] for entry in group if entry.seq in self.sources}))
        if len(sources) != 1:
            return Shown({"role": group[0].role, "content": list(blocks)}, sources, changed=True)
        given = self.messages[sources[0]]
        if list(blocks) == _content(self.read[sources[0]]):
            return Shown(dict(given), sources)
        return Shown({**given, "content": list(blocks)}, sources, changed=True)


def entries_of(messages: Iterable[GivenMessage], *, family: Family = Family.NEWER) -> tuple[Entry, ...]:
    """Messages as entries, numbered from 1: what people wrote, each result of a tool, replies. Messages without
    content have none. Raises BadMessages."""
    return Given.of(messages, family=family).entries


def _entry(seq: int, role: Role, blocks: Sequence[Block], kind: EntryKind, family: Family) -> Entry:
    tokens = math.ceil(message_tokens({"role": role, "content": blocks}, family=family))
    layer = EARLIER.number if kind in _OF_LAYERS else None
    return Entry(seq, role, tuple(blocks), kind, tokens=tokens, layer=layer)


def _with_people(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Who says what, where several talk: nearly every message then begins with a name, and most names come again."""
    said = [entry for entry in entries if entry.kind is EntryKind.SAID]
    named = {entry.seq: found["who"] for entry in said if (found := _NAME.match(_own_words(entry)))}
    if len(named) < _FEWEST_NAMED or len(named) < _NEARLY_ALL * len(said):
        return tuple(entries)
    if len(set(named.values())) > _MOST_PEOPLE * len(named):
        return tuple(entries)
    return tuple(replace(entry, person=named.get(entry.seq, "")) for entry in entries)


def _own_words(entry: Entry) -> str:
    """From where it no longer quotes."""
    lines = text_of(entry.blocks).split("\n")
    return "\n".join(dropwhile(lambda line: not line or line.startswith(">"), lines))


def _parts(message: GivenMessage) -> Iterator[tuple[EntryKind, list[Block]]]:
    """A reply is one entry; of a user message each tool's result is one, each text that an earlier compaction left, and
    so is what stands between them."""
    blocks = _content(message)
    if message["role"] == "assistant":
        if blocks:
            yield EntryKind.REPLY, blocks
        return
    blocks = [part for block in blocks for part in own_words.parts_of(block)]
    for kind, group in groupby(zip(_kinds_of(blocks), blocks, strict=True), key=itemgetter(0)):
        parts = [block for _, block in group]
        if kind in ASKED:
            yield kind, parts
        else:
            yield from ((kind, [block]) for block in parts)


def _kinds_of(blocks: Sequence[Block]) -> Iterator[EntryKind]:
    """What each is. A picture or a document belongs to the line before it, if that names a file."""
    before = EntryKind.SAID
    for block in blocks:
        kind = None
        if block["type"] == "tool_result":
            kind = EntryKind.RESULT
        elif block["type"] == "text":
            kind = own_words.kind_of(block["text"])
        elif before is EntryKind.FILE:
            kind = before
        before = kind or EntryKind.SAID
        yield before


def _content(message: GivenMessage) -> list[Block]:
    content = message["content"]
    return [text_block(content)] if isinstance(content, str) else list(content)


def _as_words(entry: Entry) -> Entry:
    """A result whose call is gone as what a reader is told of it."""
    if entry.kind is not EntryKind.RESULT:
        return entry
    return replace(entry, blocks=tuple(result_or_parts(entry.blocks[0], set())))


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
    if role not in ("user", "assistant", chat_form.TOOL, *chat_form.SYSTEM_ROLES):
        what = f"the role {role!r}" if "role" in message else "no role"
        raise BadMessages(f"{where} has {what}: it is 'user' or 'assistant', or 'tool' or 'system'.")
    if "tool_calls" in message:
        _check_calls(message["tool_calls"], f"{where}.tool_calls", role)
    if "tool_calls" in message or chat_form.is_refusal(message):
        content = content or ""
    if isinstance(content, str):
        return
    if not isinstance(content, list | tuple):
        what = f"{_kind(content)} as its content" if content is not None else "no content"
        raise BadMessages(f"{where} has {what}: it is a text or a list of blocks.")
    for index, block in enumerate(content):
        _check_block(block, f"{where}.content[{index}]", role)


def _check_calls(calls: object, where: str, role: object) -> None:
    if role != "assistant":
        raise BadMessages(f"{where} belongs to {role!r}: tool calls are the assistant's.")
    if calls is not None and not isinstance(calls, list | tuple):
        raise BadMessages(f"{where} is {_kind(calls)}: it is a list of calls.")
    for index, call in enumerate(calls or ()):
        asked = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(asked, Mapping) or not isinstance(asked.get("name"), str):
            raise BadMessages(f"{where}[{index}] is not a call: an object with a function that has a name.")


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
