"""the index of words, filled with what was said so far"""

from __future__ import annotations

from itertools import groupby

import sqlalchemy as sa
from alembic import op

from bot.history.entry_text import text_to_find
from bot.store.search.word_index import insertion
from bot.store.search.words import words_in

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_AT_ONCE = 500


def upgrade() -> None:
    op.create_table(
        "indexed_agents",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("agent_id", sa.String(length=120), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("agent_id", name="indexed_agents_agent"),
    )
    if op.get_bind().dialect.name == "sqlite":
        # Words come in the form that they are compared in, parted by spaces. Every character that a word may hold is
        # part of it here: ASCII letters and digits, what lies beyond ASCII, and these.
        op.execute(
            "CREATE VIRTUAL TABLE entry_words USING fts5("
            "words, detail=none, columnsize=0, tokenize=\"ascii tokenchars '~_./:@-+#'''\")"
        )
    else:
        op.execute(
            "CREATE TABLE entry_words (agent integer NOT NULL, seq integer NOT NULL, words tsvector NOT NULL, "
            "PRIMARY KEY (agent, seq))"
        )
        # Without the list of what waits to be put into the index, which every search would have to read.
        op.execute("CREATE INDEX entry_words_words ON entry_words USING gin (words) WITH (fastupdate = off)")
    _fill(op.get_bind())


def _fill(connection: sa.Connection) -> None:
    """In the order of the entries, some at a time: they may be more than the memory holds."""
    agents = sa.table("indexed_agents", sa.column("number"), sa.column("agent_id"))
    entries = sa.table("entries", sa.column("agent_id"), sa.column("seq"), sa.column("blocks", sa.JSON()))
    of_agent, seq = "", 0
    while True:
        after = sa.tuple_(entries.c.agent_id, entries.c.seq) > sa.tuple_(sa.literal(of_agent), sa.literal(seq))
        chosen = sa.select(entries).where(after).order_by(entries.c.agent_id, entries.c.seq).limit(_AT_ONCE)
        rows = connection.execute(chosen).all()
        if not rows:
            return
        for agent_id, own in groupby(rows, key=lambda row: row.agent_id):
            known = sa.select(agents.c.number).where(agents.c.agent_id == agent_id)
            number = connection.execute(known).scalar_one_or_none()
            if number is None:
                connection.execute(agents.insert().values(agent_id=agent_id))
                number = connection.execute(known).scalar_one()
            words = {row.seq: found for row in own if (found := words_in(text_to_find(row.blocks)))}
            if words:
                connection.execute(*insertion(connection.dialect.name, number, words))
        of_agent, seq = rows[-1].agent_id, rows[-1].seq
