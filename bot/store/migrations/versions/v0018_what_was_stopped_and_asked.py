"""which compaction a person stopped while an answer waited for it, and what summaries were asked for with"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("stopped_run", sa.String(40), nullable=False, server_default=sa.text("''")))
    op.add_column("turns", sa.Column("stopped_upto", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("compactions", sa.Column("inference", sa.JSON(), nullable=True))
