"""What is counted, under which names, and that no label can grow without bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bot.agent.turns.timing import Timing
from bot.app.gauges import Gauges
from bot.app.resources import Resources
from bot.bus.bus import Bus
from bot.bus.jobs import Jobs
from bot.history import Usage
from bot.model import Link
from bot.model.chain import Chain
from bot.model.chains import Chains
from bot.model.scripted import ScriptedModel
from bot.runtime.metrics import METRICS, Metrics
from bot.runtime.settings import Settings
from bot.runtime.telemetry import Known, Telemetry
from bot.runtime.turn_seconds import TurnSeconds
from bot.store import Database

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
_ROW = re.compile(r"\| `(palimpsest_\w+)` \| (\w+) \|([^|]*)\| [^|]+ \| [a-z, ]+ \| [^|]+ \|")
NOBODY = "redis://127.0.0.1:1"
TIMING = TurnSeconds(queued=0.1, compaction=0.0, model=1.0, first_token=0.4, tools=0.0, total=1.2)


@pytest.fixture
def metrics() -> Telemetry:
    """A set of its own, of a process that knows one model and one strategy."""
    fresh = Telemetry(Metrics())
    known = Known(
        models=["claude-opus-4-6", "qwen"],
        strategies=["reset"],
        served=["room"],
        connectors=["room", "telegram"],
        commands=["compact"],
        retried=["529", "connection"],
    )
    fresh.started("1.0", ["gateway", "agents"], known)
    return fresh


def value(metrics: Telemetry, name: str, **labels: str) -> float | None:
    return metrics.metrics.registry.get_sample_value(f"palimpsest_{name}", labels)


def told() -> dict[str, tuple[str, frozenset[str]]]:
    """Type and labels of each metric, as the page has them."""
    rows = [found for line in PAGE.read_text().splitlines() if (found := _ROW.fullmatch(line))]
    return {row[1]: (row[2], frozenset(re.findall(r"`(\w+)`", row[3]))) for row in rows}


def counted() -> Iterator[tuple[str, str, Any]]:
    """Name, type and labels of each collector of the process, and of what is looked up."""
    for collector in METRICS.registry._collector_to_names:
        family: Any = collector
        yield family._name, family._type, family._labelnames
    bus = Bus(NOBODY, "test")
    settings, database = Settings(_env_file=None), Database("sqlite:///nowhere")
    chain = Chain([Link(ScriptedModel(), "m")])
    chains = Chains(chain, lambda name: Link(ScriptedModel(), name))
    gauges = Gauges(Resources(settings, database, bus, NOBODY, Jobs(NOBODY, "test"), chains), book=True)
    for found in (*gauges._of_process(), *gauges._of_book()):
        yield found.name, found.type, found._labelnames  # type: ignore[attr-defined]  # of all families


async def test_the_page_has_every_metric_with_its_type_and_labels_and_no_other() -> None:
    exported = {
        f"{name}_total" if kind == "counter" else name: (kind, frozenset(labels)) for name, kind, labels in counted()
    }
    assert told() == exported


def test_a_model_and_a_strategy_that_nobody_configured_are_other(metrics: Telemetry) -> None:
    for model in ("claude-opus-4-6", "somebody else's", "and another"):
        metrics.model_answered("turn", model, Usage(input=10), 1.0)
    assert value(metrics, "tokens_total", purpose="turn", kind="input", model="claude-opus-4-6") == 10
    assert value(metrics, "tokens_total", purpose="turn", kind="input", model="other") == 20
    for strategy in ("reset", "of yesterday"):
        metrics.compaction_ended(trigger="auto", outcome="done", strategy=strategy, seconds=1, before=9, after=4)
    assert value(metrics, "compactions_total", trigger="auto", outcome="done", strategy="other") == 1


def test_a_command_that_there_is_not_is_other(metrics: Telemetry) -> None:
    metrics.commanded("launch_the_missiles", known=False)
    assert value(metrics, "commands_total", command="other") == 1


def test_dollars_are_counted_where_the_price_is_known(metrics: Telemetry) -> None:
    metrics.model_answered("turn", "claude-opus-4-6", Usage(input=1_000_000), 1.0)
    metrics.model_answered("turn", "qwen", Usage(input=1_000_000), 1.0)
    assert value(metrics, "cost_dollars_total", purpose="turn", model="claude-opus-4-6") == 5.0
    assert value(metrics, "cost_dollars_total", purpose="turn", model="other") is None


def test_only_answered_turns_say_how_long_an_answer_takes(metrics: Telemetry) -> None:
    for state in ("done", "aborted", "failed"):
        metrics.turn_ended("room", state, 0.5, TIMING)
        assert value(metrics, "turns_total", connector="room", state=state) == 1
    assert value(metrics, "turn_seconds_count", connector="room") == 1
    assert value(metrics, "turn_part_seconds_sum", part="model") == 1.0
    assert value(metrics, "turn_part_seconds_count", part="tools") == 0, "it had none"
    assert value(metrics, "context_share_count") == 3


def test_what_changed_nothing_frees_nothing(metrics: Telemetry) -> None:
    for outcome, after in (("failed", None), ("done", 400)):
        metrics.compaction_ended(
            trigger="auto", outcome=outcome, strategy="reset", seconds=1.0, before=1_000, after=after
        )
    assert value(metrics, "compaction_tokens_total", moment="before") == 1_000
    assert value(metrics, "compaction_tokens_total", moment="after") == 400


@pytest.mark.parametrize(
    ("turn", "compaction", "what"),
    [(True, True, "both"), (True, False, "turn"), (False, True, "compaction"), (False, False, "nothing")],
)
def test_an_abort_is_counted_by_what_it_stopped(metrics: Telemetry, turn: bool, compaction: bool, what: str) -> None:
    metrics.aborted(turn=turn, compaction=compaction)
    assert value(metrics, "aborts_total", what=what) == 1


def test_what_a_process_may_count_begins_at_zero(metrics: Telemetry) -> None:
    for name, labels in (
        ("disk_errors_total", {"what": "trace"}),
        ("deliveries_total", {"connector": "room", "outcome": "refused"}),
        ("messages_parked_total", {}),
        ("leases_lost_total", {"kind": "agent"}),
        ("turns_total", {"connector": "telegram", "state": "failed"}),
        ("turn_seconds_bucket", {"connector": "telegram", "le": "90.0"}),
        ("model_failures_total", {"purpose": "turn", "cause": "key"}),
        ("model_retries_total", {"status": "529"}),
        ("compactions_total", {"trigger": "auto", "outcome": "failed", "strategy": "reset"}),
        ("cost_dollars_total", {"purpose": "turn", "model": "claude-opus-4-6"}),
    ):
        assert value(metrics, name, **labels) == 0, name


def test_what_a_process_never_counts_is_not_shown_as_zero(metrics: Telemetry) -> None:
    assert value(metrics, "deliveries_total", connector="telegram", outcome="sent") is None, "not its connector"
    assert value(metrics, "cost_dollars_total", purpose="turn", model="qwen") is None, "nobody knows its price"
    worker = Telemetry(Metrics())
    worker.started("1.0", ["worker"], Known(models=["qwen"], connectors=["telegram"]))
    assert value(worker, "turns_total", connector="telegram", state="failed") is None
    assert value(worker, "model_failures_total", purpose="compaction", cause="away") == 0


def test_the_parts_of_a_turn_are_what_was_spent_on_each() -> None:
    now = 0.0
    timing = Timing(received_at=100.0, taken_at=101.5, clock=lambda: now)
    with suppress(ZeroDivisionError), timing.of("tools"):
        now += 0.25
        _ = 1 / 0
    said: list[str] = []
    hear = timing.hearing(said.append)
    with timing.of("model"):
        hear("")
        now += 0.5
        hear("He")
        now += 0.5
        hear("Hello")
    with timing.of("model"):
        timing.hearing(said.append)("later")
        now += 1.0
    assert said == ["", "He", "Hello", "later"]
    assert timing.ended(104.0) == TurnSeconds(
        queued=1.5,
        compaction=0.0,
        model=2.0,
        first_token=0.5,
        tools=0.25,
        total=4.0,
    )


def test_a_clock_that_was_set_back_makes_nothing_negative() -> None:
    timing = Timing(received_at=100.0, taken_at=90.0)
    assert timing.ended(80.0) == TurnSeconds()
