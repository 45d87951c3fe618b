"""A text as pieces: it is always the same text again, and what is kept elsewhere is not said."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.compaction.trace import Key, Sources, keys_in, text_from
from bot.compaction.trace.pieces import GONE
from tests.unit.any_section import LONG, texts


def made(kept: dict[Key, str], text: str) -> list[Any]:
    """Through the book."""
    pieces = json.loads(json.dumps(Sources(kept.items()).pieces(text)))
    assert isinstance(pieces, list)
    return pieces


def size(pieces: list[Any]) -> int:
    return len(json.dumps(pieces, ensure_ascii=False))


@given(st.lists(texts, max_size=4), texts)
def test_they_are_the_text_whatever_it_is_and_whatever_is_kept(kept: list[str], text: str) -> None:
    by_key: dict[Key, str] = {(number, 0): one for number, one in enumerate(kept)}
    pieces = made(by_key, text)
    assert text_from(pieces, by_key.get) == text
    assert set(keys_in(pieces)) <= by_key.keys()


def test_what_stands_elsewhere_is_named_and_not_said() -> None:
    kept: dict[Key, str] = {(7, 0): LONG[0], ("head", "system"): f"Be kind.\n{LONG[1]}"}
    assert made(kept, LONG[0]) == [[7, 0, 0, 9]]
    assert made(kept, LONG[1]) == [["head", "system", 1, 9]]
    assert made(kept, f"before\n{LONG[1]}\nafter") == ["before\n", ["head", "system", 1, 9], "\nafter"]


def test_who_says_it_may_stand_before_it() -> None:
    kept: dict[Key, str] = {(7, 0): LONG[0], (8, 0): LONG[1]}
    transcript = f"User: [Mon 12:00] {LONG[0]}\n\nAssistant: {LONG[1]}"
    pieces = made(kept, transcript)
    assert pieces == ["User: [Mon 12:00] ", [7, 0, 0, 9], "\n\nAssistant: ", [8, 0, 0, 9]]
    difference = "\n".join(f"+{line}" for line in LONG[0].split("\n"))
    assert size(made(kept, difference)) < len(difference) / 2


def test_what_its_source_has_no_more_is_said_to_be_gone_and_the_rest_stays() -> None:
    kept: dict[Key, str] = {(7, 0): LONG[0], (8, 0): LONG[1]}
    pieces = made(kept, f"{LONG[0]}\nand\n{LONG[1]}")
    left: dict[Key, str] = {(8, 0): LONG[1]}
    assert text_from(pieces, left.get) == f"{GONE}\nand\n{LONG[1]}"
    assert text_from(pieces, {**left, (7, 0): "[removed]"}.get) == f"[removed]\nand\n{LONG[1]}"
