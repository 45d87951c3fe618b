"""The names in an endpoint's list of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LONGEST_NAME = 200
_MOST_NAMES = 2_000


def names_in(listed: Any) -> tuple[str, ...]:
    """What an answer to `/models` lists, each once and sorted, as a request names it; empty where it is no list.
    Together's list is bare, and Gemini's names begin with `models/`."""
    rows = listed.get("data") if isinstance(listed, Mapping) else listed
    ids = [row.get("id") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    names = {name.removeprefix("models/") for name in ids if isinstance(name, str) and len(name) <= _LONGEST_NAME}
    return tuple(sorted(names - {""})[:_MOST_NAMES])
