"""Every line that the program can log, read from its source: the event, its levels, and the keys that are told with it.

A line is a call of a method of ``log`` (or of ``logging``'s), with the name of its event first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("bot", "connectors", "workers")
_LEVELS = {"debug": "debug", "info": "info", "warning": "warning", "error": "error", "exception": "error"}
_NO_KEYS = frozenset({"exc_info", "stack_info", "extra"})


@dataclass
class Event:
    """One event, over all places that log it. ``open``: some keys are not named in the source (``**…``)."""

    levels: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    open: bool = False
    places: list[str] = field(default_factory=list)


def events() -> dict[str, Event]:
    """All of them, by name; what is not a name stands as its source."""
    found: dict[str, Event] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for call, level in _calls(ast.parse(path.read_text(encoding="utf-8"))):
                for name in _names(call):
                    event = found.setdefault(name, Event())
                    event.levels.add(level)
                    event.places.append(f"{path.relative_to(ROOT)}:{call.lineno}")
                    _take_keys(event, call)
    return found


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LEVELS:
            target = ast.unparse(node.func.value)
            if target == "log" or "get_logger" in target:
                yield node, _LEVELS[node.func.attr]


def _names(call: ast.Call) -> Iterator[str]:
    first = call.args[0]
    for choice in (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,):
        yield str(choice.value) if isinstance(choice, ast.Constant) else ast.unparse(choice)


def _take_keys(event: Event, call: ast.Call) -> None:
    for keyword in call.keywords:
        if keyword.arg is None:
            event.open = True
        elif keyword.arg == "extra":
            assert isinstance(keyword.value, ast.Dict), ast.unparse(call)
            event.keys |= {str(key.value) for key in keyword.value.keys if isinstance(key, ast.Constant)}
        elif keyword.arg not in _NO_KEYS:
            event.keys.add(keyword.arg)
