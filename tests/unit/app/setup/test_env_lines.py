"""What a `.env` is after a change: as somebody would have changed it by hand."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from dotenv import dotenv_values
from hypothesis import given
from hypothesis import strategies as st

from bot.app.setup.env_lines import TAKEN_OUT, changed, names_in

BY_HAND = """# Mine. Do not touch.

export MODEL=claude  # the good one
  telegram_token = "1:old" # of the first bot
UNKNOWN='a b
c'
broken line

# ANTHROPIC_API_KEY=put-it-here
LAST=1"""


def values(text: str) -> dict[str, str | None]:
    return dict(dotenv_values(stream=io.StringIO(text), interpolate=False))


def test_a_value_is_changed_in_its_place_and_all_else_stays() -> None:
    assert changed(BY_HAND, {"MODEL": "openai/gpt", "TELEGRAM_TOKEN": "2:new"}) == BY_HAND.replace(
        "=claude ", "=openai/gpt "
    ).replace('"1:old"', "2:new")


def test_what_is_new_stands_below_its_example_or_at_the_end_below_its_heading() -> None:
    text = changed(BY_HAND, {"ANTHROPIC_API_KEY": "sk-1", "DISCORD_TOKEN": "a.b.c"}, heading="Discord")
    assert text == (
        BY_HAND.replace("put-it-here\n", "put-it-here\nANTHROPIC_API_KEY=sk-1\n")
        + "\n\n# Discord\nDISCORD_TOKEN=a.b.c\n"
    )


def test_what_is_set_aside_is_a_comment() -> None:
    text = changed(BY_HAND, {"MODEL": None, "UNKNOWN": None, "NOWHERE": None})
    assert "# export MODEL=claude  # the good one\n" in text
    assert "# UNKNOWN='a b\n# c'\n" in text
    assert names_in(text) == {"TELEGRAM_TOKEN", "LAST"}


def test_a_secret_that_is_taken_out_is_nowhere_any_more_and_a_new_one_finds_its_place() -> None:
    before = "TOKEN=1:first # mine\n# TOKEN=1:older\ntoken='1:\nlast'\nMODEL=a # 1\n"
    after = changed(before, {"TOKEN": TAKEN_OUT})
    assert after == "# TOKEN= # mine\n# TOKEN=\n# token=\nMODEL=a # 1\n"
    assert changed(after, {"TOKEN": "2:new"}) == after.replace("# token=\n", "# token=\nTOKEN=2:new\n")
    assert changed("MODEL=a\n", {"TOKEN": TAKEN_OUT}) == "MODEL=a\n"


def test_of_a_name_that_is_set_twice_the_one_that_counts_is_changed() -> None:
    assert changed("A=1\nA=2\n", {"A": "3"}) == "A=1\nA=3\n"


def test_lines_end_as_the_others_do() -> None:
    assert changed("A=1\r\n", {"A": "2", "B": "3"}, heading="More") == "A=2\r\n\r\n# More\r\nB=3\r\n"


def test_nothing_becomes_the_first_line() -> None:
    assert changed("", {"A": "1", "B": "2"}, heading="Both") == "# Both\nA=1\nB=2\n"


@pytest.mark.parametrize("value", ["a b", "it's", "back\\slash", "# no comment", "", 'say "hi"', "a#b", "1:A-_b/c="])
def test_any_value_is_read_as_it_was_given(value: str) -> None:
    assert values(changed(BY_HAND, {"LAST": value}))["LAST"] == value


LINES = st.sampled_from(
    [
        "A=1",
        "a = 'x y'",
        'B="two\nlines"',
        "# A=old",
        "export C=3 # why",
        "",
        "   ",
        "no line",
        "D",
        "E='open",
        "# ",
        "F=#",
    ]
)


@given(st.lists(LINES), st.dictionaries(st.sampled_from("ABCDF"), st.text("ab'\\ #=\"", max_size=6) | st.none()))
def test_whatever_stands_there_each_value_is_set_and_the_others_are_as_they_were(
    lines: list[str], changes: dict[str, str | None]
) -> None:
    before = "\n".join(lines)
    after = changed(before, changes)
    was = {name.upper(): value for name, value in values(before).items()}
    found = {name.upper(): value for name, value in values(after).items()}
    if "'open" not in before:  # nothing is written to a file that cannot be read
        assert {name: found.get(name) for name in changes} == changes
        assert {k: v for k, v in found.items() if k not in changes} == {
            k: v for k, v in was.items() if k not in changes
        }
        assert changed(after, changes) == after


def test_the_example_that_is_copied_stays_whole(tmp_path: Path) -> None:
    example = (Path(__file__).parents[4] / ".env.example").read_text(encoding="utf-8")
    text = changed(example, {"MODEL": "ollama/qwen", "ADMINS": "telegram:1"})
    assert set(example.splitlines()) <= set(text.splitlines())
    assert values(text) == {"MODEL": "ollama/qwen", "ADMINS": "telegram:1"}
