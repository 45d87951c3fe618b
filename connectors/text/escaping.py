"""What keeps text literal in Discord's dialect, with no more backslashes than that takes. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

_LINE_START = re.compile(
    r"(?P<indent>\s*)"
    r"(?:(?P<mark>(?:#{1,3}|>|>>>|-|-#|\*)(?=\s|$))|(?P<number>\d+)\.(?=\s|$))"
)
_RISKY = re.compile(
    r"(?P<always>`)"
    r"|(?P<backslash>\\(?=[^0-9A-Za-z\s]|$))"
    r"|(?P<star>\*+)"
    r"|(?P<underscore>_+)"
    r"|(?P<pair>~+|\|+)"
    r"|(?P<angle><(?=[@#:/+]|[A-Za-z]+:|$))"
    r"|(?P<bracket>[\[\]])"
    r"|(?P<colon>(?:(?<=http)|(?<=ttps)):(?=//[^\s<]))"
)
_ENDS_ITALIC = re.compile(r"_(?![0-9A-Za-z_])")
_IN_WORD = re.compile(r"[0-9A-Za-z]_[0-9A-Za-z]")
_ENDS_LINK = re.compile(r"(?<!\[)\](?=\(http)")
_FENCE = "```"
_BACKTICKS = re.compile("`+")
_INVISIBLE = "\N{ZERO WIDTH SPACE}"
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]+")


@dataclass(frozen=True)
class Dangers:
    """What else is in a message that makes characters markup which are none by themselves."""

    links: bool
    """Brackets could be taken for a link's."""
    underscores: bool
    """One that cannot be escaped, in code, could end what another one within a word begins."""

    @classmethod
    def of(cls, text: str, verbatim: Iterable[str], *, has_links: bool) -> Dangers:
        """``verbatim`` are the parts of the text that are written as they are."""
        return cls(has_links or "](" in text, any(_ENDS_ITALIC.search(part) for part in verbatim))


def escaped(text: str, dangers: Dangers, *, before: str, after: str, at_start: bool, styled: bool) -> str:
    """Text as such. ``before`` and ``after`` are the characters beside it, if any, on the same line.

    ``at_start``: only bullets stand before it on its line. ``styled``: it is within bold, italic or struck text.
    """
    first = _LINE_START.match(text) if at_start else None
    begin, opening = 0, ""
    if first and first["number"]:
        begin, opening = first.end(), f"{first['indent']}{first['number']}\\."
    elif first:
        begin, opening = first.end(), f"{first['indent']}\\{first['mark']}"

    def one(found: re.Match[str]) -> str:
        run = found[0]
        left = text[found.start() - 1] if found.start() else before
        right = text[found.end()] if found.end() < len(text) else after
        if found["star"] and not styled and len(run) == 1 and _is_loose(left, right):
            return run
        if run == "_" and not dangers.underscores and _IN_WORD.match(text, max(0, found.start() - 1)):
            return run
        if found["pair"] and len(run) == 1 and run not in {left, right}:
            return run
        if (found["angle"] or found["backslash"]) and not right:
            return run
        if run == "]" and right == "(":
            return f"]{_INVISIBLE}"  # a backslash would not do: Discord looks for a link's end without regard to them
        if found["bracket"] and not dangers.links:
            return run
        return "".join(f"\\{character}" for character in run)

    return opening + "".join(_parts(text, begin, one))


def _parts(text: str, begin: int, one: Callable[[re.Match[str]], str]) -> Iterator[str]:
    for found in _RISKY.finditer(text, begin):
        yield text[begin : found.start()]
        yield one(found)
        begin = found.end()
    yield text[begin:]


def _is_loose(left: str, right: str) -> bool:
    """Whether a star has white space on both sides, and so marks nothing."""
    return (not left or left.isspace()) and (not right or right.isspace())


def code_span(text: str, dangers: Dangers) -> str:
    """Code within a line. Three backticks would begin a block, so there are at most two around it."""
    if dangers.links:
        text = _ENDS_LINK.sub(rf"\g<0>{_INVISIBLE}", text)
    runs = {len(run) for run in _BACKTICKS.findall(text)}
    if {1, 2} <= runs:
        text, runs = _BACKTICKS.sub(lambda run: _INVISIBLE.join(run[0]), text), {1}
    fence = "``" if runs and 2 not in runs else "`"  # noqa: PLR2004 - the length of the fence
    padding = " " if runs and "`" in {text[0], text[-1]} else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def code_block(text: str, language: str | None) -> str:
    """Lines of code. Three backticks in it would end it, whatever surrounds it, so something invisible parts them."""
    named = language if language and _LANGUAGE.fullmatch(language) else ""
    return f"{_FENCE}{named}\n{_BACKTICKS.sub(_harmless, text)}\n{_FENCE}"


def _harmless(run: re.Match[str]) -> str:
    return run[0] if len(run[0]) < len(_FENCE) else _INVISIBLE.join(run[0])
