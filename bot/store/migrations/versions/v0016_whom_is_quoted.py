"""whom and what a message quotes, so that the quotation goes when that is taken back"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("inbox", "entries"):
        op.add_column(table, sa.Column("quoted_key", sa.String(200), nullable=False, server_default=sa.text("''")))
        op.add_column(table, sa.Column("quoted_person", sa.String(120), nullable=False, server_default=sa.text("''")))
    for column in ("quoted_key", "quoted_person"):
        named = sa.text(f"{column} <> ''")
        op.create_index(f"entries_{column}", "entries", [column], sqlite_where=named, postgresql_where=named)
