"""Any history at all, for property tests: what people, models, tools and layers may leave behind.

One number decides all of a history. Drawing every choice from hypothesis would find smaller examples, twenty times
more slowly.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import count
from random import Random
from typing import Any, TypeAlias, TypeVar

from hypothesis import strategies as st
from PIL import Image

from bot.estimate import Family, message_tokens
from bot.history import Entry, EntryKind, History, Layer, merge_ranges
from bot.history.quotations import QUOTES, quotation_block
from bot.messages import Audience, Block, Message, Quote, text_block
from bot.model.foreign import for_messages
from tests.servers.messages.rules import Rules


def one_pixel() -> str:
    """A picture, as base64."""
    data = BytesIO()
    Image.new("RGB", (64, 48)).save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


T = TypeVar("T")
Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]

TOOLS = [
    {"name": name, "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
    for name in ("look", "read_file")
]
_RULES = Rules(window=10**9, max_tokens=8_192)

TRICKY = (
    "",
    " ",
    "\n\t",
    "\u200b",
    "\x02summary\x03",
    "/undo",
    '{"type": "tool_use", "id": "call-1"}',
    "Ω🙂\u202e" * 9,
)
GIANT = "A message of a great many words, as a log is. " * 40
texts = st.one_of(st.sampled_from(TRICKY), st.text(max_size=30), st.just(GIANT))
THOUGHTS: tuple[Block, ...] = (
    {"type": "thinking", "thinking": "It may be so.", "signature": "c2lnbmVk"},
    {"type": "redacted_thinking", "data": "aGlkZGVu"},
    {"type": "thinking", "thinking": "It may be so.", "signature": "c2lnbmVk", "place": "elsewhere"},
    {"type": "reasoning", "place": "elsewhere", "model": "m", "field": "reasoning", "value": "It may be so."},
)
PICTURE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": one_pixel()}}
CODE = "\n".join(f"def step_{number}(value):\n    return value + {number}\n" for number in range(40))
FILES: tuple[list[Block], ...] = (
    [text_block("[File: files/cat.png]"), PICTURE],
    [text_block(f"[File: files/steps.py, {len(CODE)} characters]\n{CODE}")],
    [text_block("[File: files/notes.md, 30 characters]\n# Notes\n\nsomething short")],
    [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a page"}, "title": "a"}],
)


def assert_valid(view: list[Message]) -> None:
    """A strict provider takes this page, as it is or with one more message of a person."""
    if not view:
        return
    messages: list[Any] = list(for_messages(view, "api.anthropic.com"))
    assert not any(QUOTES in block for message in messages for block in message["content"])
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": "go on"})
    _RULES.check({"model": "claude-test", "max_tokens": 1, "tools": TOOLS, "messages": messages})


class Dice:
    """Decides. Equal seeds decide equally."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def upto(self, most: int, least: int = 0) -> int:
        """A number."""
        return self._random.randint(least, most)

    def pick(self, things: Sequence[T]) -> T:
        """One of these."""
        return self._random.choice(things)

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """All of these."""
        return self._random.sample(things, len(things))

    def flip(self) -> bool:
        """Yes or no."""
        return self._random.random() < 0.5

    def text(self) -> str:
        """Something to say, of a few words as a rule."""
        if self.upto(4) == 0:
            return self.pick((*TRICKY, GIANT))
        return " ".join(self.pick(WORDS) for _ in range(self.upto(12, 1)))


WORDS = (
    "the",
    "a",
    "of",
    "and",
    "look",
    "path",
    "file",
    "is",
    "was",
    "42",
    "7.50",
    "ORD-1042",
    "src/a.py",
    "Ada",
    "не",
    "надо",
    "всегда",
    "不要",
    "🙂",
    "é",
    "{",
    "}",
    "\\",
    '"',
    "`x`",
    "\n",
)


class Author:
    """Writes a history, entry by entry."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.history = History()
        self._ids = count(1)
        self._late: list[Block] = []

    def write(self, most: int) -> None:
        """Up to ``most`` further moments of a conversation."""
        for _ in range(self.dice.upto(most)):
            self.dice.pick((self._say, self._say, self._reply, self._reply, self._result, self._note))()

    def cover(self) -> None:
        """Some layer: it hides ranges at arbitrary cuts, replaces content and inserts entries."""
        last = self.history.last_seq
        spans = [(self.dice.upto(max(1, last), 1), self.dice.upto(9)) for _ in range(self.dice.upto(3))]
        replaced = {
            entry.seq: self._instead_of(entry)
            for entry in self.history.entries
            if entry.layer is None and self.dice.upto(5) == 0
        }
        number = max(self.history.stack, default=0) + 1
        inserted = [
            self._entry(
                last + at,
                "user",
                [text_block(self.dice.text())],
                self.dice.pick((EntryKind.MARKER, EntryKind.SUMMARY, EntryKind.NOTE)),
                audience=self.dice.pick(list(Audience)),
                layer=number,
                place=self.dice.upto(last + 1, 1),
            )
            for at in range(1, 1 + self.dice.upto(2))
        ]
        hidden = merge_ranges((low, min(last, low + length)) for low, length in spans if low <= last)
        self.history = self.history.covered(Layer(number, last, hidden, replaced), inserted)

    def _instead_of(self, entry: Entry) -> tuple[Block, ...]:
        text = text_block(self.dice.text())
        if entry.kind is EntryKind.RESULT and self.dice.flip():
            return tuple({**block, "content": "cleared"} for block in entry.blocks)
        if entry.kind is EntryKind.REPLY and self.dice.flip():
            return (text, *(block for block in entry.blocks if block["type"] == "tool_use"))
        return (text,)

    def _say(self) -> None:
        quoted = [quotation_block(Quote(f"> Ada: {self.dice.pick(WORDS).strip()}", person="7"))]
        said = [text_block(self.dice.text())]
        self._add("user", quoted + said if self.dice.upto(4) == 0 else said, EntryKind.SAID)
        for _ in range(self.dice.pick((0, 0, 0, 1, 2))):
            self._add("user", self.dice.pick(FILES), EntryKind.FILE)

    def _note(self) -> None:
        self._add("user", [text_block(self.dice.text())], EntryKind.NOTE, audience=self.dice.pick(list(Audience)))

    def _reply(self) -> None:
        thought = [self.dice.pick(THOUGHTS) for _ in range(self.dice.pick((0, 0, 1, 2)))]
        said = [*thought, *([text_block(self.dice.text())] if self.dice.flip() else [])]
        calls = [self._call() for _ in range(self.dice.upto(3))]
        self._add("assistant", [*said, *calls], EntryKind.REPLY, interrupted=self.dice.flip() and not calls)
        for call in self.dice.shuffled(calls):
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": self._content()}
            match self.dice.pick(("now", "now", "now", "late", "never")):
                case "now":
                    self._add("user", [result], EntryKind.RESULT)
                case "late":
                    self._late.append(result)

    def _call(self) -> Block:
        name, arguments = self.dice.pick(
            (("look", {}), ("look", {"for": "ORD-7"}), ("read_file", {"path": "files/steps.py"}))
        )
        return {"type": "tool_use", "id": f"call-{next(self._ids)}", "name": name, "input": arguments}

    def _content(self) -> str | list[Block]:
        text = CODE if self.dice.upto(6) == 0 else self.dice.text()
        if not text.strip() or self.dice.flip():
            return text
        return [text_block(text), PICTURE] if self.dice.flip() else [text_block(text)]

    def _result(self) -> None:
        if self._late:
            self._add("user", [self._late.pop()], EntryKind.RESULT)

    def _add(self, role: Any, blocks: list[Block], kind: EntryKind, **more: Any) -> None:
        seq = self.history.last_seq + 1
        turn = f"turn-{seq // self.dice.upto(4, 1)}"
        self.history = self.history.appended(self._entry(seq, role, blocks, kind, turn=turn, **more))

    def _entry(self, seq: int, role: Any, blocks: list[Block], kind: EntryKind, **more: Any) -> Entry:
        tokens = math.ceil(message_tokens({"role": role, "content": blocks}, family=Family.NEWER))
        return Entry(seq=seq, role=role, blocks=tuple(blocks), kind=kind, tokens=tokens, **more)


class _OnlyPeople(Author):
    """Nobody answers."""

    def _reply(self) -> None:
        self._say()


@st.composite
def histories(draw: Draw, *, most: int = 10, layers: int = 2) -> History:
    """A history with up to ``layers`` layers, with talk before, between and after them."""
    dice = Dice(draw(st.integers(0, 2**48)))
    author = _OnlyPeople(dice) if dice.upto(9) == 0 else Author(dice)
    author.write(most)
    for _ in range(dice.upto(layers)):
        author.cover()
        author.write(most // 2)
    return author.history
