"""What another endpoint wrote, made valid for the one that is asked: blocks that only their own place reads go, ids and
names get the form that the receiver takes. Pure.

A history is written by whoever answered, and may be read by any other at any moment, in the middle of a tool round
too. It stays as it is: what is changed here is a request. The same id and the same name become the same thing in every
request, so that calls keep their results, and a prompt that is remembered stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import blake2s

from bot.estimate.learned_windows import place_of
from bot.history import REASONING, THINKING, valid_request
from bot.messages import Block, Message

CALL_ID = "[a-zA-Z0-9_-]{1,64}"
"""What ids of calls are in a history, and in the Messages API."""
_TOOL_NAME = "[a-zA-Z0-9_-]{1,128}"
_ANTHROPIC = place_of(None)


def thought_at(block: Block) -> str:
    """Where a block of thinking is from."""
    return str(block.get("place") or _ANTHROPIC)


def placed(blocks: Sequence[Block], place: str) -> tuple[Block, ...]:
    """An answer with its thoughts marked as those of this place. Anthropic's own are not: that is what no mark says."""
    if place == _ANTHROPIC:
        return tuple(blocks)
    return tuple({**block, "place": place} if block.get("type") in THINKING else block for block in blocks)


def for_messages(messages: Sequence[Message], place: str) -> Sequence[Message]:
    """A page as the Messages API at this place takes it, whoever wrote it. The same messages where nothing is to be
    changed."""

    def keeps(block: Block) -> bool:
        kind = block.get("type")
        return kind != REASONING and (kind not in THINKING or thought_at(block) == place)

    return _each(only(messages, keeps), _received)


def only(messages: Sequence[Message], keeps: Callable[[Block], bool]) -> Sequence[Message]:
    """A page without the blocks that are not kept; where a message loses all of its own, what is around it is joined.
    The same messages where all are kept."""
    kept = list[Message]()
    for message in messages:
        content = message["content"]
        if isinstance(content, str) or all(map(keeps, content)):
            kept.append(message)
        else:
            kept.append(Message(role=message["role"], content=[block for block in content if keeps(block)]))
    if all(one is other for one, other in zip(kept, messages, strict=True)):
        return messages
    return kept if all(message["content"] for message in kept) else valid_request(kept)


def matching(own: str, pattern: str) -> str:
    """This id, or the one that stands for it where it does not match in whole."""
    if re.fullmatch(pattern, own):
        return own
    digest = blake2s(own.encode(errors="replace")).hexdigest()
    candidates = (f"call_{digest[:24]}", *(digest[:length] for length in (9, 24, 32, 16, 12, 8)))
    return next((one for one in candidates if re.fullmatch(pattern, one)), candidates[0])


def named(own: str, pattern: str, longest: int) -> str:
    """This name of a tool, or the one that stands for it where it does not match in whole: as much of it as does, and
    a digest by which it is told from others."""
    if re.fullmatch(pattern, own):
        return own
    digest = blake2s(own.encode(errors="replace"), digest_size=4).hexdigest()
    readable = re.sub(r"[^a-zA-Z0-9_]+", "_", own).strip("_") or "tool"
    if readable[0].isdigit():
        readable = f"_{readable}"
    return f"{readable[: longest - len(digest) - 1]}_{digest}"


def _each(messages: Sequence[Message], change: Callable[[Block], Block]) -> Sequence[Message]:
    changed = list[Message]()
    for message in messages:
        content = message["content"]
        blocks = content if isinstance(content, str) else [change(block) for block in content]
        same = isinstance(blocks, str) or all(one is other for one, other in zip(blocks, content, strict=True))
        changed.append(message if same else Message(role=message["role"], content=blocks))
    return messages if all(one is other for one, other in zip(changed, messages, strict=True)) else changed


def _received(block: Block) -> Block:
    """As the Messages API takes it."""
    kind = block.get("type")
    if kind in THINKING and "place" in block:
        return {name: value for name, value in block.items() if name != "place"}
    if kind == "tool_result":
        used = matching(block["tool_use_id"], CALL_ID)
        return block if used == block["tool_use_id"] else {**block, "tool_use_id": used}
    if kind == "tool_use":
        used, name = matching(block["id"], CALL_ID), named(block["name"], _TOOL_NAME, 128)
        return block if (used, name) == (block["id"], block["name"]) else {**block, "id": used, "name": name}
    return block
