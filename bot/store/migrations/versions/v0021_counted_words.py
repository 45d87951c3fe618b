"""how often words stand in entries, and how long these are; what was said so far is counted while the program runs"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "entry_words_counts",
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("repeats", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "seq"),
        sqlite_with_rowid=False,
    )
    op.add_column("indexed_agents", sa.Column("uncounted", sa.Integer(), nullable=False, server_default=sa.text("0")))
    agents = sa.table("indexed_agents", sa.column("agent_id"), sa.column("uncounted"))
    entries = sa.table("entries", sa.column("agent_id"), sa.column("seq"))
    newest = sa.select(sa.func.max(entries.c.seq)).where(entries.c.agent_id == agents.c.agent_id).scalar_subquery()
    op.execute(agents.update().values(uncounted=sa.func.coalesce(newest, 0)))
