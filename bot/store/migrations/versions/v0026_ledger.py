"""what requests to models cost, what was spent, and budgets"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_TOKENS = ("input", "cache_read", "cache_creation", "hourly", "output", "reasoning", "searches", "fetches")


def upgrade() -> None:
    op.create_table(
        "ledger",
        sa.Column("agent_id", sa.String(length=120), nullable=False),
        sa.Column("id", sa.String(length=60), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("day", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column("purpose", sa.String(length=20), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("provider", sa.String(length=40), nullable=False),
        sa.Column("request", sa.String(length=200), nullable=False),
        sa.Column("turn_id", sa.String(length=40), nullable=True),
        sa.Column("run_id", sa.String(length=40), nullable=True),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in _TOKENS),
        sa.Column("price", sa.Text(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "id"),
    )
    op.create_index("ledger_at", "ledger", ["at"])
    reserved = sa.text("state = 'reserved'")
    op.create_index("ledger_reserved", "ledger", ["day"], sqlite_where=reserved, postgresql_where=reserved)
    op.create_table(
        "spending",
        sa.Column("day", sa.String(length=8), nullable=False),
        sa.Column("agent_id", sa.String(length=120), nullable=False),
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column("purpose", sa.String(length=20), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("estimated", sa.Integer(), nullable=False),
        sa.Column("unpriced", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _TOKENS),
        sa.Column("cost", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "agent_id", "connector", "person", "purpose", "model"),
    )
    op.create_index("spending_person", "spending", ["connector", "person", "day"])
    op.create_index("spending_agent", "spending", ["agent_id", "day"])
    op.create_table(
        "budgets",
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=120), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=True),
        sa.Column("unit", sa.String(length=10), nullable=False),
        sa.Column("set_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "connector", "subject"),
    )
    op.create_table(
        "budget_notices",
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=120), nullable=False),
        sa.Column("period", sa.String(length=8), nullable=False),
        sa.Column("percent", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("scope", "connector", "subject", "period", "percent"),
    )
