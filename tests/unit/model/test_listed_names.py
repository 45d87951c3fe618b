"""Which names a list of models holds."""

from __future__ import annotations

from typing import Any

import pytest

from bot.model.listed_names import names_in


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        ({"data": [{"id": "b"}, {"id": "a"}]}, ("a", "b")),
        ([{"id": "bare"}], ("bare",)),
        ({"data": [{"id": "models/gemini"}, {"id": "gemini"}]}, ("gemini",)),
        ({"data": [{"id": 7}, {"id": ""}, {"id": "x" * 1_000}, "a", {}]}, ()),
        ({"data": None}, ()),
        ("<html>", ()),
        (None, ()),
    ],
)
def test_a_list_is_read(listed: Any, names: tuple[str, ...]) -> None:
    assert names_in(listed) == names
