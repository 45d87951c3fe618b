"""Commands are control: what is one, and what it answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.commands.parsing import Command, parse
from bot.agent.commands.table import offered
from bot.agent.commands.texts import (
    NO_SUMMARIES,
    OVER,
    OVER_AND_LEFT,
    context_text,
    hello,
    help_text,
    strategy_text,
    undone_text,
    unknown,
    unknown_strategy,
    window_text,
)
from bot.compaction import STRATEGIES
from bot.compaction.gate import Restraint
from bot.compaction.oversize import Bound
from bot.compaction.strategies.reset import Reset, ResetOptions
from bot.compaction.strategies.segmented import Segmented
from bot.compaction.strategies.tiered import Tiered
from bot.compaction.strategies.two_phase import TwoPhase, TwoPhaseOptions
from bot.estimate import Level, Part
from bot.estimate.meter import Meter
from bot.model import Link
from bot.model.scripted import ScriptedModel
from bot.store.runs import RunState
from tests.unit.entries import full
from tests.unit.one_run import a_run

COMMANDS = {command.name: command.about for command in offered()}


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/compact", Command("compact")),
        ("  /COMPACT  ", Command("compact")),
        ("/compact the recipe, and\nthe dates", Command("compact", "the recipe, and\nthe dates")),
        ("/compact@my_bot", Command("compact")),
        ("/compact@my_bot keep names", Command("compact", "keep names")),
        ("/summarize", Command("compact")),
        ("/summarize names", Command("compact", "names")),
        ("/stop", Command("abort")),
        ("/help", Command("help")),
        ("Please compact this conversation.", Command("compact")),
        ("please compact this CONVERSATION!!", Command("compact")),
        ("/frobnicate", Command("frobnicate", known=False)),
        ("/frobnicate@my_bot", Command("frobnicate", known=False)),
        ("/clear", Command("new")),
        ("/reset", Command("new")),
        ("/cancel", Command("abort")),
        ("/compct the recipe", Command("compct", "the recipe", known=False)),
    ],
)
def test_what_is_a_command(text: str, command: Command) -> None:
    assert parse(text) == command


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "hello",
        "// a comment",
        "/usr/bin/env",
        "/etc/hosts is empty, why?",
        "/tmp",
        "the command /compact",
        "/ compact",
        "please compact this conversation and tell me a joke",
        "/frobnicate the thing",
        "/test this",
        "/now that you say it",
        "/me goes home",
        "/42",
        "/" + "x" * 40,
    ],
)
def test_what_is_something_to_say_to_the_model(text: str) -> None:
    command = parse(text)
    assert command is None or (text == "/tmp" and not command.known)


@given(st.text())
def test_any_text_is_a_command_or_something_to_say(text: str) -> None:
    command = parse(text)
    assert command is None or not command.known or command.name in COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_known_and_in_the_help(name: str) -> None:
    command = parse(f"/{name}")
    assert command
    assert command.known
    assert f"/{name}: " in help_text()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/compct now", "/compact now"),
        ("/comapct", "/compact"),
        ("/contxt", "/context"),
        ("/nwe", "/new"),
        ("/claer", "/new"),
        ("/strategie tiered", "/strategy tiered"),
        ("/hlep", "/help"),
        ("/par K7QM-2XWD", ""),
        ("/frobnicate", ""),
        ("/compact", ""),
    ],
)
def test_a_mistyped_command_is_told_what_was_meant(text: str, meant: str) -> None:
    command = parse(text)
    assert (command.meant if command else "") == meant


def test_an_answer_offers_what_was_meant() -> None:
    assert unknown("compct", "/compact now") == "I do not know /compct. Did you mean /compact now?"
    assert len(unknown("compct", "/compact " + "x" * 5_000)) < 300
    assert "/new starts afresh" in unknown("quit")


def test_an_unknown_command_is_answered_with_where_to_look() -> None:
    assert unknown("frobnicate") == "I do not know /frobnicate. /help lists what I know."
    assert "/help" in hello()


OPTIONS: dict[str, Any] = {
    "restraint": Restraint(), "last": None, "taken_back": False, "automatic": True, "ahead": False, "freed": None,
}  # fmt: skip


def context(meter: Meter, **more: Any) -> list[str]:
    strategy = Reset(ResetOptions(warning=more.pop("warning", 0.75)))
    options: dict[str, Any] = {**OPTIONS, **more}
    return context_text(meter, strategy, **options).splitlines()


def test_what_is_over_its_limit_is_explained() -> None:
    assert OVER in context(full(1_050))
    assert OVER_AND_LEFT in context(full(1_050), automatic=False)
    assert OVER not in context(full(1_000))
    undone = undone_text("reset", full(500), full(1_050), Level.CRITICAL)
    assert undone == (
        "Took the last compaction back: 500 → 1,050 tokens (105%). That is over its limit, which leaves room for an "
        "answer: I compact again before the next one."
    )


def test_where_only_the_local_model_would_write_summaries_it_is_said_of_strategies_that_want_them() -> None:
    names = sorted(STRATEGIES)
    told = {name: NO_SUMMARIES in strategy_text(name, names, chosen=True, by_local_model=True) for name in names}
    assert {name for name, is_told in told.items() if not is_told} == {"memory", "monologue"}
    assert NO_SUMMARIES not in strategy_text("reset", names, chosen=True)


def test_the_context_is_shown_with_all_its_parts_and_where_the_number_is_from() -> None:
    meter = Meter.of([Part("system prompt", 100), Part("tools", 0), Part("conversation", 7_400)], limit=10_000)
    assert context(meter) == [
        "Context: 7,500 of 10,000 tokens (75%), level warning",
        "▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░░",
        "· system prompt: 100",
        "· conversation: 7,400",
        "Source: estimated",
        "Automatic compaction: at 75%",
        "Last compaction: none yet",
    ]


@pytest.mark.parametrize(
    ("bound", "line"),
    [
        (Bound(16_384, 11_796), "Window of small: 16,384 tokens, 25% of it used; the limit leaves room for an answer"),
        (
            Bound(16_384, 11_796, chosen=8_000),
            "Window of small: 16,384 tokens, 25% of it used; AGENTS__EMERGENCY_CONTEXT_LIMIT sets the limit",
        ),
        (Bound(200_000, 185_808, known=False), "Window of small: not known"),
        (
            Bound(200_000, 185_808, chosen=8_000, known=False),
            "Window of small: not known; AGENTS__EMERGENCY_CONTEXT_LIMIT sets the limit",
        ),
    ],
)
def test_whose_window_it_is_is_said_with_its_size_and_how_much_of_it_is_used(bound: Bound, line: str) -> None:
    window = window_text(Link(ScriptedModel(), "small"), bound, 4_096)
    assert window == line
    assert context(full(500), window=window)[2] == line


@pytest.mark.parametrize(("total", "filled"), [(0, 0), (10, 0), (500, 10), (1_000, 20), (9_000, 20)])
def test_the_bar_is_never_longer_than_itself(total: int, filled: int) -> None:
    assert context(full(total))[1] == "▓" * filled + "░" * (20 - filled)


def test_a_meter_that_rests_on_usage_says_so() -> None:
    told = context(Meter.anchored(5, [Part("conversation", 5)], limit=9))
    assert "Source: counted by the provider" in told
    assert told[2:4] == ["Of it, about:", "· conversation: 5"], "only the total is counted"


@pytest.mark.parametrize(
    ("restraint", "warning", "line"),
    [
        (Restraint(), 0, "Automatic compaction: off"),
        (Restraint(), 1, "Automatic compaction: off"),
        (
            Restraint(paused=True),
            0.6,
            "Automatic compaction: paused by /undo until the level is critical or the next /compact",
        ),
        (Restraint(cooldown=2), 0.6, "Automatic compaction: resting for 2 more messages"),
        (Restraint(), 0.6, "Automatic compaction: at 60%"),
    ],
)
def test_what_holds_automatic_compaction_back_is_said(restraint: Restraint, warning: float, line: str) -> None:
    assert line in context(full(10), restraint=restraint, warning=warning)


def test_automatic_compaction_begins_where_the_strategys_own_levels_begin() -> None:
    meter = full(10)
    assert "Automatic compaction: at 60%" in context_text(meter, Tiered(), **OPTIONS).splitlines()
    off = TwoPhase(TwoPhaseOptions(enabled=False))
    assert "Automatic compaction: off" in context_text(meter, off, **OPTIONS)
    assert "Automatic compaction: off" in context(meter, automatic=False)


def test_from_where_on_it_compacts_after_an_answer_is_told_where_that_is_earlier() -> None:
    ahead = {**OPTIONS, "ahead": True}
    assert "Automatic compaction: at 75%, after an answer from 70%" in context(full(10), ahead=True)
    assert "Automatic compaction: at 60%" in context_text(full(10), Tiered(), **ahead).splitlines()
    assert "Automatic compaction: at 80%" in context_text(full(10), Segmented(), **ahead).splitlines()


def test_what_a_compaction_would_free_now_is_told() -> None:
    assert context(full(800), freed=600)[-1] == "/compact now: would free about 600 tokens (75%) by reset"
    assert context(full(800), freed=0)[-1] == "/compact now: would free nothing by reset"


def test_the_strategy_is_shown_marked_among_the_others_there_are() -> None:
    lines = strategy_text("reset", sorted(STRATEGIES), chosen=False).splitlines()
    assert lines[0] == "I compact this conversation by: reset."
    assert {line.split(":")[0] for line in lines[1:]} == {
        f"/strategy {name}{' (in use)' if name == 'reset' else ''}" for name in (*STRATEGIES, "default")
    }
    assert "/strategy reset (in use): everything summarised; the summary and the latest request stay" in lines
    assert "your own" not in "".join(lines)
    assert strategy_text("tiered", ["tiered"], chosen=True).startswith("From the next compaction on: tiered.")
    assert "/strategy mine: your own" in strategy_text("tiered", ["tiered", "mine"], chosen=True)
    assert unknown_strategy("x" * 99, ["a", "b"]) == f"There is no strategy {'x' * 40!r}. There is: a, b, default."


def test_the_last_compaction_is_told_with_its_effect_or_its_reason() -> None:
    assert context(full(10), last=a_run(state=RunState.DONE))[-1] == (
        "Last compaction: done (auto, reset), 900 → 120 tokens"
    )
    assert context(full(10), last=a_run(state=RunState.DONE), taken_back=True)[-1] == (
        "Last compaction: done and taken back (auto, reset), 900 → 120 tokens"
    )
    failed = a_run(state=RunState.FAILED, meter_after=None, reason="no worker answered")
    assert context(full(10), last=failed)[-1] == "Last compaction: failed (auto, reset), no worker answered"
    running = a_run(state=RunState.RUNNING, meter_after=None)
    assert context(full(10), last=running)[-1] == "Last compaction: running (auto, reset)"
