"""sections of the trace that name what the history says"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("compactions", sa.Column("record", sa.JSON(none_as_null=True), nullable=True))
