"""embeddings of entries; an agent's own strategy, and what its calibration belongs to"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "vectors",
        sa.Column("agent_id", sa.String(length=120), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("model", sa.String(length=120), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "seq", "model"),
    )
    # Plain ADD COLUMN on both databases: no row is copied.
    op.add_column("agents", sa.Column("strategy", sa.String(length=200), nullable=False, server_default=sa.text("''")))
    op.add_column("agents", sa.Column("calibrated_for", sa.Text(), nullable=False, server_default=sa.text("''")))
