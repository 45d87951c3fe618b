"""appointments that are over are found without reading those that are to come"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    over = sa.text("next_at IS NULL")
    op.create_index("appointments_over", "appointments", ["changed_at"], sqlite_where=over, postgresql_where=over)
