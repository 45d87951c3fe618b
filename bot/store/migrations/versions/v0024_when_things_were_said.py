"""when people said what they said, and the time zones of conversations and people"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    nothing = sa.text("''")
    op.add_column("agents", sa.Column("zone", sa.String(64), nullable=False, server_default=nothing))
    op.add_column("agents", sa.Column("zone_of", sa.String(120), nullable=False, server_default=nothing))
    op.create_index("agents_chat", "agents", ["connector", "chat"])
    op.create_table(
        "person_zones",
        sa.Column("connector", sa.String(40), primary_key=True),
        sa.Column("person", sa.String(120), primary_key=True),
        sa.Column("zone", sa.String(64), nullable=False),
    )
    op.add_column("inbox", sa.Column("sent_at", sa.Double(), nullable=True))
    op.add_column("entries", sa.Column("said", sa.Text(), nullable=False, server_default=nothing))
