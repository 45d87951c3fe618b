"""What a turn has come to already, as its history has it: also before a crash. Pure."""

from __future__ import annotations

from itertools import takewhile

from bot.history import EntryKind, History
from bot.messages import Block


def replies(history: History, turn: str) -> int:
    """How often the model has answered in it."""
    return sum(entry.turn == turn and entry.kind is EntryKind.REPLY for entry in history.entries)


def paused(history: History, turn: str) -> list[Block]:
    """What the model has said of a reply that it is to go on with."""
    entries = (entry for entry in reversed(history.entries) if entry.layer is None)
    begun = [*takewhile(lambda entry: entry.turn == turn and entry.kind is EntryKind.REPLY, entries)]
    return [block for entry in reversed(begun) for block in entry.blocks]
