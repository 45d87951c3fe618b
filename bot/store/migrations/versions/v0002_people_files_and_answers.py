"""who may talk, files both ways, what a message answers, chats that closed or moved"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "people",
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("chat", sa.String(length=120), nullable=False),
        sa.Column("thread", sa.String(length=120), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("code", sa.String(length=20), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("connector", "person"),
    )
    with op.batch_alter_table("people", schema=None) as batch_op:
        batch_op.create_index(
            "people_code",
            ["code"],
            unique=True,
            sqlite_where=sa.text("state = 'pending'"),
            postgresql_where=sa.text("state = 'pending'"),
        )
    op.create_table(
        "closed_chats",
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("chat", sa.String(length=120), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("connector", "chat"),
    )
    op.create_table(
        "moved_chats",
        sa.Column("connector", sa.String(length=40), nullable=False),
        sa.Column("moved_to", sa.String(length=120), nullable=False),
        sa.Column("chat", sa.String(length=120), nullable=False),
        sa.PrimaryKeyConstraint("connector", "moved_to"),
    )
    # Plain ADD COLUMN on both databases: nothing that was said is copied.
    op.add_column("inbox", sa.Column("ref", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("inbox", sa.Column("speaker", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("inbox", sa.Column("attachments", sa.JSON(), nullable=False, server_default=sa.text("'[]'")))
    op.add_column("inbox", sa.Column("marked", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    op.add_column("outbox", sa.Column("answers", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("outbox", sa.Column("file", sa.JSON(), nullable=True))
    op.create_index(
        "inbox_fetching",
        "inbox",
        ["connector"],
        unique=False,
        sqlite_where=sa.text("state = 'fetching'"),
        postgresql_where=sa.text("state = 'fetching'"),
    )
