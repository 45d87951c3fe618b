"""What a query asks for: its metrics, and the labels that it names.

As much of PromQL as the alerts and the dashboard use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_METRIC = re.compile(r"\b((?:palimpsest|process)_\w+|up)\b(?:\{([^}]*)\})?")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPED = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
_TEMPLATE = re.compile(r"\{\{\s*\$?(?:labels\.)?(\w+)")


@dataclass(frozen=True)
class Asked:
    """``matched``: the labels that stand behind a metric, by its name; ``grouped``: those of the query."""

    matched: dict[str, frozenset[str]]
    values: frozenset[tuple[str, str, str]]
    """Metric, label and the values that it is compared with."""
    grouped: frozenset[str]


def asked(query: str) -> Asked:
    """Read a query."""
    matched: dict[str, frozenset[str]] = {}
    values: set[tuple[str, str, str]] = set()
    bare = _STRING.sub('""', query)
    for name, labels in _METRIC.findall(bare):
        matched[name] = matched.get(name, frozenset()) | frozenset(_MATCHER.findall(labels))
    for name, labels in _METRIC.findall(query):
        for label, value in re.findall(r'(\w+)\s*=~?\s*"([^"]*)"', labels):
            values |= {(name, label, one) for one in value.replace(".*", "").split("|")}
    grouped = {label.strip() for labels in _GROUPED.findall(bare) for label in labels.split(",") if label.strip()}
    return Asked(matched, frozenset(values), frozenset(grouped))


def labels_in(text: str) -> frozenset[str]:
    """Labels that a legend or an annotation shows."""
    return frozenset(_TEMPLATE.findall(text)) - {"value"}
