"""Any history at all, for property tests: what people, models, tools and layers may leave behind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

from hypothesis import strategies as st

from bot.history import Entry, EntryKind, History, Layer, merge_ranges
from bot.messages import Audience, Block, Message, text_block
from tests.servers.messages_rules import Rules

Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]

TOOLS = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}]
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
texts = st.one_of(st.sampled_from(TRICKY), st.text(max_size=30))


def assert_valid(view: list[Message]) -> None:
    """A strict provider takes this page, as it is or with one more message of a person."""
    if not view:
        return
    messages: list[Any] = list(view)
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": "go on"})
    _RULES.check({"model": "claude-test", "max_tokens": 1, "tools": TOOLS, "messages": messages})


class Author:
    """Writes a history, entry by entry."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.history = History()
        self._ids = count(1)
        self._late: list[Block] = []

    def write(self, most: int) -> None:
        """Up to ``most`` further moments of a conversation."""
        for _ in range(self.draw(st.integers(0, most))):
            self.draw(st.sampled_from((self._say, self._say, self._reply, self._reply, self._result, self._note)))()

    def cover(self) -> None:
        """Some layer: it hides ranges at arbitrary cuts, replaces content and inserts entries."""
        last = self.history.last_seq
        seqs = st.integers(1, max(1, last))
        spans = self.draw(st.lists(st.tuples(seqs, st.integers(0, 9)), max_size=3))
        replaced = {
            entry.seq: self._instead_of(entry)
            for entry in self.history.entries
            if entry.layer is None and self.draw(st.integers(0, 5)) == 0
        }
        number = max(self.history.stack, default=0) + 1
        inserted = [
            Entry(
                seq=last + at,
                role="user",
                blocks=(text_block(self.draw(texts)),),
                kind=self.draw(st.sampled_from((EntryKind.MARKER, EntryKind.SUMMARY, EntryKind.NOTE))),
                audience=self.draw(st.sampled_from(Audience)),
                tokens=self.draw(st.integers(0, 900)),
                layer=number,
                place=self.draw(st.integers(1, last + 1)),
            )
            for at in range(1, 1 + self.draw(st.integers(0, 2)))
        ]
        hidden = merge_ranges((low, min(last, low + length)) for low, length in spans if low <= last)
        self.history = self.history.covered(Layer(number, last, hidden, replaced), inserted)

    def _instead_of(self, entry: Entry) -> tuple[Block, ...]:
        text = text_block(self.draw(texts))
        if entry.kind is EntryKind.RESULT and self.draw(st.booleans()):
            return tuple({**block, "content": "cleared"} for block in entry.blocks)
        if entry.kind is EntryKind.REPLY and self.draw(st.booleans()):
            return (text, *(block for block in entry.blocks if block["type"] == "tool_use"))
        return (text,)

    def _say(self) -> None:
        self._add("user", [text_block(self.draw(texts))], EntryKind.SAID)

    def _note(self) -> None:
        note = [text_block(self.draw(texts))]
        self._add("user", note, EntryKind.NOTE, audience=self.draw(st.sampled_from(Audience)))

    def _reply(self) -> None:
        said = [text_block(self.draw(texts))] if self.draw(st.booleans()) else []
        calls: list[Block] = [
            {"type": "tool_use", "id": f"call-{next(self._ids)}", "name": "look", "input": {}}
            for _ in range(self.draw(st.integers(0, 3)))
        ]
        self._add("assistant", [*said, *calls], EntryKind.REPLY, interrupted=self.draw(st.booleans()) and not calls)
        for call in self.draw(st.permutations(calls)):
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": self._content()}
            match self.draw(st.sampled_from(("now", "now", "now", "late", "never"))):
                case "now":
                    self._add("user", [result], EntryKind.RESULT)
                case "late":
                    self._late.append(result)

    def _content(self) -> str | list[Block]:
        text = str(self.draw(texts))
        return [text_block(text)] if text.strip() and self.draw(st.booleans()) else text

    def _result(self) -> None:
        if self._late:
            self._add("user", [self._late.pop()], EntryKind.RESULT)

    def _add(self, role: Any, blocks: list[Block], kind: EntryKind, **more: Any) -> None:
        seq = self.history.last_seq + 1
        turn = f"turn-{seq // self.draw(st.integers(1, 4))}"
        tokens = self.draw(st.integers(0, 900))
        entry = Entry(seq=seq, role=role, blocks=tuple(blocks), kind=kind, tokens=tokens, turn=turn, **more)
        self.history = self.history.appended(entry)


@st.composite
def histories(draw: Draw, *, most: int = 10, layers: int = 2) -> History:
    """A history with up to ``layers`` layers, with talk before, between and after them."""
    author = Author(draw)
    author.write(most)
    for _ in range(draw(st.integers(0, layers))):
        author.cover()
        author.write(most // 2)
    return author.history
