"""The alerts, the dashboard and the handbook fit together."""

from __future__ import annotations

import json
import re

from bot.agent.compacting.summary_job import _NOBODY_SECONDS
from tests.deployed import DASHBOARD, HANDBOOK, alerts, anchors


def test_every_alert_has_its_section_in_the_handbook_and_every_section_its_alert() -> None:
    sections = re.findall(r"^## (Palimpsest\w+)$", HANDBOOK.read_text(), re.MULTILINE)
    assert sections == [rule["alert"] for rule in alerts()]
    for rule in alerts():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        assert rule["annotations"]["runbook_url"] == f"docs/handbook.md#{rule['alert'].lower()}"


def test_the_handbook_links_to_sections_that_there_are() -> None:
    links = re.findall(r"\]\(([\w./]*)(?:#([\w-]+))?\)", HANDBOOK.read_text())
    assert links
    for page, anchor in links:
        there = HANDBOOK.parent / page if page else HANDBOOK
        assert there.is_file(), page
        assert not anchor or anchor in anchors(there), f"{page}#{anchor}"


def test_the_alert_about_a_missing_worker_rings_though_its_compaction_has_failed_meanwhile() -> None:
    rule = next(rule for rule in alerts() if rule["alert"] == "PalimpsestNoWorker")
    seconds = float(rule["expr"].rpartition(">")[2])
    assert seconds < _NOBODY_SECONDS, "then it is planned no longer"
    assert "max_over_time" in rule["expr"], "a scrape a minute may come too early, and the next one too late"
    assert "for" not in rule


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
