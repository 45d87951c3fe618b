"""Places: paths and addresses in what a tool returned, and in what a person says. Pure.

No word of any language is read for it, only what stands around a path. In people's words a path counts where it can be
told where it ends: by marks, by the line, or by its own form. In a tool's answer only lines count that list a path,
since a sentence may as well say that there is none ("ls: cannot access '/home/ada/Desktop'", in any language).
A date that is written like a path (`2024/7/19`, `./2024/7/19`) is no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from bot.compaction.grammar import SEPARATOR, URL

LONGEST = 300
"""Characters of a place."""
_LONGEST_NAME = 120
_URL = re.compile(URL)
_ROOT = re.compile(r"(?P<windows>[A-Za-z]:[\\/](?![\\/])|\\\\(?=\w))|~?/(?!/)")
_IN_NO_NAME = re.compile(r"[:*?\"<>|`«»“”「」\t\n\x00-\x1f]")
_IN_PROSE = re.compile(
    r"\"(?P<double>[^\"]{2,300})\"|`(?P<code>[^`]{2,300})`|«(?P<angles>[^«»]{2,300})»|“(?P<curved>[^“”]{2,300})”"
    rf"|「(?P<corners>[^「」]{{2,300}})」|(?<!\w)'(?P<single>[^']{{2,300}})'(?!\w)|(?P<url>{URL})"
    r"|(?<![\w/\\:.@])(?P<windows>[A-Za-z]:[\\/]|\\\\(?=\w))"
    r"|(?<![\w/:.@~])(?P<posix>(?:~|\.{1,2})?(?:/(?:[\w.@+\-]|\\[ ]){1,80}){2,30}/?)"
)
_GOES_ON = re.compile(r"(?:[ ][^\W\d][\w.@+\-]{0,40}){1,3}[\\/]+\w")
"""After a path: words, and a separator that clings to them. Its name has a blank, or another path begins."""
_EXTENSION = re.compile(r"[^\\/.]\.[A-Za-z0-9]{1,8}\Z")
_MIXED = re.compile(r"[\x21-\x7e][^\x00-\x7f]+\Z")
"""A name that ends in another script than it began in: in some languages nothing stands between words."""
_SENTENCE_ENDS = re.compile(r"[.,;!?](?=\s)|[。，；！？]")
_ENDS = ".,;:!?。，；：！？)"
_MODE = re.compile(r"[-dlbcps][-rwxsStT]{9}\S?\s+\d+\s.{1,200}?\d\s(?P<path>(?:/|[A-Za-z]:\\).{1,300})\Z")
"""A line of `ls -l`."""
_ABOVE = re.compile(r"\s+[^\s\\/].{0,60}?[\s:](?P<path>[A-Za-z]:\\.{0,300})\Z")
"""What PowerShell and Windows' cmd say above a list, in whatever language: "    Directory: C:\\Users\\Ada"."""
_ASSIGNED = re.compile(r"[A-Za-z_]\w{0,80}=(?P<path>.+)\Z")

_LED = r"(?:~|\.{1,2})?[/\\]"
"""What makes a path of what stands behind it."""
_SLASHED = r"(?:\d{4}[/\\]\d{1,2}[/\\]\d{1,2}|\d{1,2}[/\\]\d{1,2}[/\\]\d{4})"
_WHOLE = r"(?:\d{4}([-.])\d{1,2}\1\d{1,2}|\d{1,2}([-.])\d{1,2}\2\d{4})"
_TIME = r"(?:T\d[\d:.]*Z?)?"
_DATE_IN_TEXT = re.compile(
    rf"(?<![\w/\\.:~@%=-])(?:(?:{_LED})?{_SLASHED}|{_LED}{_WHOLE}|{_LED}\d{{1,4}}[/\\]\d{{1,2}}){_TIME}[/\\]?(?![\w/\\@:]|[-.]\w)",
    re.ASCII,
)
_MAY_HOLD_A_DATE = re.compile(r"[/\\][0-9]")
_IS_DATE = re.compile(
    rf"(?:{_LED})?(?:\d{{1,4}}[/\\.-]\d{{1,2}}(?:[/\\.-]\d{{1,4}})?|\d{{4}}[/\\]){_TIME}[/\\]?\Z", re.ASCII
)
_MOST_DATES = 10


def said_places(text: str) -> Iterator[str]:
    """The places that somebody's words name, each whole. Where it cannot be told where one ends, there is none."""
    for line in text.split("\n"):
        if whole := whole_place(line):
            yield whole
        else:
            yield from (place for _, place in named_places(line) if place)


def named_places(line: str) -> Iterator[tuple[int, str]]:
    """Where in a line a place is named, and the place; nothing where it cannot be told where it ends."""
    at = 0
    while hit := _IN_PROSE.search(line, at):
        place, start, at = hit[0], hit.start(), hit.end()
        if hit["windows"]:
            place = _windows_place(line[start : start + LONGEST])
            at = start + max(len(place), 2)
        if hit["windows"] or hit["posix"]:
            place = place.rstrip(_ENDS).replace("\\ ", " ") if _has_an_end(place, line[at:]) else ""
            yield start, place if len(place) > len("C:\\") and not _IS_DATE.fullmatch(place) else ""
        elif hit["url"]:
            yield start, place.rstrip(_ENDS)
        elif quoted := whole_place(hit[hit.lastgroup or 0] or "", marked=True):
            yield start, quoted


def listed_places(text: str) -> Iterator[str]:
    """The places that lines of a tool's answer list: a path alone, before a colon, behind a tab or a name and `=`, or
    as `ls -l` and Windows' `dir` put it."""
    for line in text.split("\n"):
        if len(line) <= 2 * LONGEST and (place := _listed(line.rstrip())):
            yield place


def whole_place(text: str, *, marked: bool = False) -> str:
    """The text without its marks, if it is a place and nothing else; else nothing. ``marked``: marks stood around it,
    so that the last name may have blanks: otherwise what follows a blank may say something of the place."""
    bare = text.strip()
    if len(bare) > LONGEST:
        return ""
    if bare[:1] in "\"'`" and bare[-1:] == bare[:1]:
        bare, marked = bare[1:-1], True
    bare = bare.rstrip(_ENDS) if not bare.endswith(("..", ")")) else bare
    if _URL.fullmatch(bare):
        return bare
    root = _ROOT.match(bare)
    if root is None:
        return ""
    parts = (SEPARATOR if root["windows"] else re.compile("/+")).split(bare[root.end() :].rstrip("\\/"))
    least = 1 if root["windows"] or bare.startswith("~") else 2
    whole = len(parts) >= least and all(map(_is_name, parts)) and (marked or " " not in parts[-1])
    return bare if whole and not _IS_DATE.fullmatch(bare) else ""


def is_place(text: str) -> bool:
    """Whether a text is a path or an address."""
    return text.strip() == text and bool(whole_place(text, marked=True))


def dates_like_places(text: str) -> list[str]:
    """The dates in a text that look like paths, each once, and at most ten."""
    if not _MAY_HOLD_A_DATE.search(text):
        return []
    return list(islice(dict.fromkeys(hit[0] for hit in _DATE_IN_TEXT.finditer(text)), _MOST_DATES))


def _is_name(part: str) -> bool:
    return 0 < len(part) <= _LONGEST_NAME and part == part.strip() and not _IN_NO_NAME.search(part)


def _has_an_end(place: str, after: str) -> bool:
    """Whether an unmarked path is known to end where a blank, or another script, follows: its name might go on."""
    if place.endswith(tuple(_ENDS)):
        return True
    if place.endswith(("/", "\\")) or _EXTENSION.search(place):
        return not _GOES_ON.match(after)
    return not re.match(r"[ ]+\w", after) and not _MIXED.search(place)


def _windows_place(text: str) -> str:
    """The path that the text begins with. The name of a folder may have blanks, that of what comes last may not: there
    the sentence goes on."""
    root = _ROOT.match(text)
    assert root is not None
    ends = _IN_NO_NAME.search(text, root.end())
    rest = text[: ends.start()] if ends else text
    at = root.end()
    for separator in SEPARATOR.finditer(rest, root.end()):
        name = rest[at : separator.start()]
        if not _is_name(name) or _SENTENCE_ENDS.search(name):
            break
        at = separator.end()
    last = re.match(r"[^\s]*", rest[at:])
    return rest[:at] + (last[0] if last else "")


def _listed(line: str) -> str:
    if whole := whole_place(line):
        return whole
    for pattern in (_MODE, _ABOVE, _ASSIGNED):
        if hit := pattern.match(line):
            return whole_place(hit["path"].partition(" -> ")[0])
    return whole_place(line.rpartition("\t")[2]) if "\t" in line else ""
