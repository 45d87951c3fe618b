"""The alerts, the dashboard and the pages about them, as they are handed to operators."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
RULES = ROOT / "deploy" / "prometheus" / "rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "palimpsest.json"
HANDBOOK = ROOT / "docs" / "handbook.md"
_COUNTER = re.compile(r"palimpsest_\w+")
_RECORDED = re.compile(r"palimpsest:[\w:]+")
_ROW = re.compile(r"\| `(palimpsest_\w+)` \| (\w+) \|([^|]*)\|.*")


def rows() -> Iterator[tuple[str, str, frozenset[str], str]]:
    """Name, type, labels and text of each row of the page of metrics."""
    for line in (ROOT / "docs" / "metrics.md").read_text().splitlines():
        if found := _ROW.fullmatch(line):
            yield found[1], found[2], frozenset(re.findall(r"`(\w+)`", found[3])), line


def rules() -> list[dict[str, Any]]:
    """All rules: what is recorded, and the alerts."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    """Those that ring."""
    return [rule for rule in rules() if "alert" in rule]


def recorded() -> dict[str, str]:
    """What Prometheus keeps for them, by its name."""
    return {rule["record"]: rule["expr"] for rule in rules() if "record" in rule}


def queries() -> list[tuple[str, str, str]]:
    """Where it stands, what it asks, and the texts that show its labels. What is recorded of a metric is asked as that
    metric."""
    kept = recorded()
    whole = {name: found[0] for name, expr in kept.items() if (found := _COUNTER.search(expr))}

    def plain(expr: str) -> str:
        return _RECORDED.sub(lambda found: whole[found[0]], expr)

    told = [(rule["alert"], plain(rule["expr"]), " ".join(rule["annotations"].values())) for rule in alerts()]
    told += [(name, _RECORDED.sub("up", expr), "") for name, expr in kept.items()]
    dashboard = json.loads(DASHBOARD.read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    drawn = [(panel["title"], it["expr"], it["legendFormat"]) for panel in panels for it in panel["targets"]]
    marks = [(mark["name"], mark["expr"], mark["titleFormat"]) for mark in dashboard["annotations"]["list"]]
    return [*told, *drawn, *marks]


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """Of all headings of a page."""
    return {slug(found) for found in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)}
