"""The table of commands: every row is whole, and what people are offered elsewhere is a command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import bot.page
from bot.agent.commands.arguments import ABOUT_STRATEGIES
from bot.agent.commands.handlers import CommandHandlers
from bot.agent.commands.parsing import Command, parse
from bot.agent.commands.table import SPECS, TABLE, Who, completions, offered, urgent
from bot.compaction import STRATEGIES, notices
from bot.connector import CommandField
from bot.messages import ABORT_ANSWER, ABORT_COMPACTION
from bot.page.conversation import _COMMANDS

_TEMPLATES = Path(str(bot.page.__file__)).parent / "templates"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
"""What Telegram and Discord take, and the parser."""
_LONGEST = 100
"""What Discord shows of a line."""


def test_every_row_has_a_handler_and_every_handler_a_row() -> None:
    assert CommandHandlers.BY_NAME.keys() == {spec.name for spec in TABLE}


def test_no_two_commands_have_the_same_name() -> None:
    assert len(SPECS) == sum(1 + len(spec.synonyms) + len(spec.understood) for spec in TABLE)


@pytest.mark.parametrize("word", SPECS)
def test_every_name_and_synonym_is_read_as_its_command(word: str) -> None:
    spec = SPECS[word]
    assert parse(f"/{word.upper()}@bot x") == Command(spec.name, "x", known=spec.who is Who.EVERYBODY)


def test_what_is_offered_fits_into_every_menu() -> None:
    lines: Mapping[str, str] = {
        **{command.name: command.about for command in offered()},
        **{field.name: field.about for command in offered() for field in command.fields},
    }
    assert not [name for name in lines if not _NAME.fullmatch(name)]
    assert not [line for line in lines.values() if not 0 < len(line) <= _LONGEST]


def test_what_admins_alone_may_do_is_offered_to_nobody() -> None:
    names = {command.name for command in offered()}
    offered_words = {word for spec in TABLE for word in (spec.name, *spec.synonyms) if spec.who is Who.EVERYBODY}
    assert names == offered_words
    assert "pair" not in names


def test_what_buttons_say_are_commands() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in _TEMPLATES.glob("*.html"))
    buttons = [
        ABORT_COMPACTION,
        ABORT_ANSWER,
        notices.undo("run").command,
        *re.findall(r'value="(/[a-z][^"]*)"', pages),
    ]
    assert "/compact" in buttons
    for said in buttons:
        command = parse(said)
        assert command, said
        assert command.known, said


def test_what_the_page_of_a_conversation_orders_are_commands() -> None:
    assert set(_COMMANDS) <= {command.name for command in offered()}


def test_what_is_urgent_is_so_by_every_name() -> None:
    assert urgent() == {"/abort", "/stop", "/cancel"}


def test_a_synonym_is_completed_like_its_command() -> None:
    assert completions("/summarize strategy=monologue ke") == completions("/compact strategy=monologue ke") != {}
    assert not completions("compact ")


def test_every_strategy_has_a_line_about_it() -> None:
    assert ABOUT_STRATEGIES.keys() == STRATEGIES.keys()


@pytest.mark.parametrize(
    ("field", "value", "written"),
    [
        (CommandField("name", "…"), "a=b", "a=b"),
        (CommandField("strategy", "…", prefix="strategy="), "tiered", "strategy=tiered"),
        (CommandField("focus", "…", is_words=True), "the prices", "the prices"),
        (CommandField("focus", "…", is_words=True), "x=5", "-- x=5"),
    ],
)
def test_a_field_is_written_as_the_parser_reads_it(field: CommandField, value: str, written: str) -> None:
    assert field.written(value) == written
