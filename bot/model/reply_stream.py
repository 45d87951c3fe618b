"""What the events of one streamed answer come to.

The `anthropic` SDK reads the events. Its own way to add them up builds several objects for each of them, which is most
of what an answer costs; here each is looked at once.
https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import from_json

from bot.history import Usage
from bot.history.server_tools import CALL, is_result
from bot.messages import Block
from bot.model.base import CUT_OFF

_GROWS = {"text_delta": "text", "thinking_delta": "thinking"}


@dataclass
class ReplyStream:
    """``text``: all that was said so far. ``stop_reason``: None until the answer is over; tokens in ``usage``."""

    text: str = ""
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None
    model: str = ""
    """Who says so, as the provider calls it."""
    _blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    _pieces: dict[int, list[str]] = field(default_factory=dict)
    """By its block's number: what has come of a text, a thought or the arguments of a call."""

    @property
    def received(self) -> str:
        """All that came, thoughts and the arguments of calls too, as far as it came."""
        return "".join(piece for pieces in self._pieces.values() for piece in pieces)

    def take(self, event: Any) -> bool:
        """The next event; True when the text grew. Raises AttributeError, KeyError or TypeError for what is none."""
        kind = event.type
        if kind == "content_block_delta":
            return self._grow(event.index, event.delta)
        if kind == "content_block_start":
            self._blocks[event.index] = event.content_block.model_dump(mode="json", exclude_unset=True)
        elif kind == "message_start":
            self._count(event.message.usage)
            self.model = str(getattr(event.message, "model", None) or "")
        elif kind == "message_delta":
            self.stop_reason = event.delta.stop_reason
            self._count(event.usage)
        return False

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The answer, as JSON that can go back. Raises ValueError where the arguments of a call are no JSON."""
        return tuple(_plain(self._whole(number)) for number in sorted(self._blocks))

    @property
    def broken(self) -> frozenset[str]:
        """The calls whose arguments are no whole object, by their ids."""
        calls = ((number, block) for number, block in self._blocks.items() if block["type"] == "tool_use")
        return frozenset(str(block["id"]) for number, block in calls if not self._is_whole(number))

    def _is_whole(self, number: int) -> bool:
        came = "".join(self._pieces.get(number, ()))
        if not came:  # it may have none, but not where the answer ended in it
            return bool(self._blocks[number].get("input")) or self.stop_reason != CUT_OFF or number < max(self._blocks)
        try:
            return isinstance(from_json(came), dict)
        except ValueError:
            return False

    def _grow(self, number: int, delta: Any) -> bool:
        block = self._blocks[number]
        if delta.type == "citations_delta":
            cited = delta.citation.model_dump(mode="json", exclude_unset=True)
            block["citations"] = [*(block.get("citations") or ()), cited]
        elif delta.type == "signature_delta":
            block["signature"] = delta.signature
        elif delta.type == "input_json_delta":
            self._pieces.setdefault(number, []).append(delta.partial_json)
        elif grown := _GROWS.get(delta.type):
            piece = getattr(delta, grown)
            self._pieces.setdefault(number, [block.get(grown) or ""]).append(piece)
            if grown == "text":
                self.text += piece
                return True
        return False

    def _whole(self, number: int) -> Mapping[str, Any]:
        block, came = self._blocks[number], "".join(self._pieces.get(number, ()))
        if not came:
            return block
        if "input" in block:  # cut off in the middle, where the answer became too long: as far as it goes
            found = from_json(came, allow_partial=True)
            return {**block, "input": found if isinstance(found, dict) else {"arguments": found}}
        return {**block, block["type"]: came}

    def _count(self, told: Any) -> None:
        """Later counts are of the whole answer too, and leave out what they have nothing new to say about."""
        named = {
            "input": getattr(told, "input_tokens", None),
            "cache_read": getattr(told, "cache_read_input_tokens", None),
            "cache_creation": getattr(told, "cache_creation_input_tokens", None),
            "output": getattr(told, "output_tokens", None),
        }
        if lives := getattr(told, "cache_creation", None):
            named["hourly"] = getattr(lives, "ephemeral_1h_input_tokens", None)
        if tools := getattr(told, "server_tool_use", None):
            named |= {"searches": tools.web_search_requests, "fetches": tools.web_fetch_requests}
        self.usage = replace(self.usage, **{name: count for name, count in named.items() if count is not None})


def _plain(block: Mapping[str, Any]) -> Block:
    """A block as it came, as JSON that can go back. What the provider's own tools did stays exactly so."""
    if block["type"] == CALL or is_result(block):
        return dict(block)
    data = {name: value for name, value in block.items() if value is not None}
    if data["type"] == "text":
        text = {"type": "text", "text": data.get("text", "")}
        return {**text, "citations": data["citations"]} if data.get("citations") else text
    if data["type"] == "tool_use":
        return {"type": "tool_use", "id": data["id"], "name": data["name"], "input": data.get("input") or {}}
    return data
