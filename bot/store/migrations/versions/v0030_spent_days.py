"""what was spent in a day by all together, which budgets of all are held against"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "spent_days",
        sa.Column("day", sa.String(length=8), nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("estimated", sa.Integer(), nullable=False),
        sa.Column("unpriced", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "part"),
    )
    op.execute(
        "INSERT INTO spent_days (day, part, requests, estimated, unpriced, tokens, cost)"
        " SELECT day, 0, sum(requests), sum(estimated), sum(unpriced),"
        " sum(input + cache_read + cache_creation + output), sum(cost) FROM spending GROUP BY day"
    )
