"""What a worker works with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.app.resources import Resources
from bot.bus.bus import Bus
from bot.model import Link
from bot.model.chain import Chain
from bot.store import Database


@dataclass(frozen=True)
class Desk:
    """The book, the bell, the models that write summaries, and where the files of conversations are. ``talkers``: the
    models of conversations; ``patience``: seconds for which a summary is tried again where nobody writes one;
    ``secrets``: our own, which no summary repeats."""

    database: Database
    bus: Bus
    summaries: Chain
    data_dir: Path
    talkers: tuple[Link, ...] = ()
    patience: float = 0.0
    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, resources: Resources) -> Desk:
        """With what is open in this process."""
        settings = resources.settings
        return cls(
            resources.database,
            resources.bus,
            resources.summaries,
            settings.data_dir,
            talkers=resources.chain.links,
            patience=settings.model_patience,
            secrets=settings.secrets,
        )
