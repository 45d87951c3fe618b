"""The model of the long conversation: it answers from what it reads, and opens files when it is asked to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from typing_extensions import override

from tests.servers.messages.server import MessagesRequest, RememberingBrain, Reply, ToolCall
from tests.servers.messages.wire import blocks_of, texts_of

MOST_LOOKS = 4
"""Calls for one question: then it says what it knows."""
_LOOK = re.compile(r"look into (?P<path>files/\S+?)\.(?:\s|$)")
_CORRECTION = "The summary lacks exact details"
_LIST = "Which files do I have here?"
_MORE = re.compile(r"\[More follows: read on from offset (?P<offset>\d+)\.\]")
_EXPLAINED = " And so it goes on, at some length, as explanations do." * 12


@dataclass(frozen=True)
class LookingBrain(RememberingBrain):
    """Answers as a :class:`RememberingBrain`, at some length where it is asked to explain something."""

    @override
    def __call__(self, request: MessagesRequest) -> Reply:
        """Calls a tool, or answers."""
        if request.is_summary:
            return self._summary_reply(request)
        asked, results = _request_and_results(request)
        if call := _call(asked, results):
            said = "I shall see what there is." if call.name == "list_files" else f"I look into {call.input['path']}."
            return Reply(said, [call])
        if _LIST in asked:
            return Reply(f"There are these files:\n{results[-1]}")
        if "Explain to me" in asked:
            return Reply(super().__call__(_only(asked, request)).text + _EXPLAINED)
        return super().__call__(_only(asked, request))

    def _summary_reply(self, request: MessagesRequest) -> Reply:
        """A summary of the talk, and not of what asks for it; what the first one lacked is listed in the second."""
        messages, lacking = list(request.messages), ""
        if request.last_user_text.startswith(_CORRECTION):
            lacking = "\n".join(line for line in request.last_user_text.splitlines() if line.startswith("- "))
            del messages[-2:]
        *blocks, task = blocks_of(messages[-1]["content"])
        transcript = task["text"].partition("</conversation>")[0] if "<conversation>" in task["text"] else "Summarise."
        messages[-1] = {"role": "user", "content": [*blocks, {"type": "text", "text": transcript}]}
        summary = self._summary(MessagesRequest({**request.body, "messages": messages}, request.index, request.tokens))
        return Reply(f"{summary}\n\n## Exact details\n{lacking}" if lacking else summary)


def _request_and_results(request: MessagesRequest) -> tuple[str, list[str]]:
    """The last text that a person sent, and what tools returned since."""
    asked, results = "", list[str]()
    for message in request.messages:
        for block in blocks_of(message.get("content")):
            if block.get("type") == "tool_result":
                results.append("\n".join(texts_of(block.get("content", ""))))
            elif message.get("role") == "user" and block.get("type") == "text":
                asked, results = str(block["text"]), []
    return asked, results


def _call(asked: str, results: list[str]) -> ToolCall | None:
    if _LIST in asked:
        return None if results else ToolCall("list_files", {"path": "files"})
    found = _LOOK.search(asked)
    if found is None or len(results) >= MOST_LOOKS:
        return None
    if not results:
        return ToolCall("read_file", {"path": found["path"]})
    more = _MORE.search(results[-1])
    return ToolCall("read_file", {"path": found["path"], "offset": int(more["offset"])}) if more else None


def _only(asked: str, request: MessagesRequest) -> MessagesRequest:
    """The same request with this as its last message: after a summary or a tool's result, it alone is answered."""
    question = {"role": "user", "content": [{"type": "text", "text": asked}]}
    return MessagesRequest({**request.body, "messages": [*request.messages, question]}, request.index, request.tokens)
