"""A reply as JSON and as the events of a stream."""

import json
import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.servers.messages.wire import Json, Reply, ToolCall, Usage, tokens_of_text


@dataclass(frozen=True)
class Answer:
    """A reply that is ready to be sent: with its ids, its cost and its end."""

    id: str
    model: str
    blocks: tuple[Json, ...]
    text: str
    tool_calls: tuple[ToolCall, ...]
    stop_reason: str
    usage: Usage

    def content(self) -> list[Json]:
        """The content blocks."""
        texts: list[Json] = [{"type": "text", "text": self.text}] if self.text else []
        return [*self.blocks, *texts] + [
            {"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.input)} for c in self.tool_calls
        ]

    def message(self) -> Json:
        """The whole, for a request that does not stream."""
        return self._envelope(self.content(), self.stop_reason, self.usage)

    def _envelope(self, content: list[Json], stop_reason: str | None, usage: Usage) -> dict[str, object]:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": vars(usage),
        }

    def events(self, pieces: int) -> Iterator[Json]:
        """The stream, each block in up to `pieces` deltas.

        https://platform.claude.com/docs/en/build-with-claude/streaming
        """
        first = Usage(**{**vars(self.usage), "output_tokens": 1})
        yield {"type": "message_start", "message": self._envelope([], None, first)}
        cuts = {call.id: call.cut for call in self.tool_calls}
        for index, block in enumerate(self.content()):
            yield from _block_events(index, block, pieces, cuts.get(block.get("id")))
            if index == 0:
                yield {"type": "ping"}
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": self.stop_reason, "stop_sequence": None},
            "usage": vars(self.usage),
        }
        yield {"type": "message_stop"}


def _block_events(index: int, block: Json, pieces: int, cut: int | None = None) -> Iterator[Json]:
    deltas: list[Json]
    if block["type"] == "text":
        start = {**block, "text": ""} if "citations" not in block else {**block, "text": "", "citations": []}
        deltas = [{"type": "citations_delta", "citation": citation} for citation in block.get("citations") or ()]
        deltas += [{"type": "text_delta", "text": p} for p in split(block["text"], pieces)]
    elif block["type"] == "thinking":
        start = {**block, "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": p} for p in split(block["thinking"], pieces)]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif block["type"] in ("web_search_tool_result", "web_fetch_tool_result"):
        start, deltas = {**block}, []  # they come whole
    else:
        start = {**block, "input": {}}
        parts = split(json.dumps(block["input"])[:cut], pieces) if block["input"] else []
        # The real one begins with an empty piece, and sends only that for no arguments.
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in ["", *parts]]
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def split(text: str, pieces: int) -> list[str]:
    """Up to `pieces` parts of equal length, but for the last."""
    size = max(1, math.ceil(len(text) / max(1, pieces)))
    return [text[at : at + size] for at in range(0, len(text), size)]


def answer(reply: Reply, body: Json, prompt: Usage, window: int) -> Answer:
    """Cut a reply to what may be said, give it ids and count it.

    A reply ends at `max_tokens`, or where the window ends (newer models accept a prompt
    whose `max_tokens` do not fit, and stop with `model_context_window_exceeded`).
    """
    room = window - prompt.prompt_tokens
    allowed = min(body["max_tokens"], room)
    calls = tuple(replace(c, id=c.id or f"toolu_{secrets.token_hex(12)}") for c in reply.tool_calls)
    text, stop_reason, blocks = reply.text, reply.stop_reason, tuple(reply.blocks)
    if reply.thinking:
        blocks = ({"type": "thinking", "thinking": reply.thinking, "signature": "signed"}, *blocks)
    tokens = tokens_of_text(text) + sum(tokens_of_text(str(b["text"])) for b in blocks if b["type"] == "text")
    tokens += sum(tokens_of_text(c.name + json.dumps(dict(c.input))) for c in calls)
    if tokens > allowed:
        text, calls, blocks, tokens = _shorten(text, allowed), (), (), allowed
        exceeded = room < body["max_tokens"]
        stop_reason = "model_context_window_exceeded" if exceeded else "max_tokens"
    return Answer(
        id=f"msg_{secrets.token_hex(12)}",
        model=str(body["model"]),
        blocks=blocks,
        text=text,
        tool_calls=calls,
        stop_reason=stop_reason or ("tool_use" if calls else "end_turn"),
        usage=Usage(**{**vars(prompt), "output_tokens": tokens, "server_tool_use": _uses(blocks)}),
    )


def _uses(blocks: tuple[Json, ...]) -> Json | None:
    names = [block["name"] for block in blocks if block["type"] == "server_tool_use"]
    if not names:
        return None
    return {"web_search_requests": names.count("web_search"), "web_fetch_requests": names.count("web_fetch")}


def _shorten(text: str, tokens: int) -> str:
    return text.encode()[: int(tokens * 3.3)].decode(errors="ignore")
