"""The words and values of a sentence: what two sentences are compared by. Pure.

Every pattern is bounded and has no nested repetition over the same characters, so that any text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from bot.compaction.grammar import CURRENCY_SIGN, DAY, EMAIL, FREE, MONTH, PATH, QUOTED, TIME, URL
from bot.compaction.stems import DENSE, is_dense, pairs, stem

_WEEKDAYS = (
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?"
    r"|(?:понедельник|вторник|сред[аыуе]|четверг|пятниц|суббот|воскресень)[а-я]{0,3}"
    r"|(?:星期|周|礼拜)[一二三四五六日天]"
)
_CURRENCY = (
    r"(?:€|\$|£|₽|¥|USD\b|EUR\b|GBP\b|CHF\b|RUB\b|CNY\b|euros?\b|dollars?\b|pounds?\b|bucks\b|francs?\b"
    r"|евро\b|руб[а-я]{0,4}|долл[а-я]{0,6}|元|欧元|美元|块|万)"
)
_NUMBER_WORDS = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen"
    r"|дв[ае]|двух|три|трех|трёх|четыре|четырех|четырёх|пять|шесть|семь|восемь|девять|десять)"
)
_ABC = "A-Za-zА-Яа-яЁё"

_PLACES = rf"""
      (?P<url>{URL})
    | (?P<email>{EMAIL})
    | (?P<path>{PATH})
    |
"""
_NUMBERS = rf"""
      (?P<phone>(?<![\w+])\+\d{{1,3}}(?:[\ .-]?\(?\d{{2,5}}\)?){{2,6}}(?!\w))
    | (?P<date>{DAY}|(?:\d{{4}}年)?\d{{1,2}}月|\d{{1,2}}号|\b{MONTH}\ \d{{4}}\b|{_WEEKDAYS})
    | (?P<time>{TIME}|{FREE}\d{{1,2}}\ ?[ap]m\b|\d{{1,2}}点(?:半|\d{{1,2}}分)?)
    | (?P<money>{CURRENCY_SIGN}\ ?\d[\d,.]{{0,15}}(?:[kKM]\b)?
        |{FREE}\d[\d,.]{{0,15}}(?:\ \d{{3}}){{0,3}}[kKM]?\ ?{_CURRENCY})
    | (?P<percent>{FREE}\d[\d.,]{{0,6}}\ ?%)
    | (?P<host>(?<![\w.@/-])[a-z0-9][\w-]{{0,40}}(?:\.[a-z0-9][\w-]{{0,40}}){{1,4}}\.[a-z]{{2,10}}\b)
    | (?P<id>(?<![\w-])(?=[\w-]{{0,40}}\d)(?=[\w-]{{0,40}}[{_ABC}])
        [{_ABC}0-9]{{1,40}}(?:[_-][{_ABC}0-9]{{1,40}}){{0,6}}
        (?![\w-]))
    | (?P<version>{FREE}\d{{1,6}}(?:\.\d{{1,6}}){{2,4}}\b)
    | (?P<number>(?<![A-Za-z0-9_.])\d[\d,.]{{0,20}}|\b{_NUMBER_WORDS}\b(?=\ [^\W\d_]))
"""
_WITH_PLACES = re.compile(_PLACES + _NUMBERS, re.VERBOSE | re.IGNORECASE)
_WITHOUT_PLACES = re.compile(_NUMBERS, re.VERBOSE | re.IGNORECASE)
_MARK = re.compile(r"[\d@/\\]|\w\.\w")
_PLACE_MARK = re.compile(r"[@/\\]")
_VALUE_WORD = re.compile(rf"\b{_NUMBER_WORDS}\b|{_WEEKDAYS.lower()}")
"""The values' own pattern is dear, and most sentences hold none."""

_NAME = re.compile(
    r"(?<![.!?:\n*•-] )(?<!^)(?<![\w'’])(?:[A-ZÀ-ÖØ-ÞА-ЯЁ][\w’'+#-]{1,30})(?:\ [A-ZÀ-ÖØ-ÞА-ЯЁ][\w’'-]{1,30}){0,3}"
)
_FIRST_NAME = re.compile(
    r"^(?:[A-ZÀ-ÖØ-Þ][a-zß-ÿ’'-]{1,30})(?:\ [A-ZÀ-ÖØ-Þ][\w’'-]{1,30}){1,3}"
    r"|^(?:[А-ЯЁ][а-яё-]{1,30})(?:\ [А-ЯЁ][а-яё-]{1,30}){1,3}"
)
"""At the beginning of a sentence one capital says nothing, two do."""
_NO_NAME = re.compile(r"I['’]|(?:ID|IDs|AM|PM|EST|UTC|GMT|OK|FYI|PS|TODO|API|URL|JSON)\Z")
_LETTER = "A-Za-zÀ-ÖØ-öø-ÿА-яЁё"
_UNIT = re.compile(rf"[ -]?([{_LETTER}]{{2,20}})(?: ([{_LETTER}]{{3,20}}))?|([个位名人间张天次份本])")
_WORD = re.compile(rf"[^\W\d_{DENSE}]{{3,40}}|[{DENSE}]{{2,60}}")
_NO_WORD = re.compile(r"\W+")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_DENSE_COMMON = re.compile(
    r"现在|今天|昨天|明天|以后|以前|之前|已经|另外|对了|我们|你们|他们|应该|一下|新的|原来|因为|所以|但是|可以"
    r"|[的了是在我你他她它们和与有就也都很从到为把被这那个又吧啊呢吗]"
)
"""What says nothing of the subject of a sentence, in a script without spaces."""
_REACH = 80
"""Characters on each side of a value in which words tell what it is a value of."""
_ANCHORS = 3
_SHORTEST_CODE = 4
_KEPT = 8_192
"""Answers that are kept: a sentence is looked at several times."""

_COMMON_WORDS = """
a about actually after again all also am an and any anymore are as at be because been before being below but by can
change changed could did do does doing done don each either else even every for from get give go going good got great
had has have having he hello help her here hey hi him his how however i if in instead into is it its just keep kindly
know let like longer look make may maybe me mean might mind more most much must my need needs never new no nope not
note now of off ok okay old on once one only or other our out over please put rather re really right same say see set
shall she should since so some still such sure switch take tell than thank thanks that the their them then there these
they thing think this those through till time to today too under until up update updated us use using very wait want
wants was way we well were what when where which while who why will wish with without would wrong yes yet you your
moved move correction sorry wasn isn aren doesn didn won another different others real currently lately recently days
day record later meanwhile morning evening moment heads fyi best fine sake told said heard turns turned reads goes
went come comes came back called find found мой моя моё мое мои наш наша наше наши твой ваш это что как так его она
они мы вы ты мне нас вас них для при под над или если когда чтобы уже еще ещё только очень может нужно надо пожалуйста
спасибо теперь лучше вместо больше есть был была было были будет быть нет все всё тоже поправка сегодня вчера завтра
кстати будущее другое другой другая другие новый новая новое нам дали раз понадобится second thought thoughts typo
scratch опечатка
"""


def words_of(text: str) -> frozenset[str]:
    """The words of a list that is separated by white space."""
    return frozenset(text.split())


_COMMON = words_of(_COMMON_WORDS)


class Value(NamedTuple):
    """Something exact in a sentence: its type (``date``, ``money``, ``count:passe``, ``name``...) and its text."""

    type: str
    text: str


def is_code(value: Value) -> bool:
    """Whether a value is some code: an id, or a number that is too long to be a count."""
    return value.type == "id" or (len(value.text) >= _SHORTEST_CODE and value.text.isdigit())


def is_ideographic(text: str) -> bool:
    """Whether a text has ideographs."""
    return bool(_CHINESE.search(text))


def plain(text: str) -> str:
    """What two texts have in common that say the same."""
    return _NO_WORD.sub(" ", text.casefold()).strip() or text


def is_common(word: str) -> bool:
    """Whether a word, in small letters, carries no meaning of its own."""
    return word in _COMMON


@lru_cache(maxsize=_KEPT)
def terms_of(text: str) -> frozenset[str]:
    """The stems of the words that carry meaning, and pairs of ideographs."""
    found: set[str] = set()
    for word in _WORD.findall(text):
        if is_dense(word):
            found.update(_pairs(word))
        elif word.casefold() not in _COMMON:
            found.add(stem(word))
    return frozenset(found)


def anchors_of(text: str, value: Value) -> tuple[frozenset[str], frozenset[str]]:
    """The terms nearest to a value of this text, those right beside it and the few around it: what it is a value of.

    What it counts ("four passengers") is part of the value and no anchor.
    """
    at = text.find(value.text)
    if at < 0:
        return frozenset(), frozenset()
    end = at + len(value.text)
    unit = _UNIT.match(text, end) if value.type.startswith("count:") else None
    before = _near(text[max(0, at - _REACH) : at])[::-1]
    after = _near(text[unit.end() if unit else end :][:_REACH])
    return frozenset(before[:1] + after[:1]), frozenset(_nearest(before, _ANCHORS) + _nearest(after, _ANCHORS - 1))


def _near(text: str) -> list[str]:
    found: list[str] = []
    for word in _WORD.findall(text):
        if is_dense(word):
            found.extend(_pairs(word))
        elif word.casefold() not in _COMMON:
            found.append(stem(word))
    return found


def _nearest(terms: list[str], count: int) -> list[str]:
    """So many words; a word is about two pairs of ideographs."""
    dense = bool(terms) and is_dense(terms[0])
    return terms[: 2 * count if dense else count]


def _pairs(word: str) -> Iterator[str]:
    for part in _DENSE_COMMON.split(word):
        yield from pairs(part)


@lru_cache(maxsize=_KEPT)
def values_of(text: str) -> tuple[Value, ...]:
    """The exact values of a sentence: dates, amounts, ids, counts with what they count; then quotes, then names."""
    return tuple(_values(text))


def _exact(text: str) -> Iterable[re.Match[str]]:
    if not (_MARK.search(text) or _VALUE_WORD.search(text.lower())):
        return ()
    pattern = _WITH_PLACES if _PLACE_MARK.search(text) else _WITHOUT_PLACES
    return pattern.finditer(text)


def _values(text: str) -> Iterator[Value]:
    taken: list[tuple[int, int]] = []
    for found in _exact(text):
        taken.append(found.span())
        kind, exact = found.lastgroup or "", found[0].rstrip(".,;:!?")
        if kind == "number":
            unit = _UNIT.match(text, found.end())
            words = [word for word in (unit.groups() if unit else ()) if word and word.casefold() not in _COMMON]
            kind = f"count:{stem(words[-1])}" if words else kind
        if exact:
            yield Value(kind, exact)
    for found in QUOTED.finditer(text):
        yield Value("quote", next(group for group in found.groups() if group))
    for found in chain(_FIRST_NAME.finditer(text), _NAME.finditer(text)):
        inside = any(start < found.end() and found.start() < end for start, end in taken)
        if not inside and found[0].casefold() not in _COMMON and not _NO_NAME.match(found[0]):
            yield Value("name", found[0])
