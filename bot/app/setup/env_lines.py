"""The text of a `.env`, changed as a person would change it: comments, order and unknown lines stay. Pure.

Not python-dotenv's own `set_key`: it changes one name at a time, where a key and the model that wants it belong
together, takes away what stands behind a value on its line, and knows no way to set a value aside.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import Final

from dotenv.parser import Binding, parse_stream


class TakenOut(Enum):
    """What becomes of a secret that somebody takes out."""

    TAKEN_OUT = "taken out"
    """It is gone, also from comments; the line becomes one without it."""


TAKEN_OUT: Final = TakenOut.TAKEN_OUT

Changes = Mapping[str, str | TakenOut | None]
"""Values by the names of settings; None: the line that sets it becomes a comment, so that nothing is lost."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=~?&-]+")
_VALUE = re.compile(r"""'(?:\\'|[^'])*'|"(?:\\"|[^"])*"|[^\r\n]*?(?=[ \t]+\#|[ \t]*(?:\r|\n|\Z))""")
"""As python-dotenv takes a value: in quotes, over several lines too, or as it stands until a comment or the end."""


def changed(text: str, changes: Changes, *, heading: str = "") -> str:
    """``text`` with these values. What is new stands below its own commented line, if there is one, or at the end,
    below ``heading``."""
    lines = [*parse_stream(io.StringIO(text, newline=""))]
    pieces = [binding.original.string for binding in lines]
    end = "\r\n" if "\r\n" in text else "\n"
    new: list[str] = []
    for name, value in changes.items():
        places = [at for at, binding in enumerate(lines) if (binding.key or "").upper() == name]
        if value is None:
            for at in places:
                pieces[at] = _as_comment(pieces[at])
        elif value is TAKEN_OUT:
            for at in _commented(lines, pieces, name):
                pieces[at] = _with_value(pieces[at], "")
            for at in places:
                pieces[at] = _as_comment(_with_value(pieces[at], ""))
        elif places:
            for at in {lines[at].key: at for at in places}.values():  # the last of each spelling
                pieces[at] = _with_value(pieces[at], _quoted(value))
        elif examples := _commented(lines, pieces, name):
            last = examples[-1]
            pieces[last] = f"{_ended(pieces[last], end)}{name}={_quoted(value)}{end}"
        else:
            new.append(f"{name}={_quoted(value)}{end}")
    return "".join(pieces) if not new else "".join(_appended(pieces, new, heading, end))


def names_in(text: str) -> frozenset[str]:
    """The names that it sets, in capitals."""
    return frozenset(binding.key.upper() for binding in parse_stream(io.StringIO(text, newline="")) if binding.key)


def _commented(lines: Sequence[Binding], pieces: Sequence[str], name: str) -> list[int]:
    """The lines that set it and are comments."""
    example = re.compile(rf"\s*#\s*(?:export\s+)?{re.escape(name)}\s*=", re.IGNORECASE)
    return [at for at, binding in enumerate(lines) if binding.key is None and example.match(pieces[at])]


def _with_value(line: str, written: str) -> str:
    name, equals, rest = line.partition("=")
    if not equals:  # a name alone, which sets nothing
        return f"{line.rstrip()}={written}{line[len(line.rstrip()) :]}"
    before = rest[: len(rest) - len(rest.lstrip(" \t"))]
    found = _VALUE.match(rest, len(before))
    behind = rest[found.end() :] if found else ""
    return f"{name}={before}{written}{behind}"


def _as_comment(lines: str) -> str:
    body = lines.lstrip()
    before = lines[: len(lines) - len(body)]
    return before + "".join(f"# {line}" for line in body.splitlines(keepends=True))


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _appended(pieces: Sequence[str], new: Sequence[str], heading: str, end: str) -> Sequence[str]:
    before = "".join(pieces)
    title = [f"# {heading}{end}"] if heading else []
    gap = [end] if before.strip() and (heading or not before.endswith(end)) else []
    return [*chain((_ended(before, end),), gap if before.strip() else (), title, new)]


def _ended(text: str, end: str) -> str:
    return text if not text or text.endswith(("\n", "\r")) else text + end
