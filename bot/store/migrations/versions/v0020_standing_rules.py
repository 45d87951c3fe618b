"""rules that people pin"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "standing_rules",
        sa.Column("agent_id", sa.String(length=120), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("pinned_by", sa.String(length=120), nullable=False),
        sa.Column("pinned_name", sa.Text(), nullable=False),
        sa.Column("pinned_at", sa.Double(), nullable=True),
        sa.Column("note_seq", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "number"),
    )
