"""why a turn failed

A word of bot.errors; empty for turns that did not fail, and for those that failed before.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("cause", sa.String(20), nullable=False, server_default=sa.text("''")))
