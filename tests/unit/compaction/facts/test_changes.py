"""What a later sentence does to an earlier one, in three languages and many wordings. FEATURES A7, A8."""

from __future__ import annotations

import pytest

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import EARLIER, rendered
from bot.compaction.facts.merge import Merged, merged
from bot.history import Entry
from tests.unit.entries import replied, said

FILLER = (
    "The tests of the parser pass on both machines now.",
    "How many files does the archive hold?",
    "Какая сегодня погода на побережье?",
    "帮我看看这个脚本的输出。",
    "There were 37 visitors in the museum.",
)

CHANGED = [
    ("The deadline is 3 March.", "Actually, the deadline has moved to 10 March.", "3 March"),
    ("Our table is booked for 7:30 pm.", "The restaurant called, they moved our table to 9:15 pm.", "7:30 pm"),
    ("We need seats for 6 guests.", "No, make that 9 guests.", "6 guests"),
    ("My budget is 1200 euros.", "My boss cut the budget, it is down to 950 euros.", "1200 euros"),
    ("The wifi password is kestrel-4471.", "They have reset the wifi password, try plover-9023.", "kestrel-4471"),
    (
        "For the record, the plumber is Oskar Lindqvist.",
        "Oskar quit. Our plumber these days is Marta Vesely.",
        "Oskar Lindqvist",
    ),
    (
        "Send the scans to desk@oldmill.example.",
        "Send the scans to front@newmill.example from now on.",
        "desk@oldmill.example",
    ),
    (
        "The backups go to /mnt/tape/weekly.",
        "We moved house with the backups: they go to /mnt/vault/daily.",
        "/mnt/tape/weekly",
    ),
    ("The project runs on Python 3.9.2.", "We are past that, the project runs on Python 3.12.1.", "3.9.2"),
    ("The gate code is 4417B.", "Gate code since this morning: 8820D.", "4417B"),
    ("My doctor is in room A12.", "I was told wrong, the room of my doctor is C45.", "A12"),
    ("Rent is $1,400 a month.", "Heads up, rent goes to $1,550 a month.", "$1,400"),
    ("The kick-off meeting takes place on Monday.", "The kick-off meeting got pushed to Thursday.", "Monday"),
    ("The parcel number is ZX-55180.", "Wrong label. The right parcel number reads ZX-71406.", "ZX-55180"),
    ("Call the hotline at +49 30 5550 1200.", "The hotline has a new line, +49 30 5550 8871.", "+49 30 5550 1200"),
    (
        "The api lives at https://api.one.example/v1.",
        "Point everything at https://api.two.example/v2, the api lives there.",
        "https://api.one.example/v1",
    ),
    ("Our supplier is Bramble & Sons.", "We signed with another supplier: Thornfield Traders.", "Bramble"),
    ("The interest rate is 3.5 %.", "The bank came back to us: an interest rate of 4.1 %.", "3.5 %"),
    ("My flight leaves on May 14.", "I rebooked, my flight leaves on May 19.", "May 14"),
    ("We have 12 licences.", "We bought some, so our licences are 20 licences.", "12 licences"),
    ("The cleaning deposit is 300 euros.", "They wrote about the cleaning deposit. It is 420 euros.", "300 euros"),
    ("Our mascot's name is Bruno Keller.", "Please note Tessa Lind as the name of our mascot.", "Bruno Keller"),
    ("The locker is 88214.", "Use Q77-B for the locker.", "88214"),
    ("Совещание назначено на 5 марта.", "Совещание перенесли на 12 марта.", "5 марта"),
    ("Бюджет поездки 40000 рублей.", "Бюджет поездки урезали до 32000 рублей.", "40000 рублей"),
    ("Пароль от склада: kedr-1180.", "Пароль от склада сменили, он sosna-7742.", "kedr-1180"),
    ("Нашего бухгалтера зовут Ирина Волкова.", "Нашего бухгалтера зовут теперь Павел Громов.", "Ирина Волкова"),
    ("Номер договора АБ-1207.", "Я ошибся, номер договора на самом деле АБ-3391.", "АБ-1207"),
    ("Копии лежат в /data/old/copies.", "С понедельника копии лежат в /data/new/copies.", "/data/old/copies"),
    ("会议定在3月5日。", "会议推迟到3月12日了。", "3月5日"),
    ("我的预算是5000元。", "我的预算减少到3800元。", "5000元"),
    ("门禁密码是 LK-2210。", "门禁密码换了，是 LK-9034。", "LK-2210"),
    ("联系邮箱是 old@yun.example。", "以后联系邮箱用 new@yun.example。", "old@yun.example"),
    ("合同编号 HT-5501。", "合同编号写错了，应该是 HT-6612。", "HT-5501"),
    ("备份放在 /opt/bak/one。", "备份现在放在 /opt/bak/two。", "/opt/bak/one"),
]
"""Said first, said later, and the value that does not hold any more."""

CANCELLED = [
    ("Please book a hotel in Ghent for us.", "Cancel the hotel booking, we don't need it any more.", "hotel in Ghent"),
    ("Order a cake from Rosalind Bakery.", "No cake from Rosalind Bakery after all.", "Rosalind Bakery"),
    ("Could you write a review of Orlov's paper?", "Skip the review of Orlov's paper.", "review of Orlov"),
    ("Remind me to call Greta Holm.", "I already spoke to Greta Holm, no reminder necessary.", "call Greta Holm"),
    (
        "I want you to translate the brochure into Dutch.",
        "Never mind the translation of the brochure.",
        "brochure into Dutch",
    ),
    (
        "Please set up an account at Kilnworks for Ben.",
        "Ben went elsewhere, so Kilnworks is moot.",
        "account at Kilnworks",
    ),
    ("Can you renew the licence QX-4410?", "QX-4410 can lapse, leave it be.", "renew the licence QX-4410"),
    ("Schedule a visit to Castle Pernow.", "The visit to Castle Pernow is off.", "Schedule a visit to Castle Pernow"),
    (
        "Please file the claim CL-8832.",
        "Scrap the claim CL-8832, the insurer paid on its own.",
        "file the claim CL-8832",
    ),
    ("Find me a sitter for the dog.", "We won't be needing the dog sitter.", "sitter for the dog"),
    ("Plan a trip to Uppsala for the team.", "The trip to Uppsala fell through.", "trip to Uppsala for the team"),
    (
        "Draft a letter to Harbour Freight Union.",
        "I changed my mind about the letter to Harbour Freight Union.",
        "Draft a letter",
    ),
    ("Закажи торт в кондитерской «Вишня».", "Торт в «Вишня» уже не нужен.", "Закажи торт"),
    ("Забронируй, пожалуйста, гостиницу в Пскове.", "Гостиницу в Пскове отмени, мы не едем.", "Забронируй"),
    ("Нужно продлить полис ПЛ-5520.", "Полис ПЛ-5520 продлевать не будем.", "Нужно продлить"),
    ("Напомни мне позвонить Олегу Титову.", "Олегу Титову звонить не надо, я передумал.", "Напомни"),
    ("请帮我订一家南京的酒店。", "南京的酒店不用订了。", "请帮我订"),
    ("提醒我联系王小明。", "王小明那边算了，不联系了。", "提醒我"),
    ("麻烦续费服务器 SV-2207。", "SV-2207 不再需要，别续费了。", "麻烦续费"),
    ("请写一份关于港口的报告。", "港口的报告取消。", "请写一份"),
]
"""A task, what takes it back, and words that only the task is told in."""

BOTH_HOLD = [
    ("My mother's birthday is on 3 March.", "My father's birthday is on 10 June.", "3 March"),
    ("The hotel costs 120 euros a night.", "The train costs 45 euros.", "120 euros"),
    ("The staging password is heron-2201.", "The production password is egret-7719.", "heron-2201"),
    ("Anna Berg runs the shop.", "Lukas Stern runs the bakery.", "Anna Berg"),
    ("The kitchen is 12 square metres.", "The bathroom is 6 square metres.", "12 square"),
    ("Залог за квартиру 30000 рублей.", "Билеты в театр 4000 рублей.", "30000 рублей"),
    ("押金是2000元。", "机票是1500元。", "2000元"),
]
"""Two sentences of one form about two things."""


def talked(*lines: str) -> Merged:
    """What two messages, with talk between and after them, establish."""
    first, later = lines
    texts = [first, *FILLER[:3], later, *FILLER[3:]]
    entries: list[Entry] = []
    for at, text in enumerate(texts):
        entries += [said(2 * at + 1, text), replied(2 * at + 2, "Noted.")]
    return merged(candidates_of(entries))


def shown_as_current(value: str, found: Merged, later: str) -> list[str]:
    """The lines that show a value as if it held, other than those of the message that says that it does not."""
    marks = ("- [cancelled]", "- [done]", f"- {EARLIER}")
    lines = [line for line in rendered(found.facts).splitlines() if value in line]
    return [line for line in lines if not line.startswith(marks) and line.removeprefix("- ") not in later]


@pytest.mark.parametrize(("first", "later", "old"), CHANGED)
def test_a_value_that_was_changed_is_not_shown_as_current(first: str, later: str, old: str) -> None:
    assert not shown_as_current(old, talked(first, later), later)


@pytest.mark.parametrize(("first", "later", "old"), CHANGED)
def test_what_changed_it_is_kept(first: str, later: str, old: str) -> None:
    kept = rendered(talked(first, later).facts)
    assert later.rsplit(". ", 1)[-1].split("。", maxsplit=1)[0] in kept


@pytest.mark.parametrize(("task", "later", "words"), CANCELLED)
def test_a_task_that_was_taken_back_is_not_shown_as_open(task: str, later: str, words: str) -> None:
    assert not shown_as_current(words, talked(task, later), later)


@pytest.mark.parametrize(("first", "second", "value"), BOTH_HOLD)
def test_of_two_things_both_hold(first: str, second: str, value: str) -> None:
    assert shown_as_current(value, talked(first, second), second)
