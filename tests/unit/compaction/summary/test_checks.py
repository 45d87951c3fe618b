"""A summary is checked: whether it is one, and whether it keeps what it must."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction.summary.checks import EXACT_DETAILS, is_no_summary, missing, must_keep, with_exact_details

NO_SUMMARY = """
No summary.
No summary available.
**No summary**
[no summary]
(no summary text)
Summary: none
There is no summary.
There is nothing to summarize.
There's nothing to summarise yet. The conversation has just begun.
Nothing to compact
No conversation was provided.
No conversation to summarize.
There are no messages to summarize.
The conversation is empty.
N/A
n/a.
None
null
-
I can't summarize this conversation.
I'm sorry, but I can't help with that.
I cannot provide a summary because no messages were given.
Sorry, I am unable to summarize this.
I don't have any conversation to summarize.
<summary></summary>
<summary>No summary available.</summary>
Нет сводки.
Нечего обобщать.
Резюме отсутствует
К сожалению, я не могу составить резюме.
无
暂无摘要
没有可总结的内容
无法总结
抱歉，我无法总结这段对话。
Keine Zusammenfassung.
Es gibt nichts zusammenzufassen.
Sin resumen
No hay nada que resumir.
Aucun résumé.
Rien à résumer
""".strip().splitlines()

SUMMARIES = """
The user asked for a table of prices; none was found.
User wants the empty cells to say N/A.
Ann books a flight to Rome on 3 May.
No summary of chapter 3 was written; Ann asks for one by Friday.
Nothing is broken any more: the deploy works.
I can't log in, says the user; reset link was sent.
There is no summary table on the page, and Bob wants one.
Пользователь просит билет в Рим.
用户想订去罗马的机票。
No, the user does not want insurance.
Nothing to report at 14:05 from /var/log/app.log
Goal: none of the tests may be skipped.
""".strip().splitlines()


@pytest.mark.parametrize("text", ["", "  \n", "---", "###", "** **", "<summary>\n</summary>", "\u200b", *NO_SUMMARY])
def test_an_answer_that_says_nothing_is_no_summary(text: str) -> None:
    assert is_no_summary(text)
    assert is_no_summary(f"## Summary\n\n{text}\n")
    assert is_no_summary(text.upper())


@pytest.mark.parametrize("text", SUMMARIES)
def test_a_short_summary_is_a_summary(text: str) -> None:
    assert not is_no_summary(text)
    assert not is_no_summary(f"## Summary\n\n{text}\n")


@pytest.mark.parametrize("text", NO_SUMMARY)
def test_a_long_summary_that_contains_such_words_is_a_summary(text: str) -> None:
    assert not is_no_summary(f"{text} The user then asked about trains. " + "They compared fares and seats. " * 12)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def tool_result(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}


TALK = [
    user("Please fix src/bot/agent/agent.py. You must never touch the file /etc/palimpsest/secrets.toml. Thanks!"),
    assistant("I will. The ticket is PAL-482, commit 3f78685, see https://example.com/wiki/Agents?x=1."),
    tool_result("read /var/log/syslog/today.log with id 123e4567-e89b-12d3-a456-426614174000, 987654 lines"),
    user("Ask Maria Lopez for the price: it was $1,299.50 on 2026-03-04, within 250 ms, reservation 4WQ150."),
    assistant("She said “Blue Heron”. Also 必须 stays. Write to ann.lee@example.org at 14:05."),
    user("Now tell me the total. 不要删除任何文件。Никогда не используй порт 8080."),
]


@pytest.mark.parametrize(
    "detail",
    [
        "src/bot/agent/agent.py",
        "/etc/palimpsest/secrets.toml",
        "https://example.com/wiki/Agents?x=1",
        "PAL-482",
        "3f78685",
        "$1,299.50",
        "2026-03-04",
        "250 ms",
        "4WQ150",
        "Maria Lopez",
        "Blue Heron",
        "ann.lee@example.org",
        "14:05",
        "8080",
        "You must never touch the file /etc/palimpsest/secrets.toml.",
        "Никогда не используй порт 8080.",
        "/var/log/syslog/today.log",
        "123e4567-e89b-12d3-a456-426614174000",
    ],
)
def test_a_detail_of_the_talk_must_be_kept(detail: str) -> None:
    assert detail in must_keep(TALK)


def test_the_latest_request_comes_first_and_constraints_of_the_user_next() -> None:
    first, second, third, *_ = must_keep(TALK)
    assert first.startswith("Now tell me the total.")
    assert second == "Никогда не используй порт 8080."
    assert third == "不要删除任何文件"


def test_numbers_of_a_tool_result_need_not_be_kept_and_its_paths_come_last() -> None:
    kept = must_keep(TALK)
    assert "987654" not in kept
    assert kept.index("/var/log/syslog/today.log") > kept.index("Maria Lopez")


def test_a_tool_result_is_not_taken_for_the_latest_request() -> None:
    assert must_keep([user("Find the file."), tool_result("found /a/b")])[0] == "Find the file."


def test_the_rules_of_an_operator_are_kept_wherever_they_match() -> None:
    kept = must_keep([*TALK, tool_result("zone=eu-7 ok")], rules=[r"zone=(\S+)", r"Thanks!"])
    assert kept[1:3] == ("eu-7", "Thanks")
    with pytest.raises(re.error):
        must_keep(TALK, rules=["("])


@pytest.mark.parametrize(
    "value",
    ["ORD-55123", "INV-2024-00123", "SN-AB12-CD34-9", "ISO-8859-1", "555-1234", "+49-30-1234567", "ord-55123-b"],
)
def test_no_part_of_a_value_is_a_detail(value: str) -> None:
    assert must_keep([user("And?"), assistant(f"so it is {value}, and")], latest=False) == (value,)


def test_ordinary_words_are_no_details() -> None:
    assert must_keep([assistant("This is fine and/or good. I think it is. The end, as I'm sure you know.")]) == ()


@pytest.mark.parametrize(
    "text", ["I wrote down: Line 7 of our talk is dull.", "As I said, Line 12 comes next.", "you said: Read it again"]
)
def test_a_capital_that_a_number_or_a_sentence_explains_is_no_name(text: str) -> None:
    assert must_keep([user("go on"), assistant(text)], latest=False) == ()


@pytest.mark.parametrize("text", ["The contact: Lovelace.", "contact: Lovelace\nphone: none", "ask Lovelace about it"])
def test_a_name_after_a_colon_or_in_a_sentence_is_one(text: str) -> None:
    assert must_keep([user("go on"), assistant(text)], latest=False) == ("Lovelace",)


words = st.text(alphabet="abcXYZ019 .-_/:@#$\n'\"`“”必须不要Жж", max_size=120)


@given(
    st.lists(
        st.builds(lambda text, by: {"role": by, "content": text}, words, st.sampled_from(["user", "assistant"])),
        max_size=8,
    )
)
def test_what_must_be_kept_is_bounded_unique_and_present(messages: list[dict[str, Any]]) -> None:
    kept = must_keep(messages, limit=10)
    assert len(kept) <= 10
    assert all(0 < len(item) <= 200 for item in kept)
    assert len({item.casefold() for item in kept}) == len(kept)
    whole = "\n".join(message["content"] for message in messages)
    assert missing(whole, kept) == ()


def test_a_long_history_of_long_messages_is_read_in_little_time() -> None:
    hostile = [
        "a/" * 50_000,
        "a_" * 50_000,
        "A1" * 50_000,
        "1." * 50_000,
        "Aa " * 30_000,
        "a@a." * 25_000,
        "'" * 90_000,
    ]
    began = time.perf_counter()
    must_keep([user(text) for text in hostile] * 3)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("item", "summary"),
    [
        ("src/bot/agent/agent.py", "The file `src/bot/agent/agent.py` was fixed."),
        ("Maria Lopez", "asked **MARIA\n lopez** for it"),
        ("$1,299.50", "It cost 1299.50 dollars."),
        ("250 ms", "within 250ms"),
        ("max_tokens", "the `max-tokens` option"),
        ("不要删除任何文件", "用户要求：不要删除任何文件。"),
        (
            "You must never touch the file secrets.toml or its folder.",
            "Never touch file secrets.toml, nor the folder",
        ),
    ],
)
def test_a_detail_is_found_whatever_its_case_markup_and_punctuation(item: str, summary: str) -> None:
    assert missing(summary, [item]) == ()


@pytest.mark.parametrize(
    ("item", "summary"),
    [
        ("200", "1200 lines"),
        ("4WQ150", "the reservation 4WQ15"),
        ("$1,299.50", "about 1300 dollars"),
        ("src/agent.py", "agent.py in src"),
        ("You must never touch the file secrets.toml or its folder.", "The file was changed."),
        ("Никогда не используй порт для внешних соединений с базой", "Порт выбран."),
    ],
)
def test_a_detail_that_is_not_there_is_missing(item: str, summary: str) -> None:
    assert missing(summary, [item]) == (item,)


def test_missing_details_are_added_in_a_section_of_their_own() -> None:
    text = with_exact_details("A summary.\n", ["PAL-482", "4WQ150"])
    assert text == f"A summary.\n\n{EXACT_DETAILS}\n\n- PAL-482\n- 4WQ150"
    assert missing(text, ["PAL-482", "4WQ150"]) == ()


def test_a_section_that_is_there_is_extended_and_what_follows_it_stays() -> None:
    text = with_exact_details(f"A.\n\n{EXACT_DETAILS}\n\n- one 1\n\n## Next steps\n\nGo on.", ["two 2", "one 1"])
    assert text == f"A.\n\n{EXACT_DETAILS}\n\n- one 1\n- two 2\n\n## Next steps\n\nGo on."


def test_nothing_to_add_changes_nothing() -> None:
    assert with_exact_details("A summary.\n", []) == "A summary.\n"


@given(st.text(max_size=80), st.lists(st.text(max_size=30), max_size=4))
def test_adding_the_same_details_twice_changes_nothing(summary: str, items: list[str]) -> None:
    once = with_exact_details(summary, items)
    assert with_exact_details(once, items) == once
    assert missing(once, items) == ()


def test_a_request_that_something_newer_followed_is_history_and_is_not_kept() -> None:
    joke = [user("Tell me a joke about towns"), assistant("Sure.")]
    assert must_keep(joke) == ("Tell me a joke about towns",)
    assert must_keep(joke, latest=False) == ()
