"""Markdown on Discord, in its own dialect."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.text import for_discord
from tests.unit.connectors.text.test_telegram import HOSTILE
from tests.unit.discord_reader import read

BETWEEN = "\N{ZERO WIDTH SPACE}"


@pytest.mark.parametrize(
    ("markdown", "written"),
    [
        ("**bold** *italic* ~~gone~~ `code`", "**bold** *italic* ~~gone~~ `code`"),
        ("__bold__ _italic_", "**bold** *italic*"),
        ("# One\n### Three\n#### Four", "# One\n### Three\n**Four**"),
        ("- a\n  - b\n- c", "- a\n  - b\n- c"),
        ("1. a\n   1. b\n2. c", "1. a\n   1. b\n2. c"),
        ("- [ ] todo\n- [x] done", "- ☐ todo\n- ☑ done"),
        ("> a\n> b\n\nc", "> a\n> b\n\nc"),
        ("```python\nx = 'a_b*c'\n```", "```python\nx = 'a_b*c'\n```"),
        ("| a | b |\n|---|---|\n| 1 | 22 |", "```\na │ b\n──┼───\n1 │ 22\n```"),
        ("[text](https://example.org/a_(b))", "[text](https://example.org/a_%28b%29)"),
        ("![picture](https://example.org/x.png)", "[picture](https://example.org/x.png)"),
        ("[text](mailto:a@example.org)", "text (mailto:a@example.org)"),
        ("[example.org](ftp://example.org)", "example.org (ftp://example.org)"),
        ("<https://example.org/a_b_>", "https://example.org/a_b_"),
        ("https://example.org/_a_b?c=*d", "https://example.org/_a_b?c= \\*d"),
        ("a\n\n***\n\nb", "a\n\n────────────\n\nb"),
        ("*a***b**", f"*a*{BETWEEN}**b**"),
    ],
)
def test_a_construct_becomes(markdown: str, written: str) -> None:
    assert for_discord(markdown) == [written]


@pytest.mark.parametrize(
    ("markdown", "written"),
    [
        ("snake_case_name", "snake_case_name"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("~5 and ~6", "~5 and ~6"),
        ("a | b", "a | b"),
        ("@everyone (x) [y] #tag 1) C:\\temp", "@everyone (x) [y] #tag 1) C:\\temp"),
        ("|| spoiler ||", "\\|\\| spoiler \\|\\|"),
        ("<@123> <#12> <:emoji:1> <t:0>", "\\<@123> \\<#12> \\<:emoji:1> \\<t:0>"),
        ("\\*not italic\\*", "\\*not italic\\*"),
        ("\\# no heading", "\\# no heading"),
        ("1\\. no list", "1\\. no list"),
        ("\\> no quote", "\\> no quote"),
        ("-# not small", "\\-# not small"),
        ("\\_\\_init\\_\\_", "\\_\\_init\\_\\_"),
        ("\\[x](http\\://example.org)", f"\\[x]{BETWEEN}(http\\://example.org)"),
        ("¯\\\\\\_(ツ)\\_/¯", "¯\\\\\\_(ツ)\\_/¯"),
    ],
)
def test_what_was_literal_stays_so_without_needless_backslashes(markdown: str, written: str) -> None:
    assert for_discord(markdown) == [written]
    assert {kind for kind, _ in read(written).marks} == set()


def test_backticks_in_code_do_not_end_it() -> None:
    assert read(for_discord("````\n```\nx\n```\n````")[0]).marks == [
        ("code block", f"`{BETWEEN}`{BETWEEN}`\nx\n`{BETWEEN}`{BETWEEN}`")
    ]
    assert for_discord("`` a`b ``") == ["``a`b``"]


def test_a_cut_closes_and_reopens_styles_and_code() -> None:
    code = "\n".join(f"    line_{number}" for number in range(60))
    messages = for_discord(f"**{'bold * words ' * 40}end**\n\n```py\n{code}\n```", 300)

    assert all(len(message) <= 300 for message in messages)
    assert messages[0].startswith("**bold \\* words")
    assert messages[0].endswith("**")
    assert all(message.endswith("\n```") for message in messages if message.startswith("```py\n    line_"))
    assert sum(message.startswith("```py\n    line_") for message in messages) > 2


@pytest.mark.parametrize("nothing", ["", " \n", "\u200b", "```\n```"])
def test_what_shows_nothing_makes_no_message(nothing: str) -> None:
    assert for_discord(nothing) == []


@given(st.text(st.sampled_from("ab \n*_`~[]()>|#-+1.\\<@&;:/!x👍\u0301"), max_size=120), st.integers(60, 200))
@example("a*" * 200, 60)
@example("[a](https://e.org/b)" * 20, 60)
def test_any_text_makes_messages_within_the_limit(text: str, limit: int) -> None:
    for message in for_discord(text, limit):
        assert 0 < len(message) <= limit
        assert message == message.strip()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_takes_no_more_time_than_its_length_allows(name: str) -> None:
    before = time.process_time()

    assert all(len(message) <= 2000 for message in for_discord(HOSTILE[name]))
    assert time.process_time() - before < 5
