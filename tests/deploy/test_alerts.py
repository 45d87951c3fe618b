"""Each alert rings when what it is about happens, also where Prometheus sees a series for the first time after that.

`promtool` (Debian: prometheus) runs the rules over series that are written down here; without it the rules are only
read. A series has a value for each minute, ``_`` where a scrape saw nothing; it begins an hour before the scenario.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deployed import RULES, alerts, recorded
from tests.servers.prometheus import PROMTOOL, needs_promtool

PROCESS = 'job="palimpsest", instance="agents:8080"'
BEFORE = 60
"""Minutes that series have been as they begin, when a scenario begins."""
LONG_AGO = -100_000
"""In seconds: the series of a scenario begin at 0."""
WATCHED = {f"up{{{PROCESS}}}": "1x120", f"process_start_time_seconds{{{PROCESS}}}": f"{LONG_AGO}x120"}
"""A process that has run for long, and was seen at each scrape."""


def of(name: str, **labels: str) -> str:
    """A series of this process."""
    return name + "{" + ", ".join([PROCESS, *(f'{key}="{value}"' for key, value in labels.items())]) + "}"


@dataclass(frozen=True)
class Scenario:
    """``series`` by the minute. The alert rings at the minute ``rings``; ``quiet``: when it does not, or not yet."""

    alert: str
    series: Mapping[str, str]
    rings: int
    quiet: Sequence[int] = (8,)


def counter(name: str, value: int, **labels: str) -> dict[str, str]:
    """Seen first in the tenth minute, with this value, and never again with another one."""
    return {of(name, **labels): f"_x10 {value}x110"}


def gauge(name: str, value: float, **labels: str) -> dict[str, str]:
    """As it should be for ten minutes, and then so."""
    good = 0 if value else 1
    return {of(name, **labels): f"{good}x9 {value}x110"}


SCENARIOS = (
    Scenario("PalimpsestDown", {f"up{{{PROCESS}}}": "1x9 0x110"}, rings=13, quiet=(9, 11)),
    Scenario(
        "PalimpsestRestarts",
        {f"process_start_time_seconds{{{PROCESS}}}": "0x9 600x2 780x2 960x60"},
        rings=17,
        quiet=(9, 14, 60),
    ),
    Scenario("PalimpsestNotScraped", {f"up{{{PROCESS}}}": "1x9 _x110", "up{job='node'}": "1x120"}, rings=22),
    Scenario(
        "PalimpsestRoleMissing",
        {
            of("palimpsest_info", version="1.0", roles="gateway,agents,worker"): "1x9 _x110",
            of("palimpsest_info", version="1.1", roles="agents"): "_x10 1x110",
        },
        rings=17,
        quiet=(8, 11),
    ),
    Scenario(
        "PalimpsestNobodyAnswers",
        gauge("palimpsest_inbox_oldest_seconds", 300, connector="telegram")
        | counter("palimpsest_turns_total", 3, connector="telegram", state="failed"),
        rings=13,
        quiet=(8, 11),
    ),
    Scenario(
        "PalimpsestQueueGrows",
        {of("palimpsest_inbox_messages", connector="telegram", state="waiting"): "0+10x120"},
        rings=20,
        quiet=(5,),
    ),
    Scenario(
        "PalimpsestAnswersAreLate",
        counter("palimpsest_turn_seconds_bucket", 0, connector="mine", le="90.0")
        | counter("palimpsest_turn_seconds_bucket", 4, connector="mine", le="180.0")
        | counter("palimpsest_turn_seconds_bucket", 4, connector="mine", le="+Inf"),
        rings=16,
    ),
    Scenario(
        "PalimpsestAppointmentsAreLate", gauge("palimpsest_appointment_overdue_seconds", 61), rings=12, quiet=(8, 10)
    ),
    Scenario(
        "PalimpsestTurnsFail",
        counter("palimpsest_turns_total", 3, connector="mine", state="failed")
        | counter("palimpsest_turns_total", 1, connector="mine", state="done"),
        rings=13,
        quiet=(8, 30),
    ),
    Scenario("PalimpsestKeyRefused", gauge("palimpsest_model_trouble", 1, cause="key"), rings=12, quiet=(8, 10)),
    Scenario("PalimpsestNoCredit", gauge("palimpsest_model_trouble", 1, cause="credit"), rings=12, quiet=(8, 10)),
    Scenario("PalimpsestModelUnknown", gauge("palimpsest_model_trouble", 1, cause="model"), rings=12, quiet=(8, 10)),
    Scenario(
        "PalimpsestProviderAway",
        gauge("palimpsest_model_trouble", 1, cause="away")
        | counter("palimpsest_model_failures_total", 1, purpose="turn", cause="away"),
        rings=13,
        quiet=(8, 11, 25),  # nobody has asked anything for long
    ),
    Scenario("PalimpsestProviderErrors", counter("palimpsest_model_retries_total", 200, status="529"), rings=16),
    Scenario(
        "PalimpsestProviderRefuses",
        counter("palimpsest_model_failures_total", 3, purpose="turn", cause="request"),
        rings=11,
        quiet=(8, 30),
    ),
    Scenario(
        "PalimpsestCompactionsFail",
        counter("palimpsest_compactions_total", 3, trigger="auto", outcome="failed", strategy="mine"),
        rings=16,
        quiet=(8, 90),
    ),
    Scenario(
        "PalimpsestContextsStayCritical",
        gauge("palimpsest_agents", 2, level="critical", active="true"),
        rings=41,
        quiet=(8, 30),
    ),
    Scenario(
        "PalimpsestPeopleWaitForCompactions",
        counter("palimpsest_compaction_pause_seconds_bucket", 0, le="40.0")
        | counter("palimpsest_compaction_pause_seconds_bucket", 2, le="90.0")
        | counter("palimpsest_compaction_pause_seconds_bucket", 2, le="+Inf"),
        rings=21,
    ),
    Scenario(
        "PalimpsestNoWorker", gauge("palimpsest_compaction_oldest_seconds", 40, state="planned"), rings=11, quiet=(8,)
    ),
    Scenario("PalimpsestWorkerMissing", gauge("palimpsest_worker_seen", 0), rings=13, quiet=(8, 11)),
    Scenario("PalimpsestMessagesParked", counter("palimpsest_messages_parked_total", 1), rings=11, quiet=(8, 90)),
    Scenario(
        "PalimpsestDeliveriesRefused",
        counter("palimpsest_deliveries_total", 5, connector="mine", outcome="refused")
        | counter("palimpsest_deliveries_total", 9, connector="mine", outcome="sent"),
        rings=16,
    ),
    Scenario(
        "PalimpsestDeliveriesFail",
        counter("palimpsest_deliveries_total", 2, connector="mine", outcome="failed")
        | gauge("palimpsest_outbox_messages", 1, connector="mine"),
        rings=16,
    ),
    Scenario(
        "PalimpsestPlatformSlowsUs",
        counter("palimpsest_deliveries_total", 200, connector="mine", outcome="delayed"),
        rings=16,
    ),
    Scenario("PalimpsestNoGateway", gauge("palimpsest_connector_active", 0, connector="telegram"), rings=12),
    Scenario("PalimpsestNotReady", gauge("palimpsest_ready", 0, part="telegram"), rings=14, quiet=(8, 12)),
    Scenario("PalimpsestDatabaseDown", gauge("palimpsest_database_up", 0), rings=12, quiet=(8, 10)),
    Scenario("PalimpsestDatabaseRefuses", gauge("palimpsest_database_refuses", 1), rings=12, quiet=(8, 10)),
    Scenario("PalimpsestRedisDown", gauge("palimpsest_redis_up", 0), rings=12, quiet=(8, 10)),
    Scenario(
        "PalimpsestDiskFull",
        {
            of("palimpsest_data_bytes", state="all"): f"{10**12}x120",
            of("palimpsest_data_bytes", state="free"): f"{10**11}x9 {10**10}x110",
        },
        rings=13,
        quiet=(8, 11),
    ),
    Scenario("PalimpsestDiskErrors", counter("palimpsest_disk_errors_total", 1, what="trace"), rings=11),
    Scenario("PalimpsestLeasesFlap", counter("palimpsest_leases_lost_total", 11, kind="agent"), rings=11),
    Scenario("PalimpsestBackgroundBreaks", counter("palimpsest_background_crashes_total", 3, what="mine"), rings=11),
    Scenario("PalimpsestErrorsLogged", counter("palimpsest_log_lines_total", 6, level="error"), rings=11),
    Scenario("PalimpsestCosts", counter("palimpsest_cost_dollars_total", 21, purpose="turn", model="mine"), rings=11),
    Scenario(
        "PalimpsestBudgetNearlySpent",
        {
            of("palimpsest_budget_share", scope="day"): "0.5x9 0.8x29 1.1x80",
            of("palimpsest_budget_share", scope="person"): "0.9x120",
        },
        rings=11,
        quiet=(8, 50),  # then it is used up, which is the next one
    ),
    Scenario(
        "PalimpsestBudgetSpent",
        {
            of("palimpsest_budget_share", scope="month"): "0.9x9 1x110",
            of("palimpsest_budget_share", scope="chat"): "1.2x120",
        },
        rings=11,
    ),
    Scenario(
        "PalimpsestOpenFiles",
        {
            f"process_open_fds{{{PROCESS}}}": "10x9 900x110",
            f"process_max_fds{{{PROCESS}}}": "1000x120",
        },
        rings=16,
        quiet=(8, 13),
    ),
)
COUNTED = [one for one in SCENARIOS if any("_total" in name or "_bucket" in name for name in one.series)]


def earlier(values: str) -> str:
    """As it begins, and for an hour before that."""
    first, rising = re.fullmatch(r"(_|-?[\d.]+)(\+\d+)?x.*", values), "+" in values.split(maxsplit=1)[0]
    assert first
    return f"{first[1]}x{BEFORE - (first[1] != '_')} {values}" if not rising else f"0x{BEFORE - 1} {values}"


def run(folder: Path, series: Mapping[str, str], expected: Sequence[tuple[str, int, bool]]) -> None:
    """promtool's word on which alerts ring in which minutes, over these series."""
    assert PROMTOOL
    tests = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": earlier(values)} for name, values in series.items()],
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) > bool 0 or vector(0)',
                        "eval_time": f"{BEFORE + minute}m",
                        "exp_samples": [{"labels": "{}", "value": int(rings)}],
                    }
                    for alert, minute, rings in expected
                ],
            }
        ],
    }
    path = folder / "scenario.json"  # which is YAML too
    path.write_text(json.dumps(tests))
    said = subprocess.run([PROMTOOL, "test", "rules", str(path)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_every_alert_has_a_scenario() -> None:
    assert [one.alert for one in SCENARIOS] == [rule["alert"] for rule in alerts()]


@needs_promtool
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.alert)
def test_it_rings_when_that_happens_and_not_before(tmp_path: Path, scenario: Scenario) -> None:
    expected = [(scenario.alert, scenario.rings, True), *((scenario.alert, at, False) for at in scenario.quiet)]
    run(tmp_path, {**WATCHED, **scenario.series}, expected)


@needs_promtool
@pytest.mark.parametrize("scenario", COUNTED, ids=lambda scenario: scenario.alert)
def test_it_rings_when_a_new_process_did_all_of_it_before_the_first_scrape(tmp_path: Path, scenario: Scenario) -> None:
    series = {
        f"up{{{PROCESS}}}": "_x10 1x110",
        f"process_start_time_seconds{{{PROCESS}}}": f"_x10 {BEFORE * 60 + 590}x110",
        **scenario.series,
    }
    run(tmp_path, series, [(scenario.alert, scenario.rings, True)])


@needs_promtool
def test_nothing_rings_when_a_prometheus_that_was_away_sees_an_old_process_again(tmp_path: Path) -> None:
    series = {
        f"up{{{PROCESS}}}": "1x9 _x70 1x80",
        f"process_start_time_seconds{{{PROCESS}}}": f"{LONG_AGO}x9 _x70 {LONG_AGO}x80",
    }
    for scenario in COUNTED:
        values = {name: counted.replace("_x10 ", "0x9 _x70 ") for name, counted in scenario.series.items()}
        series |= {name: value for name, value in values.items() if "_total" in name or "_bucket" in name}
    expected = [(scenario.alert, minute, False) for scenario in COUNTED for minute in (82, 85, 90, 99, 110)]
    run(tmp_path, series, expected)


@needs_promtool
def test_nothing_rings_where_all_is_at_zero(tmp_path: Path) -> None:
    series = WATCHED | {of("palimpsest_info", version="1.0", roles="gateway,agents"): "1x120"}
    for scenario in COUNTED:
        series |= {name: "0x120" for name in scenario.series if "_total" in name or "_bucket" in name}
    run(tmp_path, series, [(rule["alert"], 30, False) for rule in alerts()])


def test_no_alert_asks_a_counter_by_itself_since_one_that_is_born_at_three_has_not_risen() -> None:
    for rule in alerts():
        assert not re.search(r"palimpsest_\w+_(total|bucket|count|sum)\b", rule["expr"]), rule["alert"]
        for name in re.findall(r"palimpsest:[\w:]+", rule["expr"]):
            assert name in recorded(), f"{rule['alert']}: {name} is not recorded"
