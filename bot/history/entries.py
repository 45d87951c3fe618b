"""A history: what was said, and the layers that compactions wrote over it. Pure.

Nothing is ever taken out of a history. A :class:`Layer` hides entries, replaces the content of some and inserts a few;
``view()`` is the page read through all layers, as a valid request to a model, and taking the top layer off gives back
exactly the earlier page. What a layer inserts are entries too (``Entry.layer`` names it, ``Entry.place`` says before
which seq they stand), so a later layer can cover an earlier one's summary.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from bot.estimate import Family, message_tokens, messages_tokens, text_tokens
from bot.history.quotations import as_read
from bot.history.server_tools import paired
from bot.history.times import Said, marked
from bot.messages import Audience, Block, Message, Role, as_quoted, text_block

Ranges = tuple[tuple[int, int], ...]
"""Seqs as sorted, disjoint, inclusive ranges."""

OPENING = "(The conversation goes on.)"
EARLIER_RESULT = "[Result of an earlier tool call"
"""What the text begins with that stands for a result whose call is out of view."""


class EntryKind(StrEnum):
    """What an entry is."""

    SAID = "said"
    """A person wrote it."""
    FILE = "file"
    """A person sent it, with what they said just before."""
    REPLY = "reply"
    """The model wrote it, with or without tool calls."""
    RESULT = "result"
    """A tool returned it."""
    MARKER = "marker"
    """The page was scraped here."""
    SUMMARY = "summary"
    """What a summary says of hidden entries."""
    NOTE = "note"
    """The program tells the model something."""
    WOKEN = "woken"
    """An appointment came for which the model is woken: it is asked, as by a person, and no person reads it."""


PARKED = "parked"
"""The kind of a layer that takes a message that was put aside out of the model's view."""
IMPORTED = "imported"
"""… that says what was brought over from another program, and lies over it."""
SET_ASIDE = "set_aside"
"""… over what was brought over and is in nobody's sight: it is being written, or was taken away by `/undo`."""
ELSEWHERE = "import:"
"""What the keys of messages begin with that were brought over from another program."""
LASTING = frozenset({PARKED, SET_ASIDE})
"""Kinds of layers that `/undo` does not take off."""

ASKED = frozenset({EntryKind.SAID, EntryKind.FILE})
"""What a request of a person is made of."""
REQUESTS = frozenset({EntryKind.SAID, EntryKind.WOKEN})
"""The words that an answer is owed to."""
TO_ANSWER = ASKED | REQUESTS
"""What an answer is owed to: words, and what was sent with them."""


@dataclass(frozen=True)
class Usage:
    """What the provider reported of one request, in tokens."""

    input: int = 0
    cache_read: int = 0
    cache_creation: int = 0
    output: int = 0
    searches: int = 0
    """In the web, which the provider charges for."""
    fetches: int = 0
    """Of pages."""
    hourly: int = 0
    """Of what was written to the cache: what stays there for an hour, which costs more."""
    reasoning: int = 0
    """Of the output: what was only thought, and is part of no later request."""

    @property
    def context(self) -> int:
        """The size of the request's input, however it was charged."""
        return self.input + self.cache_read + self.cache_creation

    @property
    def with_answer(self) -> int:
        """The size of the input with what the answer adds to the next one."""
        return self.context + self.output - self.reasoning

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_creation + other.cache_creation,
            self.output + other.output,
            self.searches + other.searches,
            self.fetches + other.fetches,
            self.hourly + other.hourly,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True)
class Anchor:
    """A measured point: this reply's request had this usage, on this stack of layers, where we had guessed that.
    ``model``: the name of the one that counted; empty where that was not written down yet."""

    usage: Usage
    stack: tuple[int, ...]
    guessed: int
    model: str = ""


@dataclass(frozen=True)
class Entry:
    """One row of a history."""

    seq: int
    role: Role
    blocks: tuple[Block, ...]
    kind: EntryKind
    audience: Audience = Audience.EVERYONE
    tokens: int = 0
    """Estimated when it was written; 0: not counted yet."""
    turn: str | None = None
    layer: int | None = None
    place: int | None = None
    anchor: Anchor | None = None
    interrupted: bool = False
    person: str = ""
    """Who said or sent it, as the platform names people; empty for what people did not write."""
    key: str = ""
    """The message that it was on its platform; empty for what people did not write there."""
    said: Said | None = None
    """When; None where nobody knows, and for all that is in the book from before that was kept."""
    mark: str = ""
    """What a model reads of that before the words, which it is no part of. Only in :attr:`History.visible`."""

    @property
    def position(self) -> tuple[int, int, int]:
        """Sorts entries into reading order: what was inserted before a seq, then that seq."""
        return (self.seq, 1, 0) if self.place is None else (self.place, 0, self.seq)


@dataclass(frozen=True)
class Layer:
    """What one compaction did. ``floor``: no entry below this seq is visible through it."""

    number: int
    upto: int
    hidden: Ranges = ()
    replaced: Mapping[int, tuple[Block, ...]] = field(default_factory=dict)
    kind: str = "compaction"
    floor: int = 0
    run: str | None = None


@dataclass(frozen=True)
class Tally:
    """What the entries of a page take together, in guessed tokens."""

    total: int = 0
    inserted: int = 0
    """Of them, what layers inserted."""
    anchored: Entry | None = None
    """The newest reply that was measured on this stack of layers."""
    since: int = 0
    """What came after it."""

    def plus(self, entries: Iterable[Entry], stack: tuple[int, ...], model: str = "") -> Tally:
        """With these entries after all others, in reading order. ``model``: whose counts are taken; empty: all."""
        total, inserted, anchored, since = self.total, self.inserted, self.anchored, self.since
        for entry in entries:
            total += entry.tokens
            if entry.layer is not None:
                inserted += entry.tokens
            elif entry.anchor and entry.anchor.stack == stack and (not model or entry.anchor.model in ("", model)):
                anchored, since = entry, 0
            else:
                since += entry.tokens
        return Tally(total, inserted, anchored, since)


@dataclass(frozen=True)
class History:
    """Entries (from the lowest visible one on, in seq order) and the stack of layers over them."""

    entries: tuple[Entry, ...] = ()
    layers: tuple[Layer, ...] = ()
    family: Family = Family.NEWER
    """How what a layer replaced is counted."""
    model: str = ""
    """The one that it is measured for; empty: any."""

    @property
    def stack(self) -> tuple[int, ...]:
        """The layers' numbers, bottom first: two equal stacks show the same page for the same entries."""
        return tuple(layer.number for layer in self.layers)

    @property
    def last_seq(self) -> int:
        """The newest entry's seq; 0 in an empty history."""
        return self.entries[-1].seq if self.entries else 0

    @property
    def floor(self) -> int:
        """What was said up to this seq is hidden by the last `/new`, and out of memory. 0: nothing is."""
        return max((layer.upto for layer in self.layers if layer.kind == "new"), default=0)

    @cached_property
    def visible(self) -> tuple[Entry, ...]:
        """What the model reads, in reading order, with replaced content in place."""
        hidden = merge_ranges(span for layer in self.layers for span in layer.hidden)
        starts = [low for low, _ in hidden]
        live = set(self.stack)
        replacements = {seq: blocks for layer in self.layers for seq, blocks in layer.replaced.items()}

        def shown(entry: Entry) -> bool:
            at = bisect_right(starts, entry.seq) - 1
            covered = at >= 0 and entry.seq <= hidden[at][1]
            return not covered and _is_for_models(entry) and (entry.layer is None or entry.layer in live)

        kept = [
            self._with_blocks(entry, replacements[entry.seq]) if entry.seq in replacements else entry
            for entry in self.entries
            if shown(entry)
        ]
        return tuple(self._marked(sorted(kept, key=lambda entry: entry.position)))

    @cached_property
    def tally(self) -> Tally:
        """What the page takes."""
        return Tally().plus(self.visible, self.stack, self.model)

    def view(self) -> list[Message]:
        """The page as messages: user first, roles alternating, every tool call followed by its result."""
        return as_request(self.visible)

    def appended(self, *entries: Entry) -> History:
        """With these entries at the end, which no layer knows. What was read and counted is not read again."""
        longer = replace(self, entries=self.entries + entries)
        if "visible" in self.__dict__:
            shown = tuple(self._marked(filter(_is_for_models, entries), self.visible))
            longer.__dict__["visible"] = self.visible + shown
            longer.__dict__["tally"] = self.tally.plus(shown, self.stack, self.model)
        return longer

    def covered(self, layer: Layer, inserted: Iterable[Entry]) -> History:
        """With this layer on top, and what it inserts."""
        return replace(self, entries=self.entries + tuple(inserted), layers=(*self.layers, layer))

    def measured_for(self, model: str, family: Family) -> History:
        """As another model would count it: by the rates of its family, and by what was measured of it alone."""
        if family is self.family:
            return replace(self, model=model)
        counted = tuple(replace(entry, tokens=entry_tokens(entry.role, entry.blocks, family)) for entry in self.entries)
        return replace(self, entries=counted, family=family, model=model)

    def _marked(self, entries: Iterable[Entry], page: Sequence[Entry] = ()) -> Iterator[Entry]:
        for entry in marked(entries, page):
            size = math.ceil(text_tokens(entry.mark, family=self.family)) if entry.mark else 0
            yield replace(entry, tokens=entry.tokens + size) if size else entry

    def _with_blocks(self, entry: Entry, blocks: tuple[Block, ...]) -> Entry:
        return replace(entry, blocks=blocks, tokens=entry_tokens(entry.role, blocks, self.family))

    def open_calls(self) -> list[Block]:
        """The tool calls at the very end of the page that have no result yet."""
        answered = {b["tool_use_id"] for e in self.visible for b in e.blocks if b.get("type") == "tool_result"}
        for entry in reversed(self.visible):
            if entry.role == "assistant":
                calls = [block for block in entry.blocks if block.get("type") == "tool_use"]
                return [call for call in calls if call["id"] not in answered]
        return []


def entry_tokens(role: Role, blocks: Sequence[Block], family: Family) -> int:
    """What an entry takes, guessed."""
    return math.ceil(message_tokens({"role": role, "content": list(blocks)}, family=family))


def entries_tokens(given: Sequence[tuple[Role, Sequence[Block]]], family: Family) -> list[int]:
    """The same of many, which takes less time than one by one."""
    messages = [{"role": role, "content": list(blocks)} for role, blocks in given]
    return [math.ceil(tokens) for tokens in messages_tokens(messages, family=family)]


def merge_ranges(spans: Iterable[tuple[int, int]]) -> Ranges:
    """Any inclusive ranges as sorted, disjoint ones."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def ranges_of(seqs: Iterable[int]) -> Ranges:
    """Single seqs as ranges."""
    return merge_ranges((seq, seq) for seq in seqs)


def as_request(entries: Sequence[Entry]) -> list[Message]:
    """Entries in reading order as messages that a strict provider takes."""
    return valid_request([Message(role=entry.role, content=_with_mark(entry)) for entry in entries])


def _with_mark(entry: Entry) -> list[Block]:
    return [text_block(entry.mark), *entry.blocks] if entry.mark else list(entry.blocks)


def valid_request(messages: Sequence[Message]) -> list[Message]:
    """The same messages as a valid request: what cannot stand as it is becomes text, nothing is dropped but emptiness.

    Adjacent messages of one role are merged; a user message comes first; results stand at the front of the message
    right after their calls; a result without its call, and a call without its result, become text, and so do those
    whose id was used before. Thinking that nothing of its reply follows goes. Tools that the provider runs:
    see :func:`bot.history.server_tools.paired`.
    """
    merged = _merged(messages)
    used: set[str] = set()
    for index, message in enumerate(merged):
        before = merged[index - 1] if index else None
        after = merged[index + 1] if index + 1 < len(merged) else None
        if message["role"] == "assistant":
            answers = _ids(after, "tool_result", "tool_use_id") - used
            used |= answers
            message["content"] = [_call_or_text(block, answers) for block in message["content"]]
        else:
            calls = _ids(before, "tool_use", "id")
            blocks = [shown for block in message["content"] for shown in result_or_parts(block, calls)]
            blocks.sort(key=lambda block: block.get("type") != "tool_result")
            message["content"] = blocks
    paired(merged)
    if merged and merged[0]["role"] == "assistant":
        merged.insert(0, Message(role="user", content=[text_block(OPENING)]))
    return merged


REASONING = "reasoning"
"""What an endpoint of another wire than the Messages API reasoned, kept where it wants that back: ``place`` and
``model`` name whose it is, ``field`` how it is called there, ``value`` holds it; ``lasting``: it is sent with every
later request, and not with those of the same tool round alone."""
THINKING = frozenset({"thinking", "redacted_thinking", REASONING})
"""What models think: nobody's words."""


def _merged(messages: Sequence[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in messages:
        content = message["content"]
        blocks = [text_block(content)] if isinstance(content, str) else as_read(content)
        blocks = [block for block in blocks if block.get("type") != "text" or block["text"].strip()]
        while blocks and blocks[-1].get("type") in THINKING:
            blocks.pop()
        if not blocks:
            continue
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1] = Message(role=message["role"], content=[*merged[-1]["content"], *blocks])
        else:
            merged.append(Message(role=message["role"], content=blocks))
    return merged


def _ids(message: Message | None, kind: str, key: str) -> set[str]:
    content = message["content"] if message else []
    return {block[key] for block in content if not isinstance(block, str) and block.get("type") == kind}


def _call_or_text(block: Block | str, answered: set[str]) -> Block:
    """``answered`` is used up: the second call with the same id is none of them."""
    assert not isinstance(block, str)
    if block.get("type") != "tool_use":
        return block
    if block["id"] in answered:
        answered.remove(block["id"])
        return block
    return text_block(f"[Called the tool {block['name']}; its result is no longer shown.]")


def result_or_parts(block: Block | str, calls: set[str]) -> list[Block]:
    """A result, or what is in it if it answers none of these calls: its text, and its pictures and documents.

    ``calls`` is used up: the second result of the same call answers none of them. As a text it stands among what people
    say, so each of its lines is quoted: whatever it says, no line of it can be taken for theirs.
    """
    assert not isinstance(block, str)
    if block.get("type") != "tool_result":
        return [block]
    content = block.get("content") or ""
    if block["tool_use_id"] in calls:
        calls.remove(block["tool_use_id"])
        blank = isinstance(content, str) and not content.strip()
        return [{**block, "content": ""} if blank else block]
    parts = [text_block(content)] if isinstance(content, str) else list(content)
    text = "\n".join(part["text"] for part in parts if part.get("type") == "text")
    failed = " that failed" if block.get("is_error") else ""
    others = [part for part in parts if part.get("type") in ("image", "document", "search_result")]
    return [text_block(f"{EARLIER_RESULT}{failed}]\n{as_quoted(text)}"), *others]


def _is_for_models(entry: Entry) -> bool:
    return entry.audience != Audience.PEOPLE
