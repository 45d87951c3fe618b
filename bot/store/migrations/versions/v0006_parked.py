"""how often a message, a turn and an agent were tried; what is parked"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Plain ADD COLUMN on both databases: no row is copied.
    op.add_column("agents", sa.Column("starts", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("turns", sa.Column("tries", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("inbox", sa.Column("tries", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("inbox", sa.Column("parked_at", sa.Double(), nullable=True))
    op.add_column("inbox", sa.Column("reason", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.create_index(
        "inbox_parked",
        "inbox",
        ["parked_at"],
        sqlite_where=sa.text("state = 'parked'"),
        postgresql_where=sa.text("state = 'parked'"),
    )
    op.create_table(
        "skipped_updates",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("skipped_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
