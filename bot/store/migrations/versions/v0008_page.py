"""what operators look at: how full contexts are, where time went, who said what; and who is logged in to the page"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# While every message of a turn is by one person, and is still in the inbox, what they said can be told to be theirs.
_PERSON = """
UPDATE entries SET person = COALESCE(
    (SELECT min(inbox.person) FROM inbox WHERE inbox.turn_id = entries.turn_id
     HAVING count(DISTINCT inbox.person) = 1), '')
WHERE entries.kind IN ('said', 'file') AND entries.turn_id IS NOT NULL
"""


def upgrade() -> None:
    op.add_column("agents", sa.Column("meter", sa.JSON()))
    op.add_column("turns", sa.Column("context_tokens", sa.Integer()))
    op.add_column("turns", sa.Column("context_limit", sa.Integer()))
    op.add_column("turns", sa.Column("timing", sa.JSON()))
    op.create_index("turns_agent", "turns", ["agent_id", "started_at"])
    op.create_index("turns_started", "turns", ["started_at"])
    op.add_column("entries", sa.Column("person", sa.String(length=120), nullable=False, server_default=sa.text("''")))
    op.create_index(
        "entries_person",
        "entries",
        ["person"],
        sqlite_where=sa.text("person <> ''"),
        postgresql_where=sa.text("person <> ''"),
    )
    op.execute(_PERSON)
    if op.get_bind().dialect.name == "sqlite":
        _move_long_columns_last()
    else:
        op.add_column("compactions", sa.Column("usage", sa.JSON()))
        op.execute("UPDATE compactions SET usage = result -> 'usage' WHERE result IS NOT NULL")
    op.create_index("inbox_agent", "inbox", ["agent_id", "id"])
    op.create_index("compactions_started", "compactions", ["started_at"])
    op.create_table(
        "page_sessions",
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("token_hash"),
    )


def _move_long_columns_last() -> None:
    """SQLite reads a row from its beginning to the last column that is asked for, through all that lies between."""
    op.create_table(
        "compactions_new",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("agent_id", sa.String(length=120), nullable=False),
        sa.Column("trigger", sa.String(length=10), nullable=False),
        sa.Column("strategy", sa.String(length=40), nullable=False),
        sa.Column("focus", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("turn_id", sa.String(length=40)),
        sa.Column("status_slot", sa.Integer(), nullable=False),
        sa.Column("stack", sa.JSON(), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("limit_tokens", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(length=40)),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("heartbeat_at", sa.Double()),
        sa.Column("meter_before", sa.JSON(), nullable=False),
        sa.Column("meter_after", sa.JSON()),
        sa.Column("usage", sa.JSON()),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("enqueued_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double()),
        sa.Column("traced", sa.Boolean(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON()),
        sa.Column("trace", sa.Text()),
        sa.PrimaryKeyConstraint("id"),
    )
    kept = (
        "id, agent_id, trigger, strategy, focus, state, turn_id, status_slot, stack, head, model, limit_tokens, "
        "job_id, jobs, heartbeat_at, meter_before, meter_after, reason, started_at, enqueued_at, finished_at, traced, "
        "plan, result, trace"
    )
    op.execute(
        f"INSERT INTO compactions_new ({kept}, usage) "  # noqa: S608  # names of columns, from above
        f"SELECT {kept}, json_extract(result, '$.usage') FROM compactions"
    )
    op.drop_table("compactions")
    op.rename_table("compactions_new", "compactions")
    still_open = sa.text("state IN ('planned', 'running')")
    op.create_index("compactions_open", "compactions", ["agent_id"], unique=True, sqlite_where=still_open)
    op.create_index("compactions_agent", "compactions", ["agent_id", "started_at"])
    op.create_index("compactions_untraced", "compactions", ["agent_id"], sqlite_where=sa.text("traced = 0"))
