"""Which parts of a message are its writer's own words, and which are pasted, quoted or forwarded. Pure.

What somebody hands over to be summarised or translated sets no goal and no rule. Every pattern is bounded, so that any
text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

QUOTED = "[quoted] "
"""What a line of memory begins with that is nobody's own word."""
SENT = "[sent "
"""What a line of memory begins with that tells of a picture or document."""

_BLOCK = re.compile(
    r"```(?P<code>.{0,20000}?)(?:```|\Z)|\"\"\"(?P<three>.{1,20000}?)(?:\"\"\"|\Z)|'''(?P<single>.{1,20000}?)(?:'''|\Z)"
    r"|“(?P<curved>[^“”]{20,6000})”|«(?P<angles>[^«»]{20,6000})»|「(?P<corners>[^「」]{8,6000})」"
    r"|(?<!\S)\"(?P<plain>[^\s\"][^\"\n]{18,2000})\"(?!\w)",
    re.DOTALL,
)
_SEVERAL = re.compile(r"[.!?…]\s+\S|[。！？]\s*[^\s。！？]|\n")
_INLINE = re.compile(r"“[^“”]{6,400}”|«[^«»]{6,400}»|「[^「」]{6,400}」|(?<!\S)\"[^\s\"][^\"]{6,400}\"(?!\w)")
_FEW_WORDS = 2
_FEW_IDEOGRAPHS = 8
_QUOTING_LINE = re.compile(r"[ \t]{0,3}>")
_HANDED_OVER = re.compile(
    r"""
    ^[^\n:：.!?。！？]{0,80}?(?:
      \b(?:summari[sz]e|translat(?:e|ion)|proof-?read|paraphrase|re-?phrase|re-?word|shorten|condense|tl;?dr
      |(?:correct|fix|polish|edit|improve|rewrite|review|revise|format|explain)\ (?:this|these|the\ following
      |(?:the|my|this)\ (?:\w+\ ){0,2}(?:text|e?mail|letter|draft|message|paragraph|article|note|essay|grammar))
      |перевед\w+|перевести|перескажи\w*|сократи\w*|резюмируй\w*|суммируй\w*|вычитай\w*|отредактируй\w*
      |перефразируй\w*|исправь\w*\ (?:\w+\ ){0,2}(?:текст|письм|ошибк)\w*
      |übersetz\w*|zusammenfass\w*|fasse?\b)
      | 翻译|总结|概括|润色|校对|改写|缩写
    )[^\n:：.!?。！？]{0,60}(?::(?=\s)|：)
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_FORWARDED = re.compile(
    r"""
    ^[ \t>]*-{2,}\ ?(?:Forwarded\ message|Original\ Message|Пересылаемое|Пересланное|Исходное|转发|原始邮件
      |Weitergeleitete)
    | ^[ \t]*(?:From|От|Von|发件人)[:：][^\n]{1,200}\n(?:[^\n]{0,200}\n){0,3}?
      [ \t]*(?:Subject|Date|Sent|To|Тема|Дата|Кому|Betreff|Datum|An|主题|日期|收件人)[:：]
    | ^On\ [^\n]{5,120}\ wrote:[ \t]*$
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


def is_note(text: str) -> bool:
    """Whether a line of memory tells what was quoted or sent, which changes nothing that was said."""
    return text.startswith((QUOTED, SENT))


def parts_of(text: str) -> Iterator[tuple[bool, str]]:
    """The parts of a text in order, each with whether it is quoted. Blocks of code are left out."""
    end = _where_pasted(text)
    at = 0
    for hit in _BLOCK.finditer(text, 0, end):
        inner = hit[hit.lastgroup or 0] or ""
        if hit.lastgroup in ("curved", "angles", "corners", "plain") and not _SEVERAL.search(inner):
            continue
        yield from _by_lines(text[at : hit.start()])
        if hit.lastgroup != "code":
            yield True, inner
        at = hit.end()
    yield from _by_lines(text[at:end])
    if end < len(text):
        yield True, text[end:].strip("\"'“”«»「」\n ")


def own_words(sentence: str) -> str:
    """A sentence without what it quotes at some length: what marks it stands in the rest."""
    return _INLINE.sub(lambda hit: " … " if _is_long(hit[0]) else hit[0], sentence)


def _is_long(quote: str) -> bool:
    if quote.count(" ") >= _FEW_WORDS:
        return True
    return " " not in quote and not quote.isascii() and len(quote) >= _FEW_IDEOGRAPHS


def _where_pasted(text: str) -> int:
    """Where the text begins that is handed over or forwarded, up to the end of the message."""
    ends = [len(text)]
    if forwarded := _FORWARDED.search(text):
        ends.append(forwarded.start())
    for given in _HANDED_OVER.finditer(text):
        rest = text[given.end() :].lstrip()
        if rest and not rest.startswith(('"""', "'''", "```", "“", "«", "「", ">", '"')):
            ends.append(given.end())
            break
    return min(ends)


def _by_lines(text: str) -> Iterator[tuple[bool, str]]:
    """Runs of lines that begin with ``>``, and of those that do not."""
    run: list[str] = []
    quoted = False
    for line in text.split("\n"):
        quotes = bool(_QUOTING_LINE.match(line))
        if quotes is not quoted and run:
            yield quoted, "\n".join(run)
            run = []
        quoted = quotes
        run.append(line.lstrip(" \t>") if quotes else line)
    if run:
        yield quoted, "\n".join(run)
