"""The exact details that a summary must not lose: found by pattern in the messages that it stands for.

Pure. Texts are bounded, and each kind of detail has a quota, so that one long log cannot crowd out what
people said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, dropwhile, islice, takewhile
from typing import Any

from bot.compaction.grammar import CAPITAL, CURRENCY_SIGN, DAY, EMAIL, FREE, PATH, QUOTED, SMALL, TIME, URL
from bot.estimate.cuts import head_and_end_of, one_line
from bot.messages import text_of

LONGEST_ITEM = 200
"""Characters of one item."""

_LONGEST_TEXT = 20_000
"""Characters of one message that are searched, half of them from its end."""

_SEARCHED = 300_000
"""Characters that are searched for one kind of detail, from the newest message back."""

_REACH = 100
"""Characters around a telling one in which a detail lies, and then up to the next space."""

_ADDRESSES = re.compile(
    rf"""
    {URL} | {EMAIL} | {PATH}
    | (?<![\w/:.@+~-])[\w-]{{1,80}}\.(?:py|pyi|js|ts|tsx|jsx|rs|go|java|kt|c|h|cpp|cs|rb|php|sh|sql|md|txt
      |rst|json|jsonl
        |ya?ml|toml|ini|cfg|env|lock|html|css|csv|tsv|xml|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|zip|tar
          |gz|log|db)\b
    """,
    re.VERBOSE,
)
_IN_ADDRESSES = re.compile(r"[/@\\]|\.\w")
_IDS = re.compile(
    r"""
    \b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b
    | \b(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,64}\b
    | \b(?=[A-Z0-9-]{0,40}\d)[A-Z][A-Z0-9]{1,9}-[A-Z0-9]{1,20}(?:-\w{1,20}){0,10}\b
    | (?<![\w-])(?=[A-Z]{0,15}\d)(?=\d{0,15}[A-Z])[A-Z0-9]{4,16}\b(?!:)
    | \b[a-z]{2,20}(?:_[a-z]{1,20}){0,4}_\d{3,12}\b
    | \b[A-Z]{2,20}(?:_[A-Z0-9]{1,20}){1,6}\b
    | (?<![\w&])\#\d{1,8}\b
    """,
    re.VERBOSE,
)
_IN_IDS = re.compile(r"[\d_]")
_NUMBERS = re.compile(
    rf"""
    {FREE}\d{{4}}-\d{{2}}-\d{{2}}[T\ ]\d{{2}}:\d{{2}}(?::\d{{2}})? | {DAY} | {TIME} | \d{{4}}年(?:\d{{1,2}}月)?
    | {CURRENCY_SIGN}\ ?\d[\d,.]{{0,20}}\d?
    | (?<![\w.,])\d[\d,.]{{0,20}}\ ?(?:%|‰|°C|°F|€|\$|£|₽|元|руб|[kKMGTP]i?B|[kMG]?bit|ms|s|sec|min|h
      |hours?|days?|weeks?
        |months?|years?|minutes?|seconds?|km|cm|mm|m|kg|g|mg|l|ml|px|USD|EUR|GBP|CHF|RUB|CNY|tokens?|дней
          |часов|天|小时)
        (?!\w)
    | (?<![\w.,])v?\d{{1,9}}(?:[.,]\d{{1,9}}){{1,5}}(?!\w)
    | (?<![\w.,-])\+?(?:\w{{1,20}}-){{0,5}}\d{{3,20}}(?!\w)(?:-\w{{1,20}}){{0,4}}
    """,
    re.VERBOSE,
)
_IN_NUMBERS = re.compile(r"\d")
_NAMES = re.compile(
    rf"(?<=[{SMALL},;:] )(?P<one>[{CAPITAL}][\w’'-]{{1,30}}(?:\ [{CAPITAL}][\w’'-]{{1,30}}){{0,3}})"
    rf"|\b(?P<two>[{CAPITAL}][{SMALL}’'-]{{1,30}}(?:\ [{CAPITAL}][{SMALL}’'-]{{1,30}}){{1,3}})"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n*-])[\s*]*\Z")
_AFTER_COLON = re.compile(r"[:：]\s\Z")
_GOES_ON = re.compile(r" \w")
_NUMBERED = re.compile(r" \d")
_LABEL_END = re.compile(r"[ *_]{0,3}[:：]")
"""What follows a label ("Total price:"), which is no name."""
_NO_NAME_WORDS = """
I I'm I’m I'll I’ll I've I’ve I'd I’d The A An This That These Those It He She We You They My Your
Our His Her Their Its If When While After Before And But Or So Then Please Thanks Thank Hi Hello Hey
Dear Yes No Ok Okay OK Sure Great What Which Who Where Why How Could Would Should Can Will Do Does
Did Is Are Was Were Have Has Let Let's Let’s Also Here There Now Not For From To In On At As By With
Monday Tuesday Wednesday Thursday Friday Saturday Sunday Я Мы Вы Он Она ID IDs URL API JSON HTTP PM
AM TODO January February March April May June July August September October November December Это Но
Если Когда Как Что Да Нет Вот Привет Спасибо Пожалуйста
"""
_NO_NAMES = frozenset(_NO_NAME_WORDS.split())

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|[。！？\n]+")
_CONSTRAINT = re.compile(
    r"""
    \b(?:must(?:n[’']t)?|never|always|do\ not|don[’']t|dont|only|without|at\ (?:most|least)|no\ (?:more
      |less|fewer|later)\ than
      |make\ sure|ensure|avoid|cannot|can[’']t|should(?:\ not|n[’']t)|except|unless|required?
        |not\ allowed|forbidden
      |under\ no\ circumstances|stick\ to|keep\ (?:it|the)|instead\ of|prefer|deadline|budget|up\ to
        |maximum|minimum)\b
    | \b(?:нельзя|никогда|всегда|только|обязательно|долж(?:ен|на|но|ны)|не\ (?:надо|нужно|более|менее
      |больше|меньше|трогай|меняй
      |используй|удаляй|забудь)|без|кроме|максимум|минимум)\b
    | \b(?:muss|müssen|niemals|immer|nur|ohne|höchstens|mindestens|darf|dürfen)\b
    | \b(?:nunca|siempre|solo|sólo|sin|jamais|toujours|seulement|sans|ne\ pas)\b
    | 必须|不要|不能|不得|不许|不可|禁止|只能|只要|务必|一定要|最多|至少|不超过|不少于|千万|仅限|总是|永远
    """,
    re.VERBOSE,
)
"""In small letters: a search without regard to case takes twice as long."""

_QUOTAS = {
    "rules": 20,
    "constraints": 16,
    "addresses": 16,
    "ids": 16,
    "numbers": 20,
    "quoted": 12,
    "names": 12,
    "tools": 8,
}


def must_keep(
    messages: Sequence[Mapping[str, Any]], *, rules: Sequence[str] = (), limit: int = 60, latest: bool = True
) -> tuple[str, ...]:
    """What a summary of ``messages`` must preserve: what matters most first, then the newest.

    The latest request of the user if ``latest``, matches of ``rules``, sentences in which the user sets a constraint,
    then paths, URLs, emails, ids, numbers, quoted and proper names from what was said, then paths and ids of tool
    results. At most ``limit`` items of at most ``LONGEST_ITEM`` characters, none twice.

    ``rules``: regular expressions; ``re.error`` is raised for one that is none.
    """
    patterns = [re.compile(rule) for rule in rules]
    newest = list(reversed(messages))
    asked = [text for message in newest if message.get("role") == "user" and (text := _said(message))]
    request = takewhile(lambda message: message.get("role") == "user", dropwhile(_is_silent, newest))
    said = list(_first_of(text for message in newest if (text := _said(message))))
    results = list(_first_of(text for message in newest for text in _results(message)))

    kinds: list[tuple[int, Iterable[str]]] = [
        (int(latest), ["\n".join(reversed([text for message in request if (text := _said(message))]))]),
        (_QUOTAS["rules"], (hit for message in newest for rule in patterns for hit in _ruled(rule, message))),
        (_QUOTAS["constraints"], (sentence for text in _first_of(asked) for sentence in _constraints(text))),
        (_QUOTAS["addresses"], (hit for text in said for hit in _matches(_ADDRESSES, text, _IN_ADDRESSES))),
        (_QUOTAS["ids"], (hit for text in said for hit in _matches(_IDS, text, _IN_IDS))),
        (_QUOTAS["numbers"], (hit for text in said for hit in _matches(_NUMBERS, text, _IN_NUMBERS))),
        (_QUOTAS["quoted"], (hit for text in said for hit in _matches(QUOTED, text))),
        (_QUOTAS["names"], (name for text in chain(_first_of(asked), said) for name in _names(text))),
        (_QUOTAS["tools"], (hit for text in results for hit in _places_and_ids(text))),
    ]
    kept: dict[str, str] = {}
    for quota, found in kinds:
        fresh = _unseen(found, kept)
        kept.update((item.casefold(), item) for item in islice(fresh, min(quota, max(0, limit - len(kept)))))
    return tuple(kept.values())


def _unseen(found: Iterable[str], kept: Mapping[str, str]) -> Iterator[str]:
    seen = set(kept)
    for raw in found:
        item = one_line(raw, LONGEST_ITEM)
        if item and item.casefold() not in seen:
            seen.add(item.casefold())
            yield item


def _bounded(text: str) -> str:
    return head_and_end_of(text, _LONGEST_TEXT)


def _is_silent(message: Mapping[str, Any]) -> bool:
    """Whether it is not words of the user: a reply, or results alone."""
    return message.get("role") != "user" or not _said(message)


def _first_of(texts: Iterable[str]) -> Iterator[str]:
    """As many of these texts as are searched for one kind of detail."""
    left = _SEARCHED
    for text in texts:
        if left <= 0:
            return
        left -= len(text)
        yield text


def _said(message: Mapping[str, Any]) -> str:
    return _bounded(text_of(message.get("content") or "").strip())


def _results(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str) or content is None:
        return
    for block in content:
        if block.get("type") == "tool_result" and block.get("content"):
            yield _bounded(text_of(block["content"]))


def _ruled(rule: re.Pattern[str], message: Mapping[str, Any]) -> Iterator[str]:
    for text in (_said(message), *_results(message)):
        yield from _matches(rule, text)


def _places_and_ids(text: str) -> Iterator[str]:
    yield from _matches(_ADDRESSES, text, _IN_ADDRESSES)
    yield from _matches(_IDS, text, _IN_IDS)


def _matches(pattern: re.Pattern[str], text: str, telling: re.Pattern[str] | None = None) -> Iterator[str]:
    """What the pattern finds, the last first: its first group that matched, or all of it.

    ``telling``: characters of which each match has one, so that only what is near them is searched.
    """
    spans = _near(telling, text) if telling else [(0, len(text))]
    for found in reversed([found for start, end in spans for found in pattern.finditer(text, start, end)]):
        hit = next((group for group in found.groups() if group), found[0]).strip().rstrip(".,;:!?'’")
        if hit and any(char.isalnum() for char in hit):
            yield hit


def _near(telling: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """What lies near a match of ``telling``: start and end of each stretch, which begins and ends at a space."""
    start, end = 0, 0
    for found in telling.finditer(text):
        if found.start() + _REACH <= end:
            continue
        begin = text.rfind(" ", end, max(end, found.start() - _REACH))
        if begin > end:
            yield start, end
            start = begin
        last = text.find(" ", found.start() + _REACH)
        end = last if last > 0 else len(text)
    yield start, end


def _constraints(text: str) -> Iterator[str]:
    for sentence in reversed(_SENTENCE_END.split(text)):
        if len(sentence.strip()) >= len("不要用X") and _CONSTRAINT.search(sentence.lower()):
            yield sentence.strip().lstrip("-*• ")


def _names(text: str) -> Iterator[str]:
    for found in reversed(list(_NAMES.finditer(text))):
        if _LABEL_END.match(text, found.end()):
            continue
        words = found[0].split()
        begin, end = found.span()
        if len(words) == 1 and (_NUMBERED.match(text, end) or _begins_a_sentence(text, begin, end)):
            continue  # "Line 7" is one of many, and not called so; "Answer: Line up" is a sentence
        if len(words) > 1 and _SENTENCE_START.search(text, max(0, begin - 4), begin):
            words.pop(0)  # its capital may be that of the sentence
        while words and words[0] in _NO_NAMES:
            words.pop(0)
        if words and words[-1] not in _NO_NAMES:
            yield " ".join(words)


def _begins_a_sentence(text: str, begin: int, end: int) -> bool:
    """Whether a capital word after a colon is the first of more, and not all that the colon announces."""
    return bool(_AFTER_COLON.search(text, max(0, begin - 2), begin) and _GOES_ON.match(text, end))
