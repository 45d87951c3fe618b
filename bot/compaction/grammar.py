r"""What the exact details of a text look like: addresses, paths, days, times, quotes. Pure.

The pieces of the patterns by which :mod:`bot.compaction.summary.details` and :mod:`bot.compaction.facts` find them, so
that a path is one and the same to both.

For verbose patterns: no piece has a group of its own, and each is bounded, so that any text takes linear time. A piece
may stand behind a letter of writing without blanks ("看https://…", "在3:30"), where ``\b`` finds no beginning.

On purpose the two differ, and have patterns of their own, in these:

- ids: a person's sentence has few, so whatever mixes letters and digits is one (``facts.words``); in logs, which a
  summary stands for as well, most of that is noise, so only known forms count there (``summary.details``);
- numbers: a fact is compared by what its number counts, whatever that is ("four passengers"); a summary must keep those
  with a known unit, of three digits and more, and versions;
- days: "Monday" and "March 2026" are values that a later sentence corrects, and no detail that a summary could lose;
- names: of a sentence alone, or of texts with headings, lists and labels;
- a file by its name alone ("notes.md") is a detail by its known ending; a fact needs a folder, or "e.g." would be one.

A cell of a record and an argument of a tool are whole values, and no part of a text: ``facts.brief``,
``parts.file_references``. A path that is a date after all is told by ``facts.dates``.

Where a path ends in prose, blanks included, is told from what stands around it: :mod:`bot.compaction.facts.places`.
What a command line names is the shell's grammar: :mod:`bot.compaction.memory_gate`.
"""

from __future__ import annotations

import re

CAPITAL, SMALL = "A-ZÀ-ÖØ-ÞА-ЯЁ", "a-zß-öø-ÿа-яё"
"""Letters that names are told by, for a class."""

FREE = r"(?<![A-Za-z0-9_])"
"""A number begins here; a Chinese character may stand before it."""

URL = r"https?://[^\s<>\"'`)\]}，。]{3,300}"
EMAIL = r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"

EXTENSION = r"\.[A-Za-z]\w{0,7}"
_NAME = r"[\w.@+-]{1,80}"
PATH = rf"""
    (?:(?<![\w/:.@])[A-Za-z]:\\[^\s\"'<>|:*?]{{2,200}}
    | (?<![\w/:.@+~<-])(?:~|\.{{1,2}})?(?:/{_NAME}){{2,20}}/?
    | (?<![\w/:.@+~-])~/{_NAME}
    | (?<![\w/:.@+~-]){_NAME}(?:/{_NAME}){{1,20}}{EXTENSION}\b)
"""
SEPARATOR = re.compile(r"[\\/]+")

MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_MONTH_RU = r"(?:январ|феврал|март|апрел|ма[йя]|июн|июл|август|сентябр|октябр|ноябр|декабр)[а-я]{0,3}"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
DAY = rf"""
    (?:{FREE}\d{{4}}-\d\d?-\d\d?\b
    | {FREE}{_NTH}(?:\ of)?\ {MONTH}(?:,?\ \d{{4}})?
    | \b{MONTH}\ {_NTH}\b(?:,?\ \d{{4}})?
    | {FREE}\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b
    | {FREE}\d{{1,2}}\ {_MONTH_RU}(?:\ \d{{4}})?
    | (?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号])
"""
TIME = rf"{FREE}\d{{1,2}}:\d\d(?::\d\d)?(?!\d)(?:\ ?[ap]\.?m\b)?"
CURRENCY_SIGN = "[€$£₽¥₹]"

QUOTED = re.compile(
    r"“([^”\n]{2,80})”|«([^»\n]{2,80})»|「([^」\n]{2,80})」|《([^》\n]{2,80})》|(?<!`)`([^`\n]{2,80})`(?!`)|\"([^\"\n]{2,80})\""
)
"""What stands between marks, in one of its groups."""


def last_name(path: str) -> str:
    """What a file or folder is called, in small letters: by that they are told from each other, wherever they are."""
    return SEPARATOR.split(path.rstrip("/\\"))[-1].casefold()
