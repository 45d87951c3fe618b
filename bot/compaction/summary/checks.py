"""Is this a summary, and does it keep what it must? The checks of a summary before it is committed.

Pure: no I/O, no clock, no settings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from bot.compaction.stems import DENSE, beginning, is_dense

_LONGEST_EXCUSE = 300
"""Characters: a longer text says something, whatever words it contains."""

_LONGEST_LINE = 400
"""Characters of a line that a model adds to its summary."""

_ENOUGH_WORDS = 0.7
"""A sentence is kept when this share of its significant words is: a summary says it in its own order."""

_SENTENCE_WORDS = 6
_SENTENCE_IDEOGRAPHS = 10
_SIGNIFICANT_LETTERS = 4

_TOKENS = re.compile(rf"[{DENSE}]|[^\W\d_{DENSE}]+|\d+")
_DIGIT_GROUPS = re.compile(r"(?<=\d)[,'’\u00a0\u202f](?=\d{3}(?!\d))")

_TAG = re.compile(r"<[^<>\n]{0,80}>")
_LABEL = re.compile(
    r"^(?:(?:(?:conversation|session|context|the)\s+)*"
    r"(?:summary|сводка|резюме|zusammenfassung|resumen|résumé|摘要|总结)\s*(?=[:：\-—\n])[\s:：\-—]*)+"
)
_MARKUP = re.compile(r"[*_#`>|~\[\](){}\"“”«»]+")

_NOTHING = re.compile(
    r"""
    (?: n\s?/\s?a | none | null | nil | empty | nothing | undefined | \(?blank\)? | no | todo | tbd
      | нет | ничего | пусто | keine? | nichts | leer | ninguno | nada | vacío | aucun | rien | vide
      | 无 | 没有 | 空 | 暂无
    )
    """,
    re.VERBOSE,
)
_EXCUSE = re.compile(
    r"""
    (?: sorry\W{1,3}(?:but\ )? | i(?:['’]m|\ am)\ (?:very\ |so\ )?sorry\W{1,3}(?:but\ )?
    | i\ apologi[sz]e\W{1,3}(?:but\ )?
      | unfortunately\W{1,3} | as\ an\ ai[^,]{0,40},\ | извините\W{1,3}(?:но\ )? | к\ сожалению\W{1,3}
      | 抱歉[，,]? | 很抱歉[，,]? | 对不起[，,]?
    )*
    (?: (?:there\ (?:is|was)\ (?:currently\ )?)?no\ (?:\w+\ )?summary(?!\ (?:of|for|table|page|section
      |file|field|endpoint))
      | (?:there(?:\ is|\ was|['’]s)\ )?nothing\ (?:here\ )?(?:\w+\ )?to\ (?:summari[sz]e|compact|compress
        |report)
      | (?:there\ (?:is|are|was|were)\ )?no\ (?:\w+\ ){0,2}(?:conversation|messages?|content|context
        |history|text)
          \ (?:was\ |were\ )?(?:provided|given|available|found|yet|to\ (?:summari[sz]e|compact))
      | the\ (?:conversation|history|context)\ (?:is|was)\ empty | summary\ (?:is\ )?(?:un|not\ )available
      | (?:the\ )?summary\ (?:could\ not|cannot|can['’]t)\ be | empty\ summary
      | (?:i|we)\ (?:can(?:['’]t|not|\ not)|could(?:n['’]t|\ not)|won['’]t|will\ not|do(?:n['’]t
        |\ not)\ have|am\ (?:un|not\ )able
          |['’]m\ (?:un|not\ )able|must\ decline)
          [^.]{0,80}(?:summar|help|assist|comply|conversation|do\ that|provide|continue|request)
      | unable\ to\ [^.]{0,40}summar
      | (?:сводк[аи]|резюме)\ (?:нет|отсутству|недоступн|не\ ) | нет\ (?:сводки|резюме|данных|сообщений)
      | нечего\ \w+
      | (?:я\ )?не\ (?:могу|удалось|получилось)\ [^.]{0,40}(?:резюм|сводк|обобщ|помочь|суммар)
      | keine?\ (?:\w+\ )?zusammenfassung | (?:es\ gibt\ )?nichts\ (?:zum\ zusammenfassen|zusammenzufassen)
      | ich\ kann\ [^.]{0,60}nicht\ (?:zusammenfassen|helfen)
      | sin\ resumen | no\ hay\ (?:nada\ que\ resumir|(?:ningún\ )?resumen)
      | no\ puedo\ [^.]{0,30}(?:resum|ayudar)
      | aucun\ résumé | pas\ de\ résumé | (?:il\ n['’]y\ a\ )?rien\ à\ résumer
      | je\ ne\ peux\ pas\ [^.]{0,30}(?:résum|aider)
      | (?:暂无|没有|无|无需|无法|不能|不需要)(?:可用的|任何|可以|可|需要|进行|提供|生成)*(?:的)?(?:摘要
        |总结|概括|对话|内容)
      | 我?(?:无法|不能)[^。]{0,20}(?:总结|概括|帮)
      | 要約(?:は)?(?:ありません|できません|なし)
    )
    """,
    re.VERBOSE,
)
_DETAIL = re.compile(r"\d|[/\\]\w|\w@\w")

_COMMON_WORDS = """
about above after again also been before being below could does doing done during each from further
have having here into just like make more most must need only other over please same should some
such than that their them then there these they this those through under until very want were what
when where which while will with would your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def is_no_summary(text: str) -> bool:
    """Whether a model's answer is empty, only markup, or words that say that there is no summary.

    A long text is a summary whatever it says, and so is a short one with a number, a path or an address.
    """
    plain = _MARKUP.sub(" ", _TAG.sub(" ", text)).replace("\u200b", "").strip()
    if not any(char.isalnum() for char in plain):
        return True
    if len(plain) > _LONGEST_EXCUSE:
        return False
    words = " ".join(_LABEL.sub("", plain.casefold() + "\n").split()).strip(" .!。！…-–—:")
    if not words or _NOTHING.fullmatch(words):
        return True
    return bool(_EXCUSE.match(words)) and not _DETAIL.search(words.replace("n/a", ""))


def missing(summary: str, items: Iterable[str]) -> tuple[str, ...]:
    """The items that ``summary`` does not contain, in their order.

    An exact detail has to be there, whatever its case, markup, punctuation and white space; of a sentence,
    70 % of the significant words.
    """
    tokens = _tokens(summary)
    line = f" {' '.join(tokens)} "
    known = set(_significant(tokens, everything=True))
    return tuple(item for item in items if not _is_in(_tokens(item), line, known))


def _is_in(tokens: list[str], line: str, known: set[str]) -> bool:
    if not tokens or f" {' '.join(tokens)} " in line:
        return True
    ideographs = sum(1 for token in tokens if is_dense(token))
    if len(tokens) - ideographs < _SENTENCE_WORDS and ideographs < _SENTENCE_IDEOGRAPHS:
        return False
    if len(tokens) <= len(line) and not any(token.isalpha() for token in tokens):
        return False
    words = list(_significant(tokens))
    return bool(words) and sum(word in known for word in words) >= _ENOUGH_WORDS * len(words)


def _tokens(text: str) -> list[str]:
    """Words, numbers and single ideographs, in one case and without digit groups."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _TOKENS.findall(_DIGIT_GROUPS.sub("", plain))


def _significant(tokens: list[str], *, everything: bool = False) -> Iterator[str]:
    """Stems of the words that carry meaning, numbers, and pairs of ideographs."""
    for token, following in zip_longest(tokens, tokens[1:], fillvalue=""):
        if is_dense(token):
            if is_dense(following):
                yield token + following
        elif token.isdigit():
            yield token
        elif everything or (len(token) >= _SIGNIFICANT_LETTERS and token not in _COMMON):
            yield beginning(token)


def supplemented(summary: str, answer: str, lacking: Iterable[str]) -> str:
    """``summary`` as it is, and below it the lines of an answer that hold something that it lacks. Whatever else the
    answer says or leaves out, nothing of the summary goes."""
    left = list(lacking)
    added: list[str] = []
    for line in answer.splitlines():
        plain = line.strip().lstrip("-*•").strip()
        if not plain or len(plain) > _LONGEST_LINE or is_no_summary(plain):
            continue
        without = missing(plain, left)
        if len(without) < len(left):
            left = list(without)
            added.append(f"- {plain}")
    return f"{summary.rstrip()}\n\n" + "\n".join(added) if added else summary
