"""docs/architecture.md names what there is."""

from __future__ import annotations

from bot.store.schema import metadata
from tests.docs.pages import DOCS, ROOT, Page

PAGE = Page(DOCS / "architecture.md")
INDEX_OF_WORDS = "entry_words"
"""The one table that each kind of database has in its own way, and so is not in the schema."""


def test_every_table_is_named_and_no_other() -> None:
    section = PAGE.text.partition("\n## Tables\n")[2].partition("\n## ")[0].partition("`bot/store/migrations`")[0]
    named = section.split("`")[1::2]
    assert sorted(named) == sorted([*metadata.tables, INDEX_OF_WORDS])


def test_every_decision_is_in_the_list_of_decisions() -> None:
    files = sorted(path.name for path in (DOCS / "decisions").glob("[0-9]*.md"))
    assert [link for link in Page(DOCS / "decisions" / "README.md").links if link[0].isdigit()] == files
    numbers = [Page(DOCS / "decisions" / name).headings[0][1].partition(".")[0] for name in files]
    assert [int(number) for number in numbers] == [int(name[:4]) for name in files] == list(range(1, len(files) + 1))


def test_the_file_to_read_first_is_there() -> None:
    assert "read `bot/agent/turn.py` first" in PAGE.text
    assert (ROOT / "bot" / "agent" / "turn.py").exists()
