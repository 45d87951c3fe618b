"""Sections as the Markdown of a daily file, and back.

What stands in the file already is not written again: a line outside of all fences says which lines those are, with the
beginning of their SHA-256, by which a reader knows that they are the ones. A body that holds something like a heading
is moved by a space, as Markdown allows it with its fence, so that no outline takes that for a section.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

from bot.compaction.trace.lines import Lines
from bot.compaction.trace.section import Body, Section, lines_of

LEAST = 300
"""Characters from which on it is said where they stand: of less the place would be no shorter, and harder to read."""
HEADING = "## "
"""What a section begins with."""
_TICKS = re.compile(r"`+")
_FENCE = re.compile(r"(?P<moved> ?)(?P<ticks>`{3,})(?P<language>\w*)")
_AGAIN = re.compile(
    r"(?P<moved> ?)\*(?:(?P<language>\w+) )?as lines? (?P<first>\d+)(?:-(?P<last>\d+))? \((?P<digest>[0-9a-f]{8})\)\*"
)


class BrokenTrace(ValueError):
    """A file is not as it was written: what it refers to is not there."""


def appended(section: Section | str, page: Lines) -> str:
    """The text of a section behind these lines, which are those of its file; they become those with it. A section that
    an earlier version wrote is a text, and stays as it is."""
    if isinstance(section, str):
        for line in lines_of(section.removesuffix("\n")):
            page.add(line)
        return section
    return _written(section, page)


def in_full(section: Section | str) -> str:
    """The text of a section by itself, which refers to nothing."""
    return section if isinstance(section, str) else _written(section, None)


def sections_in(text: str) -> list[Section]:
    """Those of a file, whichever version wrote it, with every word of what they refer to. Raises BrokenTrace."""
    lines = lines_of(text)
    found: list[list[str | Body]] = []
    at = 0
    while at < len(lines):
        if _FENCE.fullmatch(lines[at]) or _AGAIN.fullmatch(lines[at]):
            body, at = _read(lines, at)
            if found:
                found[-1].append(body)
            continue
        if lines[at].startswith(HEADING):
            found.append([])
        if found:
            found[-1].append(lines[at])
        at += 1
    return [tuple(_without_end(parts)) for parts in found]


def _without_end(parts: list[str | Body]) -> list[str | Body]:
    while parts and parts[-1] == "":
        del parts[-1]
    return parts


def _written(section: Section, page: Lines | None) -> str:
    out: list[str] = []

    def put(line: str) -> None:
        out.append(line)
        if page is not None:
            page.add(line)

    for part in section:
        if isinstance(part, Body):
            _write(part, page, put)
        else:
            put(part)
    put("")
    return "\n".join(out) + "\n"


def _write(body: Body, page: Lines | None, put: Callable[[str], None]) -> None:
    lines = lines_of(body.text.encode(errors="replace").decode())  # as a file has it: half a character has no bytes
    moved = " " if any(line.startswith("#") for line in lines) else ""
    fence = moved + "`" * max(3, 1 + max((len(ticks) for ticks in _TICKS.findall(body.text)), default=0))
    shown = [moved + line if line else line for line in lines]
    at, is_open = 0, False
    while at < len(shown):
        place, count = page.longest(shown, at) if page is not None else (0, 0)
        again = shown[at : at + count]
        if sum(map(len, again)) + count >= LEAST:
            if is_open:
                put(fence)
                is_open = False
            language = f"{body.language} " if body.language else ""
            put(f"{moved}*{language}as {_named(place, count)} ({_digest(again)})*")
            at += count
            continue
        if not is_open:
            put(fence + body.language)
            is_open = True
        put(shown[at])
        at += 1
    if is_open:
        put(fence)


def _named(place: int, count: int) -> str:
    return f"line {place + 1}" if count == 1 else f"lines {place + 1}-{place + count}"


def _digest(lines: Sequence[str]) -> str:
    return sha256("\n".join(lines).encode(errors="replace")).hexdigest()[:8]


def _read(lines: Sequence[str], at: int) -> tuple[Body, int]:
    """The body that begins at a line, and the line behind it."""
    found, language, moved = list[str](), "", ""
    while at < len(lines):
        if fence := _FENCE.fullmatch(lines[at]):
            end = _end(lines, at, fence["moved"] + fence["ticks"])
            found += lines[at + 1 : end]
            language, moved, at = fence["language"], fence["moved"], end + 1
        elif again := _AGAIN.fullmatch(lines[at]):
            found += _again(lines, again)
            language, moved, at = again["language"] or "", again["moved"], at + 1
        else:
            break
    return Body("\n".join(_moved_back(found) if moved else found), language), at


def _end(lines: Sequence[str], at: int, fence: str) -> int:
    for end in range(at + 1, len(lines)):
        if lines[end] == fence:
            return end
    raise BrokenTrace(f"what begins in line {at + 1} has no end")


def _again(lines: Sequence[str], again: re.Match[str]) -> Sequence[str]:
    first = int(again["first"])
    found = lines[first - 1 : int(again["last"] or first)]
    if _digest(found) != again["digest"]:
        raise BrokenTrace(f"line {first} is not what a later one says that it is")
    return found


def _moved_back(lines: Sequence[str]) -> Iterator[str]:
    return (line.removeprefix(" ") for line in lines)
