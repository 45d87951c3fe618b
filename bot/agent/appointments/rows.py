"""A schedule as its row has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.agent.appointments import texts
from bot.agent.appointments.schedule import Schedule


def values_of(schedule: Schedule) -> dict[str, Any]:
    """What of its row says when it is due; when somebody looks at it is not said here."""
    return {**as_choice(schedule), "due_at": schedule.instant, "often": texts.often(schedule)}


def as_choice(schedule: Schedule) -> Mapping[str, Any]:
    """One of those that may be meant."""
    return {"local": schedule.local.isoformat(), "zone": schedule.zone, "rule": schedule.rule, "at": schedule.at}
