"""What servers offer, as definitions that the Messages API takes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.tools.mcp.tools import MOST_TOOLS, mended_listing, unique_names

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.text(max_size=60, alphabet="ab_ 名.-"), st.text(max_size=90, alphabet="ab_ 名.-"))))
def test_names_are_ones_that_models_take_and_none_comes_twice(pairs: list[tuple[str, str]]) -> None:
    names = unique_names(pairs)
    assert set(names) == set(pairs)
    assert len(set(names.values())) == len(names)
    assert all(NAME.fullmatch(name) for name in names.values())


def test_plain_names_stay_readable() -> None:
    assert unique_names([("time", "get_current_time")]) == {("time", "get_current_time"): "time__get_current_time"}


def test_names_that_would_be_one_are_told_apart_in_whatever_order_they_come() -> None:
    pairs = [("a", "b__c"), ("a__b", "c"), ("a", "b c"), ("a", "b.c")]
    assert unique_names(pairs) == unique_names(reversed(pairs))


def test_long_names_that_begin_alike_are_told_apart() -> None:
    names = unique_names([("s" * 100, "t" * 200 + end) for end in "abc"])
    assert len(set(names.values())) == 3


@given(JSON | st.lists(st.fixed_dictionaries({"name": JSON, "inputSchema": JSON, "description": JSON})))
def test_whatever_a_server_lists_is_mended_or_left_out(listing: Any) -> None:
    kept, problems = mended_listing(listing)
    assert all(problems)
    for tool in kept:
        assert tool["inputSchema"]["type"] == "object"
        assert isinstance(tool["name"], str)
        assert isinstance(tool["description"], str)
    if isinstance(listing, list):
        assert len(kept) + len(problems) == len(listing)


def schema_of(schema: Any) -> Any:
    kept, _ = mended_listing([{"name": "a", "inputSchema": schema}])
    return kept[0]["inputSchema"] if kept else None


@pytest.mark.parametrize(
    ("schema", "mended"),
    [
        (None, {"type": "object"}),
        ({}, {"type": "object"}),
        ({"properties": {"x": True}}, {"type": "object", "properties": {"x": True}}),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, {"type": "object"}),
        ({"type": "object", "oneOf": [{}], "allOf": [{}]}, {"type": "object"}),
        ({"type": "string"}, None),
        ([], None),
        ({"properties": {"x": {"type": "text"}}}, None),
        ({"properties": {"x": {"minimum": float("nan")}}}, None),
        ({"properties": {"ключ": {}}}, None),
        ({"properties": {"x" * 65: {}}}, None),
        ({"description": "x" * 30_000}, None),
    ],
)
def test_a_schema_is_mended_or_its_tool_left_out(schema: Any, mended: Any) -> None:
    assert schema_of(schema) == mended


def test_a_schema_that_is_nested_too_deep_is_left_out() -> None:
    deep: dict[str, Any] = {}
    for _ in range(1500):
        deep = {"not": deep}
    kept, problems = mended_listing([{"name": "deep", "inputSchema": deep}, {"name": "flat"}])
    assert [tool["name"] for tool in kept] == ["flat"]
    assert len(problems) == 1


def test_a_long_description_is_cut() -> None:
    [kept], _ = mended_listing([{"name": "a", "description": "x" * 100_000}])
    assert len(kept["description"]) == 4_000


def test_of_a_page_with_thousands_of_tools_the_first_are_taken() -> None:
    kept, problems = mended_listing([{"name": f"t{number}"} for number in range(5_000)])
    assert len(kept) == MOST_TOOLS
    assert problems == ["4,900 tools after the first 100"]
