"""which model gave the answer of a turn"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("model", sa.Text(), nullable=False, server_default=sa.text("''")))
