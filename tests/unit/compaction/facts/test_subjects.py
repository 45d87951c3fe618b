"""An update needs the same subject: in any doubt both sentences stay as they were said. FEATURES A7, A8."""

from __future__ import annotations

import pytest

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import EARLIER, rendered
from bot.compaction.facts.merge import merged
from bot.compaction.facts.subjects import differ
from tests.unit.entries import replied, said


def lines(*texts: str) -> list[str]:
    """The lines of the checkpoint of these messages, each of them answered."""
    entries = [entry for at, text in enumerate(texts) for entry in (said(2 * at + 1, text), replied(2 * at + 2, "Ok."))]
    return [line for line in rendered(merged(candidates_of(entries)).facts).splitlines() if line.startswith("- ")]


TWO_THINGS = [
    ("My phone number is 555-0100.", "Tom's phone number is 555-0200."),
    ("Anna's exam is on 3 May.", "Ben's exam was moved to 11 May."),
    ("My flight to Rome leaves on 3 May.", "The Oslo flight was moved to 11 May."),
    ("The flight to Rome leaves on 3 May.", "The flight to Oslo leaves on 11 May now."),
    ("The staging password is heron-2201.", "The production password was changed to egret-7719."),
    ("The exam is on 3 May.", "Ben's exam is on 11 May."),
    ("I live at 12 Rose Street.", "Tom lives at 14 Oak Street."),
    ("My budget is 500 euros.", "Her budget is 900 euros."),
    ("His budget is 500 euros.", "Her budget was raised to 900 euros."),
    ("My mother's birthday is on 3 March.", "Actually, my father's birthday is on 10 June."),
    ("Server alpha runs on port 8080.", "Server beta runs on port 9090 now."),
    ("Order 4711 costs 50 euros.", "Order 4712 now costs 60 euros."),
    ("The rent of the flat is 900 euros.", "The rent of the garage went up to 120 euros."),
    ("The meeting with Ann is on 3 May.", "The meeting with Anna was moved to 5 May."),
    ("去北京的机票是5000元。", "去上海的机票改成3000元。"),
    ("Билет в Москву стоит 5000 рублей.", "Билет в Казань теперь стоит 3000 рублей."),
    ("Встреча с Анной 3 мая.", "Встречу с Борисом перенесли на 11 мая."),
    ("Анна приезжает в понедельник.", "Борис теперь приезжает во вторник."),
    ("Сын идёт в школу в 8:00.", "Дочь теперь идёт в школу в 9:00."),
    ("Экзамен Анны 3 мая.", "Экзамен Бориса перенесли на 11 мая."),
    ("Мой телефон +7 900 111-22-33.", "Телефон Анны теперь +7 900 444-55-66."),
    ("Рабочий телефон +7 900 111-22-33.", "Домашний телефон теперь +7 900 444-55-66."),
    ("安娜的考试是5月3日。", "本的考试改到5月11日。"),
    ("我的预算是5000元。", "汤姆的预算改为3800元。"),
]

ONLY_THOUGHT = [
    ("My door code is 4711.", "Should the door code be 9999?"),
    ("My door code is 4711.", "What if my door code were 1234?"),
    ("My door code is 4711.", "Maybe the door code is 9999 now."),
    ("My door code is 4711.", "If the landlord agrees, the door code will be changed to 9999."),
    ("My door code is 4711.", "The door code might be changed to 9999."),
    ("Код двери 4711.", "Может, сменим код двери на 9999?"),
    ("Код двери 4711.", "Если код двери теперь 9999, скажи."),
    ("Код двери 4711.", "Не сменился ли код двери на 9999?"),
    ("门禁密码是4711。", "门禁密码改成9999了吗？"),
    ("门禁密码是4711。", "如果门禁密码改成9999就告诉我。"),
    ("门禁密码是4711。", "门禁密码是否改成9999。"),
    ("Please book a hotel in Rome.", "Should I cancel the hotel in Rome?"),
]

ANOTHER_TASK = [
    ("Please book a table at Luigi's.", "Cancel the table at Mario's."),
    ("Book a hotel in Rome.", "Cancel the hotel in Oslo."),
    ("Book a hotel in Rome.", "Don't cancel the hotel in Rome."),
    ("Book a hotel in Rome.", "Please never cancel the hotel in Rome."),
    ("Please pay invoice 4711.", "Cancel invoice 4712."),
    ("Remind me to call Ann.", "I don't need the reminder to call Anna."),
    ("Book a taxi to the airport.", "We don't need the taxi to the station."),
    ("Book a table for 3 May.", "Cancel the table for 11 May."),
    ("Закажи отель в Риме.", "Отмени отель в Милане."),
    ("Закажи отель в Риме.", "Не отменяй бронь в Риме."),
    ("Закажи отель в Риме.", "Не надо отменять отель в Риме."),
    ("帮我订罗马的酒店。", "米兰的酒店不用订了。"),
    ("帮我订罗马的酒店。", "不要取消罗马的酒店。"),
]


@pytest.mark.parametrize(("first", "later"), [*TWO_THINGS, *ONLY_THOUGHT, *ANOTHER_TASK])
def test_what_is_about_something_else_or_only_thought_leaves_the_first_as_it_was_said(first: str, later: str) -> None:
    found = lines(first, later)
    assert f"- {first}" in found
    assert f"- {later}" in found


SAME_THING = [
    ("Please book a table at Luigi's.", "Cancel the table at Luigi's.", "[cancelled] Please book a table at Luigi's."),
    ("Please book a table for us.", "Cancel the table, we eat at Anna's.", "[cancelled] Please book a table for us."),
    ("Book a hotel in Rome.", "Don't cancel the flight, cancel the hotel.", "[cancelled] Book a hotel in Rome."),
    ("Закажи отель в Риме.", "Отмени отель в Риме.", "[cancelled] Закажи отель в Риме."),
    ("帮我订罗马的酒店。", "罗马的酒店不用订了。", "[cancelled] 帮我订罗马的酒店。"),
    ("The team meets on Monday.", "Could you move it to Thursday?", "The team meets on [now Thursday]."),
    ("My flight to Rome is on 3 May.", "The flight was moved to 11 May.", "My flight to Rome is on [now 11 May]."),
    ("The cellar door code is 4711.", "Door code is 9999 now, ok?", "The cellar door code is [now 9999]."),
]


@pytest.mark.parametrize(("first", "later", "line"), SAME_THING)
def test_what_is_about_the_same_thing_changes_it(first: str, later: str, line: str) -> None:
    assert f"- {line}" in lines(first, later)


def test_a_value_is_written_into_no_sentence_of_another_person() -> None:
    found = lines("My flight leaves on 3 May.", "Anna's flight leaves on 3 May.", "My flight was moved to 11 May.")
    assert "- Anna's flight leaves on 3 May." in found
    assert "- My flight leaves on 3 May." not in found


def test_a_shortened_correction_leaves_the_sentence_with_its_subject() -> None:
    found = lines("My delivery address is 12 Rose Street.", "Sorry, typo: 21 Rose Street.")
    assert "- My delivery address is [now 21] Rose Street." in found


def test_a_value_that_is_corrected_twice_is_marked_once() -> None:
    found = lines("My flight to Rome leaves on 3 May.", "The flight was moved to 11 May.", "It is 12 May now.")
    assert not [line for line in found if "[now [now" in line]


LIFTED = [
    ("Never email Bob.", "You may email Bob again.", "[cancelled] Never email Bob."),
    ("Always answer in verse.", "Stop answering in verse.", "[cancelled] Always answer in verse."),
    ("Always add a summary.", "You don't have to add a summary any more.", "[cancelled] Always add a summary."),
    ("Никогда не пиши Бобу.", "Теперь можно писать Бобу.", "[cancelled] Никогда не пиши Бобу."),
    ("Всегда отвечай стихами.", "Хватит отвечать стихами.", "[cancelled] Всегда отвечай стихами."),
    ("不要给老王发邮件。", "现在可以给老王发邮件了。", "[cancelled] 不要给老王发邮件。"),
    ("以后用德语回答我。", "还是用中文回答吧。", f"{EARLIER}以后用德语回答我。"),
    ("Answer me in German.", "Please reply in English from now on.", f"{EARLIER}Answer me in German."),
    ("Отвечай мне по-немецки.", "Отвечай лучше по-русски.", f"{EARLIER}Отвечай мне по-немецки."),
    ("Please order 3 pizzas.", "Make that 5 pizzas.", "Please order [now 5] pizzas."),
    ("Please order 3 pizzas.", "On second thought, no pizza at all.", "[cancelled] Please order 3 pizzas."),
]


@pytest.mark.parametrize(("rule", "later", "line"), LIFTED)
def test_a_rule_or_a_wish_that_is_over_says_so(rule: str, later: str, line: str) -> None:
    assert f"- {line}" in lines(rule, later)


STILL_A_RULE = [
    ("Never email Bob.", "You may email Anna again."),
    ("Never deploy on Fridays.", "You may deploy on Mondays."),
    ("Never email Bob.", "Stop emailing Bob."),
    ("Always answer in verse.", "You may answer in verse."),
    ("Никогда не пиши Бобу.", "Теперь можно писать Анне."),
    ("不要给老王发邮件。", "现在可以给小李打电话了。"),
    ("Answer Bob in German.", "Answer Anna in French."),
]


@pytest.mark.parametrize(("rule", "later"), STILL_A_RULE)
def test_a_rule_that_is_not_lifted_holds(rule: str, later: str) -> None:
    assert f"- {rule}" in lines(rule, later)


def test_a_question_about_a_decision_is_no_rule() -> None:
    text = rendered(merged(candidates_of([said(1, "Is it true that we decided to use Oracle?")])).facts)
    assert "## Rules" not in text
    assert "## Goals" not in text


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The hotline has a new line.", "Call the hotline."),
        ("The room of my doctor is upstairs.", "My doctor is in a room."),
        ("Гостиницу в Пскове отмени.", "Забронируй гостиницу в Пскове."),
        ("新的会议改到5月。", "我的会议是3月。"),
        ("Friday's meeting is at 9:00.", "My meeting is at 8:00."),
        ("", ""),
        ("🙂", "the cat"),
    ],
)
def test_sentences_that_only_say_more_or_less_do_not_differ(new: str, old: str) -> None:
    assert not differ(new, old)
