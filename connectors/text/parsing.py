"""From Markdown to the tree. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from connectors.text.clean import clean
from connectors.text.markdown import tokens
from connectors.text.tree import (
    Alignment,
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
    Style,
    Styled,
    Table,
    Text,
    Url,
    plain,
)

_STYLES: dict[str, Style] = {"strong_open": "bold", "em_open": "italic", "s_open": "strikethrough"}
_ALIGNMENTS: dict[str, Alignment] = {"text-align:center": "center", "text-align:right": "right"}
_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+#.-]{0,31}(?=\s|$|[:,{])")
_TASK = re.compile(r"\[(?P<mark>[ xX])\](?:\s+|$)")


def parse(markdown: str) -> list[Block]:
    """Read a reply, or the beginning of one. Takes any text, and time in proportion to it."""
    text = clean(markdown)
    return _Reader(text).blocks(iter(tokens(text)))


class _Reader:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")

    def blocks(self, rest: Iterator[Token]) -> list[Block]:
        """The blocks up to the end of what they are in."""
        found: list[Block] = []
        for token in rest:
            if token.nesting < 0:
                break
            found.append(self._block(token, rest))
        return found

    def _block(self, token: Token, rest: Iterator[Token]) -> Block:
        gap = self._gap(token)
        match token.type:
            case "paragraph_open":
                return Paragraph(_content(rest), gap)
            case "heading_open":
                return Heading(int(token.tag[1:]), _content(rest), gap)
            case "fence":
                language = _LANGUAGE.match(token.info.strip())
                return CodeBlock(clean(token.content), language[0] if language else None, gap)
            case "code_block":
                return CodeBlock(clean(token.content), None, gap)
            case "blockquote_open":
                return Quote(self.blocks(rest), gap)
            case "bullet_list_open":
                return ListBlock(self._items(rest), None, gap)
            case "ordered_list_open":
                return ListBlock(self._items(rest), int(token.attrs.get("start", 1)), gap)
            case "table_open":
                return _table(rest, gap=gap)
            case "hr":
                return Rule(gap)
        raise AssertionError(f"a kind of block that no rule makes: {token.type}")

    def _items(self, rest: Iterator[Token]) -> list[Item]:
        items = []
        for token in rest:
            if token.nesting < 0:
                break
            gap, blocks = self._gap(token), self.blocks(rest)
            checked, blocks = _task(blocks)
            items.append(Item(blocks, checked, gap))
        return items

    def _gap(self, token: Token) -> bool:
        before = token.map[0] - 1 if token.map else -1
        return before >= 0 and not self._lines[before].strip("> \t")


def _content(rest: Iterator[Token]) -> Sequence[Inline]:
    """What a paragraph or a heading says; also passes its end."""
    content = _inlines(iter(next(rest).children or ()))
    next(rest)
    return content


def _inlines(rest: Iterator[Token], *, in_link: bool = False) -> list[Inline]:
    """What is up to the end of what it is in. A link in a link, such as an image, is its text alone."""
    found: list[Inline] = []
    for token in rest:
        if token.nesting < 0:
            break
        match token.type:
            case "softbreak" | "hardbreak":
                found.append(Break())
            case "code_inline":
                found.append(Code(clean(token.content)))
            case "address":
                address = clean(token.content)
                found.append(Text(address) if in_link else Url(address))
            case "link_open" | "image":
                label = _inlines(iter(token.children or ()) if token.type == "image" else rest, in_link=True)
                url = clean(str(token.attrs.get("href") or token.attrs.get("src") or ""))
                found += label if in_link else [Link(url, label)]
            case style if style in _STYLES:
                found.append(Styled(_STYLES[style], _inlines(rest, in_link=in_link)))
            case _:
                if token.content:
                    found.append(Text(clean(token.content)))
    return found


def _task(blocks: list[Block]) -> tuple[bool | None, list[Block]]:
    """Whether an item that begins with a check box is done, and its blocks without the box."""
    match blocks:
        case [Paragraph([Text(text), *children], gap), *others] if task := _TASK.match(text):
            content = [Text(text[task.end() :]), *children] if task.end() < len(text) else children
            content = content[1:] if content and isinstance(content[0], Break) else content
            is_parted = text[task.end() - 1].isspace() or content != children
            if is_parted and plain(content).strip():
                return task["mark"] != " ", [Paragraph(content, gap), *others]
    return None, blocks


def _table(rest: Iterator[Token], *, gap: bool) -> Table:
    alignments: list[Alignment] = []
    rows: list[list[Sequence[Inline]]] = []
    for token in rest:
        match token.type:
            case "tr_open":
                rows.append([])
            case "th_open":
                alignments.append(_ALIGNMENTS.get(str(token.attrs.get("style", "")), "left"))
            case "inline":
                rows[-1].append(_inlines(iter(token.children or ())))
            case "table_close":
                break
    return Table(alignments, rows, gap)
