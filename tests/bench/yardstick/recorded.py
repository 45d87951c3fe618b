"""Real tool-using conversations: read from a file, cut at a turn's end, and stitched into long ones.

A line of the file is an object with ``messages`` in the form of the Messages API; ``task_id``, ``trial`` and ``system``
may stand beside them. The first line is number 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from random import Random

from bot.estimate import estimate_tokens
from bot.messages import Block, Message, text_block
from tests.bench.yardstick.needs import Need, needs_of
from tests.bench.yardstick.reading import blocks_of

SINGLE_CUT = 0.6
STITCHED_CUT = 2 / 3
_FEWEST, _LEAST_TOKENS = 5, 12_000
"""As many conversations are stitched as come to this, and five at least: about the history at which a limit of 16,000
tokens compacts.
"""


class Shape(StrEnum):
    """How a conversation was made of what is in the file."""

    SINGLE = "single"
    """One, cut after 60 % of its messages."""
    STITCHED = "stitched"
    """Several, one after the other, cut before the last third of the last one."""
    RESUMED = "resumed"
    """Likewise, but what comes after the cut is the rest of the first one."""


@dataclass(frozen=True)
class Cut:
    """What was said before a cut, and what the tool calls after it need of it."""

    shape: Shape
    before: list[Message]
    needs: list[Need]


def read(path: Path) -> list[list[Message]]:
    """The conversations of a file. Raises ``ValueError`` for a line that is none."""
    found: list[list[Message]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        try:
            messages = json.loads(line)["messages"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"Line {number} of {path} is no object with messages.") from error
        found.append(_finished(_numbered([Message(role=item["role"], content=item["content"]) for item in messages])))
    return found


def cuts(conversations: Sequence[list[Message]], dice: Random) -> Iterator[Cut]:
    """These conversations, each by itself, then stitched together, at most as many times as there are conversations;
    only where something is needed after the cut. Each is made when it is asked for.
    """
    single = (_cut(Shape.SINGLE, [], conversation, SINGLE_CUT) for conversation in conversations)
    groups = islice(_groups(conversations, dice), len(conversations))
    made = chain(single, (cut for group in groups for cut in _long(group)))
    return (cut for cut in made if cut.before and cut.needs)


def _long(group: Sequence[list[Message]]) -> Iterator[Cut]:
    parts = [_renamed(messages, f"c{number}-") for number, messages in enumerate(group)]
    yield _cut(Shape.STITCHED, _joined(parts[:-1]), parts[-1], STITCHED_CUT)
    at = _boundary(parts[0], SINGLE_CUT)
    before = [*parts[0][:at], *_joined(parts[1:])]
    yield Cut(Shape.RESUMED, before, needs_of(before, parts[0][at:]))


def _cut(shape: Shape, earlier: list[Message], last: Sequence[Message], share: float) -> Cut:
    at = _boundary(last, share)
    before = [*earlier, *last[:at]]
    return Cut(shape, before, needs_of(before, last[at:]))


def _boundary(messages: Sequence[Message], share: float) -> int:
    """Where a turn begins, nearest to this share of the messages; if there is only one turn, where a call follows a
    result. 0 if there is no such place.
    """
    starts = [index for index, message in enumerate(messages) if index and _is_request(message)]
    starts = starts or [index for index, message in enumerate(messages) if index > 1 and message["role"] == "assistant"]
    return min(starts, key=lambda index: abs(index - share * len(messages)), default=0)


def _is_request(message: Message) -> bool:
    return message["role"] == "user" and all(block.get("type") != "tool_result" for block in blocks_of(message))


def _groups(conversations: Sequence[list[Message]], dice: Random) -> Iterator[list[list[Message]]]:
    """All of them shuffled again and again; what is left at the end of a round is too short."""
    sized = [(estimate_tokens(messages), messages) for messages in conversations]
    for _ in sized:
        group: list[tuple[int, list[Message]]] = []
        for each in dice.sample(sized, len(sized)):
            group.append(each)
            if len(group) >= _FEWEST and sum(size for size, _ in group) >= _LEAST_TOKENS:
                yield [messages for _, messages in group]
                group = []


def _finished(messages: list[Message]) -> list[Message]:
    """Ending with an answer: a last word of the person goes, and a result that ends it gets an answer."""
    if messages and _is_request(messages[-1]):
        return messages[:-1]
    if messages and messages[-1]["role"] == "user":
        return [*messages, Message(role="assistant", content=[text_block("That is done.")])]
    return messages


def _joined(conversations: Iterable[list[Message]]) -> list[Message]:
    return [message for messages in conversations for message in messages]


def _renamed(messages: Sequence[Message], prefix: str) -> list[Message]:
    """With tool ids that no other conversation has."""
    return [
        Message(
            role=message["role"], content=[_with_id(block, f"{prefix}{_id_of(block)}") for block in blocks_of(message)]
        )
        for message in messages
    ]


def _numbered(messages: Sequence[Message]) -> list[Message]:
    """With tool ids of our own: in recordings the same one may come twice, which providers refuse."""
    count, latest, made = 0, dict[str, str](), []
    for message in messages:
        blocks = []
        for block in blocks_of(message):
            if block["type"] == "tool_use":
                count += 1
                latest[block["id"]] = f"call_{count}"
            blocks.append(_with_id(block, latest.get(_id_of(block), "")))
        made.append(Message(role=message["role"], content=blocks))
    return made


def _id_of(block: Block) -> str:
    return str(block.get("tool_use_id") or block.get("id") or "")


def _with_id(block: Block, changed: str) -> Block:
    """The same block, under this id if it has one."""
    return {**block, **{key: changed for key in ("id", "tool_use_id") if key in block}}
