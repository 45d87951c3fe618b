"""What comes in from a room, on a book of the test's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.bus.bus import Bus
from bot.gateway.admission import Admission
from bot.gateway.chats import Chats
from bot.gateway.ephemeral import EphemeralNotices
from bot.gateway.intake import Intake
from bot.runtime.access import Access
from connectors.memory import MemoryConnector


def room_intake(database: Any, bus: Bus, admission: Admission | None = None) -> Intake:
    """Without ``admission``: everybody may come in."""
    chats = Chats(database, "room")
    return Intake(
        "room",
        database,
        bus,
        admission or Admission(Access("open", frozenset())),
        chats,
        cursor_name="connector:room",
        folder=Path,
        notices=EphemeralNotices(MemoryConnector("room"), chats),
    )
