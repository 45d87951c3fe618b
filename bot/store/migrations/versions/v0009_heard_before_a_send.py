"""what people had said when a message of ours was sent for the first time"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outbox", sa.Column("heard_upto", sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
