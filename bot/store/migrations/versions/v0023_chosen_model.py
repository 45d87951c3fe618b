"""the model that a conversation chose"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("agents", sa.Column("model", sa.Text(), nullable=False, server_default=sa.text("''")))
