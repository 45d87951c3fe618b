"""since when nothing is answered, and where those who run the program are told so"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "outages",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("agent_id", sa.String(length=120), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("last", sa.Double(), nullable=False),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "admin_chats",
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column("chat", sa.String(length=120), nullable=False),
        sa.Column("thread", sa.String(length=120), nullable=False),
        sa.PrimaryKeyConstraint("connector", "person"),
    )
