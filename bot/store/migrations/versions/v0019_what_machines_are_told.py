"""what a message of the program says for machines"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outbox", sa.Column("payload", sa.Text(), nullable=False, server_default=sa.text("''")))
