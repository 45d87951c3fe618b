"""docs/commands.md and the README name the commands that there are."""

from __future__ import annotations

import re

import pytest

from bot.agent.commands.table import SPECS, TABLE, Who
from scripts.commands import PAGE, made, page
from tests.docs.pages import ROOT


def test_the_table_of_the_page_is_the_one_that_the_commands_make() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text), "`make docs` writes it anew"


def test_every_command_that_everybody_may_give_has_a_row_and_no_other() -> None:
    rows = re.findall(r"(?m)^\| `/([a-z]+)", made())
    assert rows == [spec.name for spec in TABLE if spec.who is Who.EVERYBODY]


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="between its two comments"):
        page("# Commands\n\nNo table.\n")


def test_the_readme_names_commands_that_there_are() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n## Commands in the chat\n")[2].partition("\n## ")[0]
    named = re.findall(r"(?m)^\| `/([a-z]+)`", section)
    assert named
    assert set(named) <= SPECS.keys()
