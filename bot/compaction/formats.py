"""What a tool's text is: JSON (whole, in lines, cut off), a table, ``name: value`` lines, tags; or plain lines. Pure.

Whatever the form, it comes out as objects, lists and strings, each string as it was written: a number keeps its zeros.
What is in no form comes out as the text that it is.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

LONGEST = 400_000
"""Characters of a result that are looked at."""
_LONGEST_NAME = 40
_MOST_FAILURES = 20
"""Places in one text that look like JSON and are none, at most; behind them nothing is taken for JSON."""
_LONGEST_LITERAL = 50_000
_DEEPEST = 40
_ENOUGH = 0.7
"""Share of the lines of a block that have to be of a form, for the block to be of it."""
_SOME, _FEW = 2, 3
"""Names, cells or lines from which on it is no chance that they look like a form: with a mark for it, and without."""

_OPENS = re.compile(r"^\s*(?=[\[{])[\[{](?=\s*[\[{\"\]}\d-])|(?<=[:=>\s])(?:\{(?=\s*\")|\[(?=\s*[\[{]))", re.MULTILINE)
_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)
_TOKEN = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)\s*')
_LOOSE = re.compile(r'"([^"\\\n]{1,60})"\s*:\s*(?:"((?:[^"\\\n]|\\.)*)"|([^\s,{}\[\]"]+))')
_TAG = re.compile(
    r"<(/?)([A-Za-z_][\w:.-]{0,60})((?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(/?)>|([^<]+)|<[^>]*>|<"
)
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_IS_TAGGED = re.compile(r"\s*<(?:\?xml|(?!!?(?:doctype|html)\b)[A-Za-z_][\w:.-]*[\s>/])", re.IGNORECASE)
_RULE = re.compile(r"[\s|+:=─━┼│├┤-]*[-=─━]{2,}[\s|+:=─━┼│├┤-]*\Z")
_NAME = r"[^\W\d][^\s:=,;|{}()\[\]<>\"]*(?: [^\s:=,;|{}()\[\]<>\"]+){0,3}"
_PAIR = re.compile(rf"(\s*)([-*•]\s+)?(?:\"?({_NAME}|\d{{1,20}})\"?\s?(?::(?=\s|\Z)|=(?!=))\s*(.*)|(?<=[-*•]\s)(.+))\Z")
_INLINE = re.compile(rf"(?:\A|[,;|]\s*)(?:[-*•]\s+|\d{{1,4}}[.)]\s+)?({_NAME})\s?[:=]\s?(?=\S)")
_LINE_NUMBER = re.compile(r"\s*(\d{1,7}):(\s{2}|\s*\Z)?")
_LOGFMT = re.compile(r"(?:\A|(?<=\s))([^\W\d][\w.-]{0,39})=(\"[^\"]*\"|[^\s\"]+)(?=\s|\Z)")


_JSON = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def parts_of(text: str) -> Iterator[Any]:
    """A tool's text as what it consists of, in order: objects and lists, and the texts between them as strings."""
    at = searched = failures = 0
    may_open = "{" in text or "[" in text
    while may_open and failures < _MOST_FAILURES and (opening := _OPENS.search(text, searched)):
        start = opening.end() - 1
        try:
            value, end = _JSON.raw_decode(text, start)
        except RecursionError:
            break
        except ValueError as error:
            found = _mended(text[start : getattr(error, "pos", start)])
            if found is None:
                failures, searched = failures + 1, start + 1
                continue
            value, end = found[0], start + found[1]
        if isinstance(value, dict | list) and (value or not text[:start].strip()) and not is_too_deep(value):
            yield from _plain_parts(text[at:start])
            yield value
            at = end
        searched = end
    yield from _plain_parts(text[at:])


def is_too_deep(value: dict[str, Any] | list[Any]) -> bool:
    """Whether nobody who reads it would come to its end: each level of it takes a frame or two of those there are."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = list(chain.from_iterable(inner))
    return bool(level)


def _mended(text: str) -> tuple[Any, int] | None:
    """The JSON that a text begins with, up to the last value in it that is whole, and where that ends."""
    closing: list[str] = []
    safe, closers, at, names = 0, "", 0, 0
    while (token := _TOKEN.match(text, at)) and len(closing) < _DEEPEST:
        mark = token[0].strip()
        if mark == ",":
            safe, closers = at, "".join(reversed(closing))
        elif mark in "{[":
            closing.append("}" if mark == "{" else "]")
        elif mark in "}]":
            if not closing or closing.pop() != mark or not closing:
                break
            safe, closers = token.end(), "".join(reversed(closing))
        names += mark == ":"
        at = token.end()
    if names < _SOME or not safe:
        return None
    try:
        return _JSON.decode(text[:safe] + closers), safe
    except (ValueError, RecursionError):
        return None


def _plain_parts(text: str) -> Iterator[Any]:
    text = _FENCE.sub("", text) if "```" in text else text
    if not text.strip(" \n\r\t,]}"):
        return
    if (literal := _literal(text)) is not None:
        yield literal
        return
    if _IS_TAGGED.match(text) and (tree := _tagged(text)):
        yield tree
        return
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield from _of_block(block)
            block = []


def _literal(text: str) -> Any:
    """What programs in Python print of their values."""
    bare = text.strip()
    if bare[:2] not in ("{'", "['", "[{", "[(", '{"') or len(bare) > _LONGEST_LITERAL:
        return None
    try:
        value = ast.literal_eval(bare)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _of_block(lines: Sequence[str]) -> Iterator[Any]:
    """Lines without a blank one between them."""
    for first in range(min(_FEW, len(lines))):  # a table may have a title
        for table in (_piped, _divided, _spaced):
            if rows := table(lines[first:]):
                yield from (["\n".join(lines[:first]), rows] if first else [rows])
                return
    pairs = [_PAIR.match(line.rstrip().rstrip(",")) for line in lines]
    inline = [_inline(line) for line in lines]
    if sum(fields is not None for fields in inline) > max(1, _ENOUGH * (len(lines) - 1)) or all(inline):
        yield from (fields or line for line, fields in zip(lines, inline, strict=True))
    elif _is_numbered(lines):
        yield "\n".join(lines)
    elif sum(1 for pair in pairs if pair and pair[3]) >= max(_SOME, _ENOUGH * (len(lines) - 1)):
        outside = [line for line, pair in zip(lines, pairs, strict=True) if pair is None]
        yield from ["\n".join(outside)] if outside else []
        items = [_item(pair) for pair in pairs if pair]
        at = 0
        while at < len(items):
            value, at = _tree(items, at, 0)
            yield value
    elif rows := _loose(lines):
        yield rows
    else:
        yield "\n".join(lines)


def _is_numbered(lines: Sequence[str]) -> bool:
    """Whether most lines begin with their number, and some are empty behind it or indented: a listing of a text, as
    programs show files, and no list of things by their numbers."""
    hits = [(at, hit) for at, line in enumerate(lines) if (hit := _LINE_NUMBER.match(line))]
    counted = Counter(int(hit[1]) - at for at, hit in hits)
    is_counted = any(count >= max(_FEW, _ENOUGH * (len(lines) - 1)) for count in counted.values())
    return is_counted and any(hit[2] is not None for _, hit in hits)


def _piped(lines: Sequence[str]) -> list[dict[str, str]]:
    """A table whose cells stand between ``|``, with a line below its head."""
    if not any(map(_RULE.match, lines[:3])):
        return []
    bars = [line.replace("│", "|") for line in lines if ("|" in line or "│" in line) and not _RULE.match(line)]
    return _table([[cell.strip() for cell in _unframed(line).split("|")] for line in bars]) if len(bars) > 1 else []


def _unframed(line: str) -> str:
    bare = line.strip()
    return bare[1:-1] if bare.startswith("|") and bare.endswith("|") and len(bare) > 1 else bare


def _divided(lines: Sequence[str]) -> list[dict[str, str]]:
    """A table whose cells stand between tabs, semicolons or commas."""
    for mark in ("\t", ";", ","):
        if mark in lines[0] and (f"{mark} " not in lines[0] or lines[0].count(mark) >= _SOME):
            cells = [_cells(line, mark) for line in lines]
            if rows := _table(cells):
                return rows
    return []


def _cells(line: str, mark: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(mark)]
    pattern = rf'(?:"((?:[^"]|"")*)"|([^{mark}]*))(?:{mark}|\Z)'
    found = [(quoted.replace('""', '"') or bare).strip() for quoted, bare in re.findall(pattern, line)]
    return found if line.endswith(mark) else found[:-1]


def _spaced(lines: Sequence[str]) -> list[dict[str, str]]:
    """A table whose columns stand below each other."""
    if (
        len(lines) >= _FEW
        and (rule := lines[1].rstrip())
        and not rule.strip("-= ")
        and "  " in f"{rule} -"
        and " " in rule
    ):
        starts = [hit.start() for hit in re.finditer(r"[-=]+", rule)]
        ends = [*starts[1:], None]
        cut = [[line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in (lines[0], *lines[2:])]
        return _table(cut)
    if len(lines) < _FEW or lines[0][:1].isspace():
        return []
    cells = [re.split(r"\s{2,}|\t", line.strip()) for line in lines if not _RULE.match(line)]
    return _table(cells) if len(cells[0]) >= _FEW else []


def _table(cells: Sequence[list[str]]) -> list[dict[str, str]]:
    """Rows by the names in the first of them, if it has names and enough of the others are as long."""
    head, rows = cells[0], [row for row in cells[1:] if len(row) == len(cells[0])]
    named = [name for name in head if name]
    if len(head) < _SOME or not rows or len(rows) < _ENOUGH * (len(cells) - 1) or len(named) < len(head) - 1:
        return []
    pairs = sum(": " in cell or "=" in cell for cell in head)
    if 2 * pairs >= len(head) or any(len(name) > _LONGEST_NAME or ". " in name for name in head):
        return []
    if not all(map(_is_name, named)) or len(set(named)) < len(named):
        if len(rows) < _FEW or not all(any(map(str.isdigit, "".join(row))) for row in (head, *rows)):
            return []
        rows, head = [head, *rows], [str(at) for at in range(1, len(head) + 1)]
    return [{name: cell for name, cell in zip(head, row, strict=True) if cell} for row in rows]


def _is_name(cell: str) -> bool:
    """Whether a cell may be what a column is called, and no value: it has no digits but at its end."""
    bare = cell.rstrip("0123456789")
    return any(map(str.isalpha, cell)) and not any(map(str.isdigit, bare)) and not set(cell) & set("@:=<>{}/\\")


def _inline(line: str) -> dict[str, str] | None:
    """A line that is nothing but names with values: ``id: 7, city: Rome`` or ``id=7 city=Rome``."""
    if ":" not in line and "=" not in line:
        return None
    bare = line.strip()
    found = list(_LOGFMT.finditer(bare))
    if len(found) > 1 and sum(len(hit[0]) + 1 for hit in found) >= len(bare) - 4:
        return {hit[1]: hit[2].strip('"') for hit in found}
    starts = list(_INLINE.finditer(bare))
    if len(starts) < _SOME or starts[0].start() or len({hit[1] for hit in starts}) < len(starts):
        return None
    ends = [*(hit.start() for hit in starts[1:]), len(bare)]
    return {hit[1]: bare[hit.end() : end].strip(" ,;|") for hit, end in zip(starts, ends, strict=True)}


_Item = tuple[int, bool, str, str]
"""How far it is indented, whether it begins something in a list, its name, its value."""


def _item(pair: re.Match[str]) -> _Item:
    indent = len(pair[1].expandtabs()) + len(pair[2] or "")
    value = pair[5] or pair[4] or ""
    return indent, bool(pair[2]), pair[3] or "", value.strip().strip('"')


def _tree(items: Sequence[_Item], at: int, depth: int) -> tuple[Any, int]:
    """What is indented alike from here on: an object, or a list of them where a name comes again."""
    level = items[at][0]
    rows: list[dict[str, Any]] = [{}]
    while at < len(items) and items[at][0] >= level:
        indent, begins, name, value = items[at]
        if (begins or name in rows[-1]) and rows[-1]:
            rows.append({})
        at += 1
        inner = not value and at < len(items) and depth < _DEEPEST and items[at][0] > indent
        rows[-1][name], at = _tree(items, at, depth + 1) if inner else (value, at)
    if all(list(row) == [""] for row in rows):
        return [row[""] for row in rows], at
    return rows if len(rows) > 1 else rows[0], at


def _loose(lines: Sequence[str]) -> list[dict[str, str]]:
    """What was JSON before it was cut: names with values, a new row where a name comes again."""
    rows: list[dict[str, str]] = [{}]
    text = "\n".join(lines)
    found = _LOOSE.findall(text) if '":' in text else []
    for name, quoted, bare in found:
        if name in rows[-1]:
            rows.append({})
        rows[-1][name] = quoted or bare
    return rows if len(found) >= _FEW else []


def _tagged(text: str) -> Any:
    """XML and what looks like it, without what it may define: attributes and what stands in an element are its fields,
    and elements of one name are a list."""
    root: dict[str, Any] = {}
    stack: list[tuple[str, dict[str, Any]]] = [("", root)]
    for hit in _TAG.finditer(text):
        closes, name, attributes, empty, said = hit.groups()
        if said is not None:
            if said.strip():
                stack[-1][1].setdefault("", said.strip())
        elif closes:
            if any(open_name == name for open_name, _ in stack[1:]):
                while _close(stack) != name:
                    pass
        elif name:
            fields = {key: double or single for key, double, single in _ATTRIBUTE.findall(attributes)}
            stack.append((name, fields))
            if empty or len(stack) > _DEEPEST:
                _close(stack)
    while len(stack) > 1:
        _close(stack)
    return {name: value for name, value in root.items() if name}


def _close(stack: list[tuple[str, dict[str, Any]]]) -> str:
    """What is open last belongs to what is open around it."""
    name, fields = stack.pop()
    value: Any = fields[""] if list(fields) == [""] else fields
    around = stack[-1][1]
    if name not in around:
        around[name] = value
    elif isinstance(around[name], list):
        around[name].append(value)
    else:
        around[name] = [around[name], value]
    return name
