"""Which tables hold something of one conversation, and by which columns its rows are told from each other.

Whoever adds a table says here whose it is: what is exported, imported and forgotten follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Column, Table

from bot.store import schema

ORDER: Mapping[Table, tuple[str, ...]] = {
    schema.agents: ("id",),
    schema.outbox: ("id",),
    schema.inbox: ("id",),
    schema.turns: ("started_at", "id"),
    schema.entries: ("seq",),
    schema.layers: ("number",),
    schema.compactions: ("started_at", "id"),
    schema.vectors: ("seq", "model"),
    schema.memories: ("agent_id",),
    schema.memory_facts: ("number",),
    schema.memory_candidates: ("id",),
    schema.standing_rules: ("number",),
    schema.appointments: ("number",),
    schema.ledger: ("id",),
}
"""Tables whose rows are each one conversation's, and what sorts that one's rows, each in a place of its own."""

SHARED = frozenset({schema.heads, schema.indexed_agents})
"""Tables with rows that conversations point at: what stands before their requests, and their numbers in the index."""

OTHERS = frozenset(
    {
        schema.skipped_updates,
        schema.page_sessions,
        schema.volumes,
        schema.installation,
        schema.dismissed_events,
        schema.outages,
        schema.learned_windows,
        schema.admin_chats,
        schema.people,
        schema.person_zones,
        schema.closed_chats,
        schema.moved_chats,
        schema.cursors,
        schema.quiet_hours,
        schema.spending,
        schema.spent_days,
        schema.budgets,
        schema.budget_notices,
    }
)
"""Tables about the program, its people and its platforms."""


def owner(table: Table) -> Column[str]:
    """The column that says which conversation a row is of."""
    return table.c.id if table is schema.agents else table.c.agent_id
