"""What is exact in a text, which a summary must keep."""

from __future__ import annotations

import pytest

from bot.compaction.grammar import last_name
from bot.compaction.summary.details import must_keep

EXACT = [
    ("看https://a.example/资料，然后回答", "https://a.example/资料"),
    ("Write to ada@lovelace.example.", "ada@lovelace.example"),
    ("It is in /srv/data/report.txt, I think.", "/srv/data/report.txt"),
    ("See src/app/main.py there.", "src/app/main.py"),
    (r"Put it into C:\Users\Ada\notes.", r"C:\Users\Ada\notes"),
    ("We meet on 12 марта 2026 in Riga.", "12 марта 2026"),
    ("We meet on 3rd of May, 2026.", "3rd of May, 2026"),
    ("会议在2026年3月5日举行", "2026年3月5日"),
    ("我们在3:30见面", "3:30"),
    ("It costs ₹4,500 now.", "₹4,500"),
    ("She calls it «северный план».", "северный план"),
]


@pytest.mark.parametrize(("text", "exact"), EXACT)
def test_a_summary_must_keep_what_is_exact(text: str, exact: str) -> None:
    assert exact in must_keep([{"role": "user", "content": text}], latest=False)


@pytest.mark.parametrize("text", ["Aspect 16:1080 it was.", "It reads </div/span> there.", r'{"a": "b:\n"}'])
def test_what_only_looks_like_it_is_neither(text: str) -> None:
    assert not [item for item in must_keep([{"role": "user", "content": text}], latest=False) if ":1" in item]


def test_a_file_is_called_by_what_stands_behind_the_last_separator() -> None:
    assert [last_name(path) for path in ("/srv/Data/", r"C:\Users\Ada", "a.txt")] == ["data", "ada", "a.txt"]
