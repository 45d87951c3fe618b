"""What a worker works with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.app.resources import Resources
from bot.bus.bus import Bus
from bot.model import Model
from bot.store import Database


@dataclass(frozen=True)
class Desk:
    """The book, the bell, the model that writes summaries, and where the files of conversations are. ``apart``: its
    name, where it is at another endpoint than the one that talks; ``secrets``: our own, which no summary repeats."""

    database: Database
    bus: Bus
    model: Model
    data_dir: Path
    apart: str = ""
    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, resources: Resources) -> Desk:
        """With what is open in this process."""
        writer = resources.summaries.first
        apart = writer.name if writer.model is not resources.chain.first.model else ""
        settings = resources.settings
        return cls(resources.database, resources.bus, writer.model, settings.data_dir, apart, settings.secrets)
