"""What values in a text look like."""

from __future__ import annotations

from bot.compaction.grammar import last_name


def test_a_file_is_called_by_what_stands_behind_the_last_separator() -> None:
    assert [last_name(path) for path in ("/srv/Data/", r"C:\Users\Ada", "a.txt")] == ["data", "ada", "a.txt"]
