"""What an address asks for after its question mark. Whatever it says, there is a page."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

_MOST_DIGITS = 10


def chosen(request: Request, name: str, known: Sequence[str]) -> str:
    """One of these; the first unless another is asked for."""
    asked = request.query_params.get(name, "")
    return asked if asked in known else known[0]


def number(request: Request, name: str, default: int) -> int:
    """A number of at least 1."""
    asked = request.query_params.get(name, "")
    if not (asked.isascii() and asked.isdigit() and len(asked) < _MOST_DIGITS):
        return default
    return max(1, int(asked))


def seq(request: Request, name: str) -> int | None:
    """The number of an entry, if one is named."""
    found = number(request, name, 0)
    return found or None
