"""How much waits in the book, and for how long: numbers for whoever operates it. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, literal_column, select, text, union_all

from bot.store import appointments
from bot.store.schema import agents, compactions, inbox, outbox, skipped_updates, turns
from bot.store.tx import Tx

INBOX_STATES = ("waiting", "fetching", "parked")
ACTIVE_SECONDS = 3600.0
"""A conversation in which something happened since then is an active one."""


@dataclass(frozen=True)
class Depths:
    """Numbers of rows. ``inbox``: by connector and state, ``oldest``: when the first of those came that wait, by
    connector; ``outbox``: by connector; ``runs``: open compactions by state, and when the first of them was asked for;
    ``agents``: by level, and whether they are active; ``overdue_since``: when the first appointment was due that
    nobody has taken. Times in seconds since 1970."""

    inbox: Mapping[tuple[str, str], int]
    oldest: Mapping[str, float]
    outbox: Mapping[str, int]
    turns: int
    runs: Mapping[str, tuple[int, float]]
    agents: Mapping[tuple[str, bool], int]
    overdue_since: float | None = None


def _of_inbox(state: str) -> Any:
    """By an index over the rows of this state alone, which SQLite uses only where the state is no parameter."""
    named: ColumnElement[str] = literal_column(f"'{state}'").label("state")
    return (
        select(inbox.c.connector, named, func.count(), func.min(inbox.c.received_at))
        .where(text(f"inbox.state = '{state}'"))
        .group_by(inbox.c.connector)
    )


_INBOX = union_all(*map(_of_inbox, INBOX_STATES))
_SKIPPED = select(skipped_updates.c.connector, func.count()).group_by(skipped_updates.c.connector)
_OUTBOX = (
    select(outbox.c.connector, func.count())
    .where(text("outbox.state = 'ready' AND outbox.delivered < outbox.version"))
    .group_by(outbox.c.connector)
)
_TURNS = select(func.count()).select_from(turns).where(text("turns.state = 'running'"))
_RUNS = (
    select(compactions.c.state, func.count(), func.min(compactions.c.enqueued_at))
    .where(text("compactions.state IN ('planned', 'running')"))
    .group_by(compactions.c.state)
)


async def depths(tx: Tx, *, now: float) -> Depths:
    """All of them, now."""
    found = [tuple(row) for row in await tx.execute(_INBOX)]
    waiting: dict[tuple[str, str], int] = {(connector, state): count for connector, state, count, _ in found}
    for connector, count in await tx.execute(_SKIPPED):
        waiting[connector, "parked"] = waiting.get((connector, "parked"), 0) + count
    each = select(
        agents.c.meter["level"].as_string().label("level"),
        (agents.c.touched_at >= now - ACTIVE_SECONDS).label("active"),
    ).subquery()
    by_level = await tx.execute(
        select(each.c.level, each.c.active, func.count())
        .where(each.c.level.is_not(None))
        .group_by(each.c.level, each.c.active)
    )
    return Depths(
        inbox=waiting,
        oldest={connector: since for connector, state, _, since in found if state == "waiting"},
        outbox={row[0]: row[1] for row in await tx.execute(_OUTBOX)},
        turns=(await tx.execute(_TURNS)).scalar_one(),
        runs={row[0]: (row[1], row[2]) for row in await tx.execute(_RUNS)},
        agents={(row[0], bool(row[1])): row[2] for row in by_level},
        overdue_since=await appointments.overdue_since(tx, now=now),
    )
