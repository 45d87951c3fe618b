"""What a worker works with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.app.resources import Parts
from bot.bus.bus import Bus
from bot.model.anthropic import Model
from bot.store import Database


@dataclass(frozen=True)
class Desk:
    """The book, the bell, the model that writes summaries, and where the files of conversations are. ``apart``: its
    name, where it is at another endpoint than the one that talks."""

    database: Database
    bus: Bus
    model: Model
    data_dir: Path
    apart: str = ""

    @classmethod
    def of(cls, parts: Parts) -> Desk:
        """With what is open in this process."""
        apart = parts.summary_model_name if parts.summary_model is not parts.model else ""
        return cls(parts.database, parts.bus, parts.summary_model, parts.settings.data_dir, apart)
