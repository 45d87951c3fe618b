"""A recorded conversation under another policy: every request is built anew, and charged by the server's own account.

Nothing goes over the wire: the prompt cache's account reads the requests' bodies directly. What the model answered is
taken as it was recorded; whether it would have known the answer is judged by what is on the policy's page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.compaction.summary.instruction import instruction
from bot.history import EntryKind, valid_request
from bot.messages import Message, text_block
from bot.model.cache_marks import mark_for, marked
from tests.bench.cost.bill import MODEL, Ledger
from tests.bench.cost.brain import Brain, answer
from tests.bench.cost.pauses import HABITS, SECONDS_A_REQUEST, SECONDS_A_TOKEN, Clock
from tests.bench.cost.policies import ANSWER, Page, Policy, Sized, dropped, summarised
from tests.bench.cost.running import Course
from tests.servers.messages.cache import Known, Prompt
from tests.servers.messages.server import MessagesRequest
from tests.servers.messages.wire import tokens_of_content, tokens_of_tools

_ROOM = 8_000
"""Tokens that a summary may take."""


@dataclass
class Replay:
    """What a policy came to: its bills by habit and life of the cache, and how many answers would have been right."""

    policy: Policy
    course: Course
    clocks: Mapping[str, Clock] = field(default_factory=lambda: {habit.name: Clock() for habit in HABITS})
    compactions: int = 0
    right: int = 0
    largest: int = 0

    def __post_init__(self) -> None:
        self.ledgers = {
            (name, life): Ledger(clock, life) for name, clock in self.clocks.items() for life in ("5m", "1h")
        }
        head = self.course.head
        self._head_tokens = tokens_of_content(head["system"]) + tokens_of_tools(head["tools"])
        self._page = Page()
        self._known: Known = {}

    def run(self) -> Replay:
        """All turns."""
        pauses = {habit.name: habit.pauses(len(self.course.turns)) for habit in HABITS}
        said: list[Sized] = []
        for number, turn in enumerate(self.course.turns):
            for name, clock in self.clocks.items():
                clock.now += pauses[name][number]
            begun = False
            for entry in turn:
                if entry.kind is EntryKind.REPLY:
                    if not begun:
                        self._page, begun = self.policy.turned(self._page, said), True
                    self._make_room(said)
                    self._ask(self._page.messages(said), tokens_of_content(list(entry.blocks)))
                    self.largest = max(self.largest, self._head_tokens + self._page.tokens(said))
                    if entry is turn[-1] and (expected := self.course.lines[number].expects):
                        self.right += expected in answer(self._page.messages(said)).text
                said.append(Sized.of(entry))
        return self

    def _make_room(self, said: Sequence[Sized]) -> None:
        limit = self.course.window - ANSWER - self._head_tokens
        if self._page.tokens(said) <= limit:
            return
        self.compactions += 1
        self._page = dropped(self._page, said) if self.policy.drops else self._summarised(said, limit)

    def _summarised(self, said: Sequence[Sized], limit: int) -> Page:
        """From inside the conversation, so that the summary reads the cache too; what does not fit is left out."""
        kept = len(said)
        while self._page.tokens(said[:kept]) > limit - _ROOM:
            kept -= 1
        task = Message(role="user", content=[text_block(instruction(room=_ROOM, updates=bool(self._page.summary)))])
        request = valid_request([*self._page.messages(said[:kept]), task])
        written = Brain(lambda _: None)(MessagesRequest({"messages": request}, 0, 0)).text
        self._ask(request, tokens_of_content([text_block(written)]), summary=True)
        return summarised(self._page, said, written)

    def _ask(self, messages: Sequence[Message], output: int, *, summary: bool = False) -> None:
        mark = mark_for("5m")
        body: dict[str, Any] = {
            "model": MODEL,
            **self.course.head,
            "messages": marked(messages, mark),
            "cache_control": mark,
        }
        prompt = Prompt.of(body, self._known)
        for ledger in self.ledgers.values():
            ledger.enter(prompt, output, summary=summary)
        for clock in self.clocks.values():
            clock.now += SECONDS_A_REQUEST + SECONDS_A_TOKEN * output
