"""What a worker works with."""

from __future__ import annotations

from dataclasses import dataclass

from bot.bus import Bus
from bot.model import Model
from bot.store import Database


@dataclass(frozen=True)
class Desk:
    """The book, the bell and the model."""

    database: Database
    bus: Bus
    model: Model
