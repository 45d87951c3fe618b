"""What a worker works with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.bus import Bus
from bot.model import Model
from bot.store import Database


@dataclass(frozen=True)
class Desk:
    """The book, the bell, the model, and where the files of conversations are."""

    database: Database
    bus: Bus
    model: Model
    data_dir: Path
