"""The model of this conversation: it knows what it reads, opens files, and answers as long as models do."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tests.bench.cost.talk import TOLD
from tests.bench.sawtooth.brain import LookingBrain
from tests.servers.messages.brain import facts_in
from tests.servers.messages.server import MessagesRequest, Reply, ToolCall
from tests.servers.messages.wire import blocks_of, texts_of

MOST_LOOKS = 4
_LOOK = re.compile(r"look into (?P<path>files/\S+?)\.(?:\s|$)")
_MORE = re.compile(r"\[More follows: read on from offset (?P<offset>\d+)\.\]")
_END = re.compile(r"(files/[^\s,]+)@(\d+)")
_QUESTION = re.compile(r"What is the (?P<name>[\w' -]+?)\?")
_GOES_ON = " And so it goes on, at some length, as explanations do."
_LOOKING = LookingBrain()


class Brain:
    """``spent`` hears of each reply before it goes out: that is when the model's time passes."""

    def __init__(self, spent: Callable[[Reply], None]) -> None:
        self._spent = spent

    def __call__(self, request: MessagesRequest) -> Reply:
        """Summaries list all facts that are in view, and so does the next one."""
        reply = _LOOKING(request) if request.is_summary else answer(request.messages)
        self._spent(reply)
        return reply


def answer(messages: Sequence[Mapping[str, Any]]) -> Reply:
    """The answer to the last thing that a person said, from what is in these messages and nowhere else."""
    asked, results = _asked(messages)
    if not results and (ends := _END.findall(asked)):
        return Reply("", [ToolCall("read_file", {"path": path, "offset": int(at)}) for path, at in ends])
    if call := _call(asked, results):
        return Reply(f"I look into {call.input['path']}.", [call])
    if question := _QUESTION.search(asked):
        name = " ".join(question["name"].casefold().split())
        value = _known(messages).get(name)
        return Reply(f"I do not know the {name}." if value is None else f"The {name} is {value}.")
    drawn = zlib.crc32(asked.encode()) % 100
    sentences = 25 + drawn // 3 if TOLD in asked or asked.startswith("Explain") else 2 + drawn // 8
    return Reply("Noted." + _GOES_ON * sentences)


def _asked(messages: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """The last text that a person sent, and what tools returned since, oldest first."""
    results: list[str] = []
    for message in reversed(messages):
        for block in reversed(blocks_of(message["content"])):
            if block["type"] == "tool_result":
                results.insert(0, "\n".join(texts_of(block.get("content", ""))))
            elif message["role"] == "user" and block["type"] == "text":
                return str(block["text"]), results
    return "", results


def _call(asked: str, results: list[str]) -> ToolCall | None:
    found = _LOOK.search(asked)
    if found is None or len(results) >= MOST_LOOKS:
        return None
    if not results:
        return ToolCall("read_file", {"path": found["path"]})
    more = _MORE.search(results[-1])
    return ToolCall("read_file", {"path": found["path"], "offset": int(more["offset"])}) if more else None


def _known(messages: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {name: value for text in _texts(messages) for name, value in _facts(text)}


def _texts(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        yield from texts_of(message["content"])


@lru_cache(maxsize=50_000)
def _facts(text: str) -> tuple[tuple[str, str], ...]:
    """Read once: the same texts are in every request."""
    return tuple(facts_in(text).items())
