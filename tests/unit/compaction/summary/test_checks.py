"""A summary is checked: whether it is one, and whether it keeps what it must."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction.summary.checks import is_no_summary, missing, supplemented

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


FIRST = "The key is KEY-4711, and the price 12.50 EUR.\n\n## Open\nThe invoice."


@pytest.mark.parametrize(
    "answer",
    [
        "ZEBRA-9",
        "- The word is ZEBRA-9.",
        "## Exact details\n- The word is ZEBRA-9\n- something else",
        f"{FIRST}\n\nThe word is ZEBRA-9.",
        "Das Wort ist ZEBRA-9 und sonst nichts.",
    ],
)
def test_an_answer_with_what_is_missing_is_added_and_takes_nothing_away(answer: str) -> None:
    made = supplemented(FIRST, answer, ["ZEBRA-9"])
    assert made.startswith(f"{FIRST}\n\n- ")
    assert missing(made, ["ZEBRA-9"]) == ()
    assert len(made.splitlines()) == len(FIRST.splitlines()) + 2


@pytest.mark.parametrize(
    "answer",
    ["", " \n", "I'm sorry, I can't help with that.", "None", "Ничего не нашлось.", "## Exact details", "ZEBRA-"],
)
def test_an_answer_without_what_is_missing_changes_nothing(answer: str) -> None:
    assert supplemented(FIRST, answer, ["ZEBRA-9"]) == FIRST


@given(st.text(max_size=200), st.lists(st.text(min_size=1, max_size=10), max_size=3))
def test_whatever_is_answered_a_summary_stays_as_it_is(answer: str, lacking: list[str]) -> None:
    assert supplemented(FIRST, answer, lacking).startswith(FIRST)
