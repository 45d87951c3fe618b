"""A model that answers every numbered message that it finds unanswered, by its number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from bot.compaction.strategies.reset import GO_ON
from tests.servers.messages.server import MessagesRequest, Reply, ToolCall
from tests.servers.messages.wire import Json, blocks_of

ASKED = re.compile(r"«(\d+)»")
"""How a person's message shows its number."""
ANSWERED = re.compile(r"⟦(\d+)⟧")
"""How the answer does."""
PUNCH, READ, SEND = "Punch the card.", "Read the notes.", "Send the notes."
NOTES = "notes.txt"
TALK = "The garden has beans and old roses, and the path along the wall wants weeding before the summer comes. "
SUMMARY = f"## Task\nWe talk about a garden. {TALK}\n{PUNCH} {READ}\n## Done\nAll earlier requests are answered."
_MOST_CALLS = 4


class AnsweringBrain:
    """Remembers nothing but how often it called a tool for a message, so that no call has the nonce of another.

    ``speechless``: so many of the next replies are empty.
    """

    def __init__(self) -> None:
        self.speechless = 0
        self._calls: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()

    def __call__(self, request: MessagesRequest) -> Reply:
        """A summary, the tools that are asked for, or the numbers of all that waits for an answer."""
        if self.speechless:
            self.speechless -= 1
            return Reply()
        if request.is_summary:
            return Reply(SUMMARY)
        asked, used_tools = _unanswered(request.messages)
        if not used_tools and (calls := list(self._wanted(asked))):
            return Reply("Let me see.", calls)
        numbers = dict.fromkeys(number for text in asked for number in ASKED.findall(text))
        return Reply(" ".join(f"⟦{number}⟧" for number in numbers) + " " + TALK * 2)

    def _wanted(self, asked: Iterable[str]) -> Iterator[ToolCall]:
        for text in asked:
            for number in ASKED.findall(text):
                if PUNCH in text and self._calls[number] < _MOST_CALLS:
                    self._calls[number] += 1
                    yield ToolCall("punch", {"nonce": f"{number}-{self._calls[number]}"})
                if READ in text:
                    yield ToolCall("read_file", {"path": NOTES})
                if SEND in text and self._sent[number] < 1:
                    self._sent[number] += 1
                    yield ToolCall("send_file", {"path": NOTES, "caption": "The notes."})


def _unanswered(messages: Iterable[Json]) -> tuple[list[str], bool]:
    """What people said since the last answer, oldest first, and whether tools were used for it."""
    said: list[str] = []
    used = False
    for message in reversed(list(messages)):
        blocks = blocks_of(message["content"])
        kinds = {block["type"] for block in blocks}
        if message["role"] == "assistant" and "tool_use" not in kinds:
            break
        used = used or "tool_result" in kinds
        if message["role"] == "user":
            texts = [str(block["text"]) for block in blocks if block["type"] == "text"]
            said[:0] = [text for text in texts if GO_ON not in text]
    return said, used
