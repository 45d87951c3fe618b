"""docs/cli.md names every command, and each of its examples is one that the program takes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from bot import __version__
from bot.app.cli.main import app

PAGE = (Path(__file__).parents[4] / "docs" / "cli.md").read_text(encoding="utf-8")
EXAMPLES = [line.removeprefix("$ palimpsest ") for line in PAGE.splitlines() if line.startswith("$ palimpsest ")]


def commands(group: Any, above: str = "") -> Iterator[str]:
    """The names of all commands below this one."""
    for name, command in getattr(group, "commands", {}).items():
        yield f"{above}{name}"
        yield from commands(command, f"{above}{name} ")


def test_every_command_is_on_the_page() -> None:
    names = list(commands(typer.main.get_command(app)))
    assert len(names) > 20
    assert [name for name in names if f"palimpsest {name}" not in PAGE] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_call_that_the_program_takes(example: str) -> None:
    words, command = shlex.split(example), typer.main.get_command(app)
    while subcommands := getattr(command, "commands", None):
        command = subcommands[words.pop(0)]
    command.make_context("palimpsest", words)


def test_the_version_is_said() -> None:
    said = CliRunner().invoke(app, ["--version"])
    assert (said.exit_code, said.stdout) == (0, f"palimpsest {__version__}\n")


@pytest.mark.parametrize("words", [[], ["run"], ["chat"], ["agents"], ["agents", "list"], ["traces", "list"]])
def test_what_takes_no_value_is_shown_without_one(words: list[str]) -> None:
    said = CliRunner().invoke(app, [*words, "--help"])
    assert said.exit_code == 0
    assert "--help" in said.stdout
    assert "bool" not in said.stdout


def test_what_takes_a_value_is_shown_with_it() -> None:
    assert "<int>" in CliRunner().invoke(app, ["run", "--help"]).stdout.replace("<int range>", "<int>")


def test_alone_without_a_terminal_it_says_how_one_thing_is_asked() -> None:
    said = CliRunner().invoke(app, [], input="hi\n")
    assert said.exit_code == 2
    assert '`palimpsest chat -p "…"` asks one thing' in said.stderr


@pytest.mark.parametrize(
    ("words", "option"),
    [(["--agent", "two"], "--agent"), (["--agent=two"], "--agent"), (["-p", "hi"], "-p"), (["-phi"], "-p")],
)
def test_an_option_of_chat_without_chat_is_told_where_it_goes(words: list[str], option: str) -> None:
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 2
    told = " ".join(said.stderr.replace("│", " ").split())
    assert f"No such option: {option}. Write `palimpsest chat {option} …`." in told


@pytest.mark.parametrize("words", [["--nonsense"], ["--role", "worker"], ["agents", "--agent", "two"]])
def test_an_option_that_chat_does_not_know_or_that_stands_elsewhere_is_not_sent_there(words: list[str]) -> None:
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 2
    assert "No such option" in said.stderr
    assert "palimpsest chat" not in said.stderr


def test_a_backup_without_a_name_is_refused_with_an_example() -> None:
    said = CliRunner().invoke(app, ["backup"])
    assert said.exit_code == 2
    assert "`palimpsest backup backup.tar.gz`" in " ".join(said.stderr.replace("│", " ").split())
