"""Settings of compaction as flags of `chat` and `run`."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from bot.app.cli.flags import overrides
from bot.compaction import STRATEGIES
from bot.compaction.gate import is_automatic
from bot.compaction.strategies.two_phase import TwoPhaseOptions
from bot.runtime.settings import load_settings
from bot.runtime.strategies import configured


def test_without_a_flag_everything_is_as_it_is_set() -> None:
    assert overrides(None, None, None, no_compact=False) == {}


def test_flags_win_over_what_is_set_and_leave_the_rest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTS__STRATEGY", "reset")
    monkeypatch.setenv("AGENTS__CRITICAL", "0.95")
    monkeypatch.setenv("STRATEGY__TWO_PHASE__TARGET_TOKENS", "5000")
    monkeypatch.setenv("STRATEGY__TWO_PHASE__PRESERVE_RECENT", "8")
    given = ["compress-preserve-recent=4", "template=fields"]
    settings = load_settings(**overrides("two_phase", 6_000, given, no_compact=True))
    assert (settings.agents.emergency_context_limit, settings.agents.critical) == (6_000, 0.95)
    assert not is_automatic(settings.agents.warning)
    assert not settings.agents.compact_ahead
    wanted = TwoPhaseOptions(0.0, 0.95, target_tokens=5_000, preserve_recent=4, template="fields")
    assert configured(STRATEGIES, settings).default.options == wanted


@pytest.mark.parametrize(("strategy", "option"), [(None, "keep=2"), ("two_phase", "keep"), ("two_phase", "=2")])
def test_an_option_needs_its_strategy_and_a_value(strategy: str | None, option: str) -> None:
    with pytest.raises(typer.BadParameter, match="--option"):
        overrides(strategy, None, [option], no_compact=False)


@pytest.mark.parametrize(
    ("strategy", "options", "told"),
    [
        ("nought", [], "'nought' is not a strategy; there is: memory"),
        ("monologue", ["nope=1"], "has no option 'nope'"),
        ("monologue", ["keep=many"], "cannot be 'many'"),
        ("monologue", ["keep=1", "keep=2"], "min_segments_to_keep is given twice"),
        ("two_phase", ["preserve_recent=3", "preserve_recent_messages=4"], "preserve_recent is given twice"),
    ],
)
def test_a_flag_that_cannot_be_meant_is_a_wrong_call(strategy: str, options: list[str], told: str) -> None:
    with pytest.raises(typer.BadParameter, match=told):
        overrides(strategy, None, options, no_compact=False)
