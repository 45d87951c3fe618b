"""windows of models, as refusals stated them"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "learned_windows",
        sa.Column("place", sa.String(300), primary_key=True),
        sa.Column("model", sa.String(200), primary_key=True),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("listed_tokens", sa.BigInteger(), nullable=False),
        sa.Column("learned_at", sa.Double(), nullable=False),
    )
