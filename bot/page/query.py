"""What an address asks for after its question mark. Whatever it says, there is an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request

_MOST_DIGITS = 10
Word = TypeVar("Word", bound=str)
_ID = re.compile(r"[A-Za-z0-9_.-]{1,120}")


@dataclass(frozen=True)
class Slice:
    """The rows of a long list that are shown at once. ``number``: which slice, from 1 to ``count``; ``total`` rows in
    all, ``most`` in one."""

    number: int
    count: int
    total: int
    most: int

    @classmethod
    def of(cls, request: Request, total: int, most: int) -> Slice:
        """The slice that `?page=` asks for; the last one where that is too far."""
        count = max(1, -(-total // most))
        return cls(min(number(request, "page", 1), count), count, total, most)

    @property
    def offset(self) -> int:
        """So many rows stand before it."""
        return (self.number - 1) * self.most


def chosen(request: Request, name: str, known: Sequence[Word]) -> Word:
    """One of these; the first unless another is asked for."""
    asked = request.query_params.get(name, "")
    return next((word for word in known if word == asked), known[0])


def text(request: Request, name: str, longest: int) -> str:
    """One line of text, without what no database takes."""
    asked = request.query_params.get(name, "")
    shown = "".join(letter if letter.isprintable() else " " for letter in asked)
    return " ".join(shown.encode("utf-8", "replace").decode().split())[:longest]


def named(request: Request, name: str) -> str:
    """The id in a path; empty where it cannot be one."""
    found = str(request.path_params[name])
    return found if _ID.fullmatch(found) else ""


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
