"""appointments, and hours in which people are left alone"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "appointments",
        sa.Column("agent_id", sa.String(length=120), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column("person_name", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("zone", sa.String(length=64), nullable=False),
        sa.Column("local", sa.String(length=30), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=True),
        sa.Column("follows", sa.Boolean(), nullable=False),
        sa.Column("often", sa.Text(), nullable=False),
        sa.Column("urgent", sa.Boolean(), nullable=False),
        sa.Column("choices", sa.JSON(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=True),
        sa.Column("next_at", sa.Double(), nullable=True),
        sa.Column("said_at", sa.Double(), nullable=True),
        sa.Column("said", sa.Integer(), nullable=False),
        sa.Column("unread", sa.Boolean(), nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "number"),
    )
    there = sa.text("next_at IS NOT NULL")
    op.create_index("appointments_next", "appointments", ["next_at"], sqlite_where=there, postgresql_where=there)
    op.create_index(
        "appointments_next_of", "appointments", ["agent_id", "next_at"], sqlite_where=there, postgresql_where=there
    )
    op.create_index("appointments_person", "appointments", ["connector", "person"])
    unread = sa.text("unread")
    op.create_index("appointments_unread", "appointments", ["agent_id"], sqlite_where=unread, postgresql_where=unread)
    op.create_table(
        "quiet_hours",
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column("begins", sa.Integer(), nullable=False),
        sa.Column("ends", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("connector", "person"),
    )
