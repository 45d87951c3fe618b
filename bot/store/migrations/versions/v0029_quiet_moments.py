"""when a conversation that went quiet may be worth a compaction, and which compactions that was the occasion of"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("agents", sa.Column("quiet_at", sa.Double(), nullable=True))
    there = sa.text("quiet_at IS NOT NULL")
    op.create_index("agents_quiet", "agents", ["quiet_at"], sqlite_where=there, postgresql_where=there)
    occasion = sa.Column("occasion", sa.String(20), nullable=False, server_default=sa.text("''"))
    op.add_column("compactions", occasion)
