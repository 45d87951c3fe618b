"""what a message answers, and for how long more of it may come"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("inbox", sa.Column("quote", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("inbox", sa.Column("expects", sa.Double(), nullable=False, server_default=sa.text("0")))
