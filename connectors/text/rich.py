"""Markdown as Telegram's rich messages read it. Pure.

https://core.telegram.org/bots/api#rich-message-formatting-options: compatible with GitHub's Markdown, and with more
that is markup: ``==marked==``, ``||spoiler||``, ``$formula$``, ``[^note]``, HTML. So a reply is written anew, with
nothing in it but what it means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from connectors.text.layout import DONE, OPEN
from connectors.text.links import telegram_takes
from connectors.text.measure import utf16_length
from connectors.text.parsing import parse
from connectors.text.tree import (
    Block,
    Break,
    Code,
    CodeBlock,
    Heading,
    Inline,
    Item,
    Link,
    ListBlock,
    Paragraph,
    Quote,
    Rule,
    Styled,
    Table,
    Text,
    Url,
    plain,
)

LONGEST_TEXT = 32_768
MOST_BLOCKS = 500
"""Lists' items and tables' rows count as well."""
DEEPEST = 16
"""Levels of blocks and styles."""
MOST_COLUMNS = 20

_MARKUP = re.compile(r"[\\`*_\[\]<>!|~=$^&#{}]")
_LINE_START = re.compile(r"[-+](?=\s|$|-|\+)|(?P<number>\d+)(?P<delimiter>[.)])(?=\s|$)|:")
_MARKERS = {"bold": ("**", "b"), "italic": ("*", "i"), "strikethrough": ("~~", "s")}
_BETWEEN = "\N{ZERO WIDTH SPACE}"
_ALIGNED = {"left": ":---", "center": ":---:", "right": "---:"}


def rich_markdown(markdown: str) -> str | None:
    """A reply as the Markdown of one rich message, or None where a classic one shows it as well.

    That is without a table; and None too where it is beyond a limit of rich messages.
    """
    blocks = parse(markdown)
    tables = list(_tables(blocks))
    if not tables or max(len(table.alignments) for table in tables) > MOST_COLUMNS:
        return None
    if _count(blocks) > MOST_BLOCKS or _depth(blocks) > DEEPEST:
        return None
    written = _blocks(blocks)
    return written if utf16_length(written) <= LONGEST_TEXT else None


def _inside(block: Block) -> Sequence[Sequence[Block]]:
    match block:
        case Quote(blocks):
            return [blocks]
        case ListBlock(items):
            return [item.blocks for item in items]
    return []


def _tables(blocks: Sequence[Block]) -> list[Table]:
    found = []
    for block in blocks:
        if isinstance(block, Table):
            found.append(block)
        for inner in _inside(block):
            found += _tables(inner)
    return found


def _count(blocks: Sequence[Block]) -> int:
    total = 0
    for block in blocks:
        inner = _inside(block)
        rows = len(block.rows) if isinstance(block, Table) else 0
        total += 1 + rows + len(inner) + sum(_count(each) for each in inner)
    return total


def _depth(blocks: Sequence[Block]) -> int:
    deepest = 0
    for block in blocks:
        match block:
            case Paragraph(children) | Heading(children=children):
                depth = 1 + _style_depth(children)
            case Table(rows=rows):
                depth = 2 + max((_style_depth(cell) for row in rows for cell in row), default=0)
            case _:
                depth = 2 + max((_depth(inner) for inner in _inside(block)), default=0)
        deepest = max(deepest, depth)
    return deepest


def _style_depth(children: Sequence[Inline]) -> int:
    inner = [child.children for child in children if isinstance(child, Styled | Link)]
    return 1 + max(map(_style_depth, inner), default=0) if inner else 1


def _blocks(blocks: Sequence[Block], *, between: str = "\n\n") -> str:
    written = []
    other = False
    for before, block in zip((None, *blocks), blocks, strict=False):
        other = isinstance(before, ListBlock) and not other  # two lists in a row would become one
        if text := _block(block, other=other):
            written.append(text)
    return between.join(written)


def _block(block: Block, *, other: bool = False) -> str:
    match block:
        case Paragraph(children):
            return _inlines(children, line_end="  \n").strip()
        case Heading(level, children):
            text = _inlines(children, line_end=" ").strip()
            return f"{'#' * level} {text}" if text else ""
        case CodeBlock(text, language):
            longest = max((len(run) for run in re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            named = language if language and language.lower() != "math" else ""
            return f"{fence}{named}\n{text.rstrip()}\n{fence}" if text.strip() else ""
        case Quote(blocks):
            return "\n".join(f"> {line}".rstrip() for line in _blocks(blocks).split("\n")) if blocks else ""
        case ListBlock(items, first):
            return "\n".join(
                _item(item, None if first is None else first + number, other=other) for number, item in enumerate(items)
            )
        case Table(alignments, rows):
            lines = [_row([_cell(cell) for cell in row]) for row in rows]
            lines.insert(1, _row([_ALIGNED[alignment] for alignment in alignments]))
            return "\n".join(lines)
        case Rule():
            return "---"


def _cell(children: Sequence[Inline]) -> str:
    """What a cell says; a bar in code, which is not escaped yet, would end it."""
    return re.sub(r"(?<!\\)\|", r"\\|", _inlines(children, line_end=" ").strip())


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _item(item: Item, number: int | None, *, other: bool) -> str:
    bullet, delimiter = ("*", ")") if other else ("-", ".")
    marker = f"{bullet} " if number is None else f"{number}{delimiter} "
    content = _blocks(item.blocks, between="\n" if _is_tight(item.blocks) else "\n\n")
    if item.checked is not None:
        box = {True: "[x] ", False: "[ ] "} if number is None else {True: f"{DONE} ", False: f"{OPEN} "}
        content = box[item.checked] + content
    return marker + re.sub(r"\n(?=[^\n])", "\n" + " " * len(marker), content)


def _is_tight(blocks: Sequence[Block]) -> bool:
    """Whether a line's end between them is enough: an item's text and the list below it."""
    return len(blocks) == 2 and isinstance(blocks[0], Paragraph) and isinstance(blocks[1], ListBlock)  # noqa: PLR2004


def _inlines(children: Sequence[Inline], *, line_end: str) -> str:
    written = ""
    for child in children:
        if isinstance(child, Break):
            written = written.rstrip(" ") + line_end
            continue
        piece = _inline(child, written, line_end=line_end)
        parted = written.endswith("`") and piece.startswith("`")
        written += f"{_BETWEEN}{piece}" if parted else piece
    return written


def _inline(child: Inline, written: str, *, line_end: str) -> str:
    """What stands after what is ``written``."""
    at_start = not written or written.endswith("\n")
    match child:
        case Text(text):
            return _escaped(text, at_start=at_start)
        case Url(url):
            bare = _escaped(url, at_start=at_start)
            return _link(url, bare) if bare != url and telegram_takes(url, url) else bare
        case Code(text):
            return _code(text)
        case Styled(style, inner):
            return _styled(style, inner, written[-1:], line_end=line_end)
        case Link(url, inner):
            label = _inlines(inner, line_end=" ")
            if not label.strip():
                label = _escaped(url, at_start=at_start)
            elif url and not telegram_takes(url, url):
                label += f" ({_escaped(url)})"
            return _link(url, label) if telegram_takes(url, url) else label
    return ""


def _styled(style: str, children: Sequence[Inline], before: str, *, line_end: str) -> str:
    """Between markers where they cannot be mistaken, else between tags."""
    marker, tag = _MARKERS[style]
    inner, text = _inlines(children, line_end=line_end), plain(children)
    if not text.strip():
        return inner
    is_plain = all(isinstance(child, Text) for child in children)
    if is_plain and text[0].isalnum() and text[-1].isalnum() and (not before or before.isspace()):
        return f"{marker}{inner}{marker}"
    return f"<{tag}>{inner}</{tag}>"


def _link(url: str, label: str) -> str:
    return f"[{label}]({url.replace('(', '%28').replace(')', '%29').replace('|', '%7C')})"


def _code(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if longest or text[:1] == " " == text[-1:] else ""
    return f"{fence}{padding}{text}{padding}{fence}" if text else ""


def _escaped(text: str, *, at_start: bool = False) -> str:
    """Text as such: every ASCII punctuation may be escaped."""
    text = text.replace("\n", " ")
    if not at_start:
        return _MARKUP.sub(r"\\\g<0>", text)
    text = text.lstrip()
    first = _LINE_START.match(text)
    if not first:
        return _MARKUP.sub(r"\\\g<0>", text)
    opening = f"{first['number']}\\{first['delimiter']}" if first["number"] else f"\\{first[0]}"
    return opening + _MARKUP.sub(r"\\\g<0>", text[first.end() :])
