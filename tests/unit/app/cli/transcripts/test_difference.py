"""What people read of a compaction, message by message."""

from __future__ import annotations

from typing import Any

from bot.app.cli.transcripts.difference import MOST_LINES, Sign, lines_of
from bot.compaction import compact_history
from tests.unit.by_hand import Oldest, assistant, talk, user
from tests.unit.entries import call, result


def lines(messages: list[dict[str, Any]], **arguments: Any) -> list[tuple[Sign, str]]:
    return lines_of(messages, compact_history(messages, **arguments).page)


def test_what_is_gone_stands_where_it_was_and_what_stayed_is_counted() -> None:
    signs = [(sign, " ".join(line.split())[:16]) for sign, line in lines(talk(2))]
    assert signs == [
        ("-", "1 Assistant: I t"),
        ("-", "2 Tool result: s"),
        ("-", "3 Assistant: Let"),
        ("~", "0–4 User: Questi"),
        ("=", "7 unchanged"),
    ]


def test_what_is_new_and_what_it_was_put_before_are_one_changed_message() -> None:
    messages = [user("the price is 4711"), assistant("noted " * 30), user("and now?"), assistant("so")]
    said = lines(messages, strategy=Oldest(), wants_summary=True, summary="The price is 4711.")
    assert [sign for sign, _ in said] == ["-", "-", "~", "="]
    assert said[2][1].split() == ["2", "User:", "The", "price", "is", "4711.", "User:", "and", "now?"]


def test_a_message_of_its_own_is_inserted() -> None:
    messages = [user("q " * 40), assistant("noted " * 30), assistant("so")]
    said = lines(messages, strategy=Oldest(), wants_summary=True, summary="It is 4711.")
    assert said[2] == ("+", "      new  User: It is 4711.")


def test_messages_that_became_one_are_named_together() -> None:
    looking = assistant("long " * 40, call("x"))
    results = [user("q"), looking, {"role": "user", "content": [result("x")]}, user("r")]
    said = lines(results, strategy="monologue")
    assert [(sign, line.split()[0]) for sign, line in said] == [("-", "1"), ("~", "0–3")]


def test_a_long_run_is_shortened_in_its_middle_and_the_whole_is_bounded() -> None:
    messages = [user("q " * 9) if at % 2 == 0 else assistant("a " * 9) for at in range(100)]
    said = lines(messages, strategy=Oldest(), count=90)
    assert [sign for sign, _ in said] == ["-"] * 9 + ["="]
    assert said[6][1].split() == ["…", "82", "more"]
    assert [said[at][1].split()[0] for at in (0, 5, 7, 8)] == ["0", "5", "88", "89"]
    many = lines(talk(60))
    assert len(many) == MOST_LINES + 1
    assert many[-1][1].endswith("lines more")


def test_nothing_that_a_terminal_would_obey_is_shown() -> None:
    messages = [user("\x1b[31m\x07red\r\n\u202egreen" + "x" * 200), assistant("a " * 20), user("b")]
    (_, line), *_ = lines(messages, strategy=Oldest())
    assert line.isprintable()
    assert len(line) < 100
    assert line.endswith("…")


def test_a_message_without_a_word_is_shown_by_its_role() -> None:
    thought = {"type": "thinking", "thinking": "so " * 30}
    assert lines([user("a"), assistant(thought), user("b")], strategy=Oldest())[1][1].split() == ["1", "Assistant"]
