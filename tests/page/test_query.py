"""Whatever an address asks for, there is an answer."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from bot.page.query import Slice


@pytest.mark.parametrize(
    ("asked", "number", "offset"),
    [("", 1, 0), ("page=2", 2, 25), ("page=99", 3, 50), ("page=0", 1, 0), ("page=-1", 1, 0), ("page=٢", 1, 0)],
)
def test_a_slice_that_there_is_not_is_the_nearest(asked: str, number: int, offset: int) -> None:
    request = Request({"type": "http", "query_string": asked.encode(), "headers": []})
    rows = Slice.of(request, 51, 25)
    assert (rows.number, rows.offset, rows.count) == (number, offset, 3)


def test_an_empty_list_is_one_slice() -> None:
    rows = Slice.of(Request({"type": "http", "query_string": b"page=7", "headers": []}), 0, 25)
    assert (rows.number, rows.offset, rows.count) == (1, 0, 1)
