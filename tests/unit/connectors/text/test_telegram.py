"""Markdown on Telegram: classic messages by entities, and rich ones."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.text import Entity, Formatted, for_telegram, rich_markdown, utf16_length
from connectors.text.telegram import MOST_ENTITIES
from tests.unit import strict_telegram


def one(markdown: str) -> Formatted:
    """The only message that a text becomes."""
    (message,) = for_telegram(markdown)
    strict_telegram.check(message, 4096)
    return message


def marks(markdown: str) -> list[tuple[str, str]]:
    """Each entity's kind and the text in it."""
    message = one(markdown)
    units = message.text.encode("utf-16-le")
    return [
        (entity.kind, units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le"))
        for entity in message.entities
    ]


def test_styles_become_entities_counted_in_utf16_units() -> None:
    assert one("👍 **bold** and *italic*") == Formatted(
        "👍 bold and italic", (Entity("bold", 3, 4), Entity("italic", 12, 6))
    )


@pytest.mark.parametrize(
    ("markdown", "text", "marked"),
    [
        ("~~gone~~", "gone", [("strikethrough", "gone")]),
        ("`code`", "code", [("code", "code")]),
        ("# Title\ntext", "Title\ntext", [("bold", "Title")]),
        ("### **Bold** title", "Bold title", [("bold", "Bold title")]),
        ("***both***", "both", [("italic", "both"), ("bold", "both")]),
        ("[text](https://example.org/)", "text", [("text_link", "text")]),
        ("![a picture](https://example.org/x.png)", "a picture", [("text_link", "a picture")]),
        ("![](https://example.org/x.png)", "https://example.org/x.png", []),
        ("[![badge](https://a.org/b)](https://c.org/d)", "badge", [("text_link", "badge")]),
        ("[here](http://localhost:8000)", "here (http://localhost:8000)", []),
        ("[here](/docs)", "here (/docs)", []),
        ("<https://example.org/a_b_c>", "https://example.org/a_b_c", []),
        ("https://example.org/_a_?b=*c", "https://example.org/_a_?b=*c", []),
        ("> quoted\n> more", "quoted\nmore", [("blockquote", "quoted\nmore")]),
        ("> a\n> > b", "a\nb", [("blockquote", "a\nb")]),
        ("one\ntwo  \nthree", "one\ntwo\nthree", []),
        ("a\n\n\n\nb", "a\n\nb", []),
        ("- a\n- b\n  - c", "• a\n• b\n    • c", []),
        ("9. a\n10. b", "9. a\n10. b", []),
        ("- [ ] todo\n- [x] done", "☐ todo\n☑ done", []),
        ("a\n\n---\n\nb", "a\n\n────────────\n\nb", []),
        ("<b>x</b> &lt; &amp;", "<b>x</b> < &", []),
        ("snake_case_name 2 * 3", "snake_case_name 2 * 3", []),
        ("```\n\n    x = 1\n```", "    x = 1", [("pre", "    x = 1")]),
        ("** not bold**", "** not bold**", []),
        ("**use `x` now**", "use x now", [("bold", "use"), ("code", "x"), ("bold", "now")]),
        ("[`f()`](https://example.org/)", "f()", [("text_link", "f()")]),
        ("> see `x`", "see x", [("blockquote", "see x")]),
        ("> a\n> ```\n> b\n> ```\n> c", "a\nb\nc", [("blockquote", "a"), ("pre", "b"), ("blockquote", "c")]),
        ("half \ud83d of it\x07", "half \ufffd of it", []),
    ],
)
def test_a_construct_becomes(markdown: str, text: str, marked: list[tuple[str, str]]) -> None:
    assert one(markdown).text == text
    assert sorted(marks(markdown)) == sorted(marked)


def test_code_has_its_language_and_spaces_for_tabs() -> None:
    assert one("```python title\nif x:\n\ty()\n```") == Formatted(
        "if x:\n    y()", (Entity("pre", 0, 13, language="python"),)
    )


def test_a_table_is_drawn_in_columns_as_wide_as_they_look() -> None:
    message = one("| name | n |\n|:--|--:|\n| 日本 | 1 |\n| `x` **y** | 100 |")

    assert message.text == "name │   n\n─────┼────\n日本 │   1\nx y  │ 100"
    assert [entity.kind for entity in message.entities] == ["pre"]


@pytest.mark.parametrize("nothing", ["", " \n\t ", "\u200b", "```\n```", "\x00\x1b", "# ", "\u2800\ufe0f"])
def test_what_shows_nothing_makes_no_message(nothing: str) -> None:
    assert for_telegram(nothing) == []


def test_a_cut_closes_and_reopens_what_is_marked() -> None:
    code = "\n".join(f"    line_{number} = {number}" for number in range(40))
    messages = for_telegram(f"**{'bold words ' * 30}end**\n\n```python\n{code}\n```", 300)

    for message in messages:
        strict_telegram.check(message, 300)
    assert {entity.kind for entity in messages[0].entities} == {"bold"}
    codes = [message for message in messages if message.entities[0].kind == "pre"]
    assert len(codes) > 1
    assert all(message.entities[0].language == "python" for message in codes)
    assert all(message.text.startswith("    line_") for message in codes)


def test_a_cut_goes_around_a_link() -> None:
    messages = for_telegram("word " * 17 + "[a label of some words](https://example.org/) and more", 100)

    assert messages[1].text.startswith("a label of some words and")


def test_at_most_a_hundred_entities_are_left_and_they_are_the_important_ones() -> None:
    text = "*i* " * 150 + "[link](https://example.org/) " * 20 + "\n```\ncode\n```"
    kinds = [entity.kind for entity in one(text).entities]

    assert len(kinds) == MOST_ENTITIES
    assert kinds.count("text_link") == 20
    assert kinds.count("pre") == 1


@given(st.text(st.sampled_from("ab \n*_`~[]()>|#-+1.\\<&;:/!x\t👍\u0301"), max_size=120), st.integers(20, 200))
@example("[a](https://e.org/b)" * 20, 20)
@example("```\n" + "x" * 100, 20)
def test_any_text_makes_messages_that_telegram_takes(text: str, limit: int) -> None:
    for message in for_telegram(text, limit):
        strict_telegram.check(message, limit)


GROWING = """\
# Title

Some **bold** text, [a link](https://example.org/x).

| a | b |
|---|---|
| 1 | 2 |

```python
x = 1
```
"""


def test_a_growing_reply_always_shows_something_sensible() -> None:
    shown = ["".join(message.text for message in for_telegram(GROWING[:end])) for end in range(3, len(GROWING))]

    assert all(shown)
    # What goes is markup that is whole now: a link's address, the line under a table's first row, a fence.
    assert all(len(after) > len(before) - 30 for before, after in pairwise(shown))


HOSTILE = {
    "stars": "*" * 10_000,
    "brackets": "[" * 10_000,
    "images": "![" * 5_000,
    "half links": "[a](" * 10_000,
    "quotes": "> " * 1_000 + "deep",
    "quoted lines": (">" * 60 + " x\n") * 300,
    "lists": "- " * 5_000 + "deep",
    "nested lists": "".join("  " * depth + "- a\n" for depth in range(300)),
    "a long line": "x" * 100_000,
    "words": "word " * 20_000,
    "emphasis": "*a **b " * 5_000,
    "backticks": "".join("`" * length + " " for length in range(300)),
    "fences": "```\n" * 10_000,
    "tables": "|a|b|\n|-|-|\n" + "|1|2|\n" * 5_000,
    "a wide cell": "|a|b|\n|-|-|\n" + f"|{'x' * 10_000}|y|\n" + "|1|2|\n" * 2_000,
    "addresses": "http://" * 10_000 + "." * 10_000,
    "references": "".join(f"[a{number}]: http://x.org\n" for number in range(5_000)),
    "joined emoji": "👨\u200d" * 20_000,
    "marks": "e" + "\u0301" * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_takes_no_more_time_than_its_length_allows(name: str) -> None:
    before = time.process_time()
    messages = for_telegram(HOSTILE[name])

    assert time.process_time() - before < 5
    for message in messages:
        strict_telegram.check(message, 4096)


def test_what_is_nested_too_deep_is_not_lost() -> None:
    assert "deep" in for_telegram(HOSTILE["quotes"])[-1].text
    assert "deep" in for_telegram(HOSTILE["lists"])[-1].text


def test_only_a_table_needs_a_rich_message() -> None:
    assert rich_markdown("# Title\n\n**bold**\n\n- list") is None
    assert rich_markdown("|a|b|\n|-|:-:|\n|1|**2**|") == "| a | b |\n| :--- | :---: |\n| 1 | **2** |"


def test_a_rich_message_has_no_markup_but_what_the_reply_means() -> None:
    written = rich_markdown("|a|\n|-|\n|`x\\|y`|\n\n$5 ==x== ||y|| [^1] <u>z</u> $x$ a_b [l](http://localhost)\n# b")

    assert written == (
        "| a |\n| :--- |\n| `x\\|y` |\n\n"
        "\\$5 \\=\\=x\\=\\= \\|\\|y\\|\\| \\[\\^1\\] \\<u\\>z\\</u\\> \\$x\\$ a\\_b l (http://localhost)\n\n# b"
    )


@pytest.mark.parametrize(
    "beyond",
    [
        "x " * 20_000,
        "- a\n" * 600,
        "|" + "a|" * 21 + "\n|" + "-|" * 21,
        "> " * 12 + "***~~[x](https://example.org/)~~***\n",
    ],
)
def test_what_is_beyond_the_limits_of_rich_messages_is_a_classic_one(beyond: str) -> None:
    assert rich_markdown(f"|a|\n|-|\n|1|\n\n{beyond}") is None


@given(st.text(st.sampled_from("ab \n*_`~[]()>|#-+1.$=^\\<&;:/!\t"), max_size=80))
def test_any_text_beside_a_table_makes_a_rich_message(text: str) -> None:
    written = rich_markdown(f"{text}\n\n|a|\n|-|\n|1|\n")

    assert written is None or utf16_length(written) <= 32_768
