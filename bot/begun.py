"""What a turn has come to already, as its history has it: also before a crash. Pure."""

from __future__ import annotations

from itertools import takewhile

from bot.history import EntryKind, History
from bot.messages import Block, tool_calls


def replies(history: History, turn: str) -> int:
    """How often the model has answered in it."""
    return sum(entry.turn == turn and entry.kind is EntryKind.REPLY for entry in history.entries)


def paused(history: History, turn: str) -> list[Block]:
    """What the model has said of a reply that it is to go on with."""
    entries = (entry for entry in reversed(history.entries) if entry.layer is None)
    begun = [*takewhile(lambda entry: entry.turn == turn and entry.kind is EntryKind.REPLY, entries)]
    return [block for entry in reversed(begun) for block in entry.blocks]


def results(history: History, turn: str) -> list[list[tuple[Block, Block]]]:
    """The calls of each of its replies, with what they came to."""
    made: dict[str, tuple[Block, list[tuple[Block, Block]]]] = {}
    found: list[list[tuple[Block, Block]]] = []
    for entry in history.entries:
        if entry.turn != turn or entry.layer is not None:
            continue
        if entry.kind is EntryKind.REPLY:
            found.append([])
            made |= {call["id"]: (call, found[-1]) for call in tool_calls(entry.blocks)}
        for block in entry.blocks if entry.kind is EntryKind.RESULT else ():
            if known := made.get(str(block.get("tool_use_id"))):
                known[1].append((known[0], block))
    return found
