"""docs/configuration.md is what the settings and `.env.example` make of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from bot.runtime.settings import Settings
from scripts.configuration import EXAMPLE, NEEDED_BY, PAGE, kinds, needed_by, page, sections, value_of

EXTRA = """\
# --- More ---
# It holds for all.

# A file | folder <of yours>, or "*", as /help says; see docs/cost.md and MODEL.
# MCP_CONFIG=
"""


def test_the_page_is_the_one_that_the_settings_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(EXAMPLE.read_text(encoding="utf-8")), "`make docs` writes it anew"


def test_every_setting_has_one_row() -> None:
    rows = re.findall(r"(?m)^\| `([A-Z0-9_]+)` \|", PAGE.read_text(encoding="utf-8"))
    assert sorted(rows) == sorted(kinds())
    assert "RETENTION__SETTLED_DAYS" in rows


def test_a_new_section_comes_onto_the_page_by_itself_and_nothing_in_it_is_taken_for_markup() -> None:
    more = page(EXAMPLE.read_text(encoding="utf-8") + "\n" + EXTRA)
    assert "## More\n\nIt holds for all.\n" in more
    row = more.splitlines()[-1]
    assert row.startswith('| `MCP_CONFIG` | — | path | agents | A file \\| folder \\<of yours\\>, or "\\*", as `/help`')
    assert row.endswith("see [cost](cost.md) and `MODEL`. |")


@pytest.mark.parametrize("broken", ["# --- More ---\n\n# A sentence alone.\n", "# --- More ---\n\n# NAME=\n"])
def test_a_setting_without_a_sentence_and_a_sentence_without_a_setting_are_refused(broken: str) -> None:
    with pytest.raises(ValueError, match="a sentence and a setting"):
        sections(broken)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (bool, "`true`, `false`"),
        (int | None, "whole number"),
        (float, "number"),
        (SecretStr | None, "text, secret"),
        (Path | None, "path"),
        (Literal["a", "b"], "`a`, `b`"),
        (tuple[str, ...], "JSON list"),
    ],
)
def test_what_a_value_may_be_is_said_in_words(kind: object, words: str) -> None:
    assert value_of(kind) == words


def test_bounds_are_part_of_what_a_value_may_be() -> None:
    def of(name: str) -> str:
        field: FieldInfo = Settings.model_fields[name]
        return value_of(field.annotation, field.metadata)

    assert of("model_calls") == "whole number, more than 0"
    assert of("shutdown_seconds") == "number, 0 or more"
    assert of("admins") == "list, with commas"


def test_a_kind_of_value_without_words_is_an_error_that_says_where_to_put_them() -> None:
    with pytest.raises(TypeError, match=r"scripts/configuration\.py"):
        value_of(bytes)


def test_who_needs_a_setting_is_said_by_its_whole_name_or_the_longest_beginning() -> None:
    assert needed_by("MODEL") == "agents, worker"
    assert needed_by("TELEGRAM_TOKEN") == "gateway"
    assert needed_by("STRATEGY__RESET__KEEP_EXCHANGE_SHARE") == "agents"
    assert needed_by("SOMETHING_NEW") == "all"


def test_no_role_is_said_of_a_setting_that_there_is_not() -> None:
    names = list(kinds())
    assert [
        key
        for key in NEEDED_BY
        if not any(name.startswith(key) if key.endswith("_") else name == key for name in names)
    ] == []
