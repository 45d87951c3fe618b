"""A text file as an outline: what is in it and where, and how to read it again. Pure (FEATURES T2)."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bot.estimate.cuts import beginning
from bot.history.file_headers import outline_header

MOST_LINES = 30
MOST_CHARACTERS = 1_500
READ_FILE = "read_file"

_LONGEST_LINE = 110
_FIRST_LINES = 12
_ROWS = 3


@dataclass(frozen=True)
class _Point:
    """One line of an outline: where it stands (characters from the beginning; None: nowhere exactly), how deep."""

    text: str
    at: int | None = None
    depth: int = 0


_Finder = Callable[[str], list[_Point]]


def outline(path: str, text: str, *, tool: str = READ_FILE, offset: int = 0) -> str:
    """What a file holds, in at most 30 lines and 1,500 characters, and the call of ``tool`` that reads it again.

    Headings of Markdown, signatures of code, keys of JSON, YAML, TOML and INI, the first rows of a table, else the
    first lines. ``text`` begins ``offset`` characters into the file. Headings and signatures are numbered with the
    offset at which ``read_file`` finds them. Where an outline would not be shorter, it is the text itself.
    """
    name = path.rsplit("/", 1)[-1]
    kind = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    points = _FINDERS.get(kind, _first_lines)(text) or _first_lines(text)
    again = call_of(path, tool=tool, offset=offset)
    has_offsets = tool == READ_FILE and any(point.at is not None for point in points)
    again += "; the numbers below are offsets" if has_offsets else ""
    header = outline_header(path, len(text), again)
    room = MOST_CHARACTERS - len(header)
    lines = [header, *_fitting(points, room, offset if has_offsets else None)]
    made = "\n".join(lines)
    return made if len(made) < len(text) else text


def call_of(path: str, *, tool: str = READ_FILE, offset: int = 0) -> str:
    """How a model would write the call that reads a file from this character on."""
    place = f", offset={offset}" if offset else ""
    return f"{tool}({json.dumps(path, ensure_ascii=False)}{place})"


def _fitting(points: list[_Point], room: int, offset: int | None) -> list[str]:
    """The points as lines: the deepest go first when there are too many, then the last."""
    depths = sorted({point.depth for point in points})
    while len(depths) > 1 and (len(points) > MOST_LINES - 2 or _size(points, offset) > room):
        deepest = depths.pop()
        points = [point for point in points if point.depth < deepest]
    lines: list[str] = []
    for point in points:
        line = _line(point, offset)
        room -= len(line) + 1
        if room < len("… and 100,000 more") or len(lines) == MOST_LINES - 2:
            lines.append(f"… and {len(points) - len(lines):,} more")
            break
        lines.append(line)
    return lines


def _size(points: list[_Point], offset: int | None) -> int:
    return sum(len(_line(point, offset)) + 1 for point in points)


def _line(point: _Point, offset: int | None) -> str:
    text = beginning(point.text, _LONGEST_LINE)
    return text if offset is None or point.at is None else f"{offset + point.at}: {text}"


def _first_lines(text: str) -> list[_Point]:
    lines = text.splitlines()
    shown = [_Point(line.rstrip()) for line in lines if line.strip()][:_FIRST_LINES]
    return [_Point(f"{len(lines):,} lines; it begins:"), *shown]


_HEADING = re.compile(r"(#{1,6})[ \t]+\S")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def _headings(text: str) -> list[_Point]:
    points: list[_Point] = []
    fence = ""
    for at, line in _lines(text):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _HEADING.match(line)):
            points.append(_Point(line.rstrip(), at, len(heading[1])))
    return points


_MODIFIERS = r"""(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual
    |sealed|open|data|inline|unsafe|extern|partial|readonly|suspend|declare|pub(?:\([a-z]{1,9}\))?)[ \t]+){0,6}"""
_SIGNATURE = re.compile(
    rf"""
    [ \t]{{0,40}}
    (?: {_MODIFIERS}(?:class|interface|enum|struct|trait|impl|record|object|module|namespace|protocol|extension|type
          |def|fn|fun|func|function\*?|sub|proc)[ \t<]+[\w$(&*\[]
      | (?:export[ \t]+)?(?:const|let|var)[ \t]+[\w$]{{1,80}}[ \t]*=[ \t]*(?:async[ \t]*)?
          (?:function\b|\([^()\n]{{0,120}}\)[^=\n]{{0,40}}=>|[\w$]{{1,80}}[ \t]*=>)
      | [\w-]{{1,80}}[ \t]*\(\)[ \t]*\{{
      | (?i:create)[ \t]+(?i:or[ \t]+replace[ \t]+)?(?i:unique[ \t]+|temp(?:orary)?[ \t]+)?
          (?i:table|view|index|function|procedure|trigger|type)\b
    )
    """,
    re.VERBOSE,
)
_C_FUNCTION = re.compile(
    r"""
    (?![ \t]*(?:return|if|else|for|while|switch|case|throw|new|await|yield|delete|using|goto|do|catch)\b)
    [ \t]{0,12}(?:[\w:<>,*&\[\]@~]{1,60}[ \t]+){1,6}[*&]{0,2}[\w:~]{1,80}\([^;{}\n]{0,200}\{?[ \t]*$
    """,
    re.VERBOSE,
)


def _signatures(text: str) -> list[_Point]:
    return [
        _Point(line.rstrip(" \t{:").strip(), at, _indent(line)) for at, line in _lines(text) if _SIGNATURE.match(line)
    ]


def _c_signatures(text: str) -> list[_Point]:
    return [
        _Point(line.rstrip(" \t{").strip(), at, _indent(line))
        for at, line in _lines(text)
        if _SIGNATURE.match(line) or _C_FUNCTION.match(line)
    ]


_JSON_KEY = re.compile(r'[ \t]{0,8}"[^"\n]{1,80}"[ \t]*:')


def _json_keys(text: str) -> list[_Point]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # Only a part of it is here, or it is one value a line.
        found = [_Point(line.strip(), at, _indent(line)) for at, line in _lines(text) if _JSON_KEY.match(line)]
        return found or _json_lines(text)
    return list(_members(value))


def _json_lines(text: str) -> list[_Point]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    try:
        members = list(_members(json.loads(first)))
    except (ValueError, RecursionError):
        return []
    return [_Point(f"{len(text.splitlines()):,} lines, each one value; the first:"), *members]


def _members(value: Any) -> Iterator[_Point]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield _Point(f"{json.dumps(key, ensure_ascii=False)}: {_brief(item)}")
    else:
        yield _Point(_brief(value))
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield _Point("the first of them:")
            yield from _members(value[0])


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(islice(value, 6))
        return f"object of {len(value)}: {keys}" if value else "empty object"
    if isinstance(value, list):
        return f"list of {len(value)}"
    return beginning(json.dumps(value, ensure_ascii=False), _LONGEST_LINE)


_YAML_KEY = re.compile(r"[ ]{0,12}(?:-[ ]+)?[\w.\-/\"']{1,80}[ ]*:(?:\s|$)")
_SECTION = re.compile(r"[ \t]{0,8}\[{1,2}[^\]\n]{1,100}\]{1,2}[ \t]*(?:[#;]|$)")
_SETTING = re.compile(r"[ \t]{0,8}(?:export[ \t]+)?[\w.\-\"']{1,80}[ \t]*[=:]")


def _yaml_keys(text: str) -> list[_Point]:
    return [_Point(line.rstrip(), at, _indent(line)) for at, line in _lines(text) if _YAML_KEY.match(line)]


def _settings(text: str) -> list[_Point]:
    points: list[_Point] = []
    for at, line in _lines(text):
        if _SECTION.match(line):
            points.append(_Point(line.strip(), at))
        elif _SETTING.match(line):
            points.append(_Point(f"  {line.strip()}", at, 1))
    return points


def _table(separator: str) -> _Finder:
    def rows(text: str) -> list[_Point]:
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            return []
        try:
            columns = len(next(csv.reader([lines[0]], delimiter=separator)))
        except csv.Error:
            return []
        count = _Point(f"{len(lines) - 1:,} rows of {columns} columns; the header and the first rows:")
        return [count, *(_Point(line) for line in lines[: _ROWS + 1])]

    return rows


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line, and the offset of its first character."""
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _indent(line: str) -> int:
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip())


_CODE = "py pyi pyx js jsx mjs cjs ts tsx rs go kt kts rb php swift scala lua sh bash zsh sql pl ex exs jl r vue svelte"
_C_CODE = "c h cc cpp cxx hh hpp java cs m mm dart groovy proto zig"
_FINDERS: dict[str, _Finder] = {
    **dict.fromkeys(("md", "markdown", "mdx"), _headings),
    **dict.fromkeys(_CODE.split(), _signatures),
    **dict.fromkeys(_C_CODE.split(), _c_signatures),
    **dict.fromkeys(("json", "jsonl", "ndjson", "json5", "ipynb"), _json_keys),
    **dict.fromkeys(("yaml", "yml"), _yaml_keys),
    **dict.fromkeys(("toml", "ini", "cfg", "conf", "env", "properties"), _settings),
    "csv": _table(","),
    "tsv": _table("\t"),
}
