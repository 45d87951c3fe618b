"""which message of a platform an entry was, so that it is found when its author deletes it"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("entries", sa.Column("key", sa.String(length=200), nullable=False, server_default=sa.text("''")))
    op.create_index(
        "entries_key",
        "entries",
        ["key"],
        sqlite_where=sa.text("key <> ''"),
        postgresql_where=sa.text("key <> ''"),
    )
