"""Rich messages: what people see of their source.

https://core.telegram.org/bots/api#rich-message-formatting-options
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from tests.servers.telegram.wire import Json, bad_request

LONGEST_SOURCE = 32_768
"""Characters."""
MOST_BLOCKS = 500
MOST_NESTING = 16
MOST_COLUMNS = 20

_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_BLOCK_TAG = re.compile(r"</?(?:p|h[1-6]|div|li|ul|ol|tr|table|blockquote|pre|hr|br)\b[^>]*>")
_TAG = re.compile(r"<[^>]+>")

Block = dict[str, Any]


def read_rich(rich: object, *, draft: bool = False) -> tuple[str, str, list[Json]]:
    """The source of a rich message (empty for blocks), what people see, and its blocks; else `Rejected`."""
    if not isinstance(rich, dict):
        raise bad_request("can't parse InputRichMessage: expected an Object")
    given = [name for name in ("html", "markdown", "blocks") if rich.get(name) is not None]
    if len(given) != 1:
        raise bad_request("exactly one of the fields html, markdown, or blocks must be used in InputRichMessage")
    content = rich[given[0]]
    if given == ["blocks"]:
        source, blocks = "", list(content)
    else:
        source = str(content)
        if len(source) > LONGEST_SOURCE:
            raise bad_request("message is too long")
        blocks = _of_markdown(source) if given == ["markdown"] else _of_html(source)
    shown = shown_blocks(blocks)
    _check(blocks, shown, draft=draft)
    return source, shown, blocks


def _check(blocks: list[Block], shown: str, *, draft: bool) -> None:
    if not shown.strip() and not draft:
        raise bad_request("message text is empty")
    if len(shown) > LONGEST_SOURCE:
        raise bad_request("message is too long")
    every = list(_walk(blocks, 1))
    if len(every) > MOST_BLOCKS:
        raise bad_request("rich message has too many blocks")
    if any(depth > MOST_NESTING for _, depth in every):
        raise bad_request("rich message is nested too deeply")
    if any(len(row) > MOST_COLUMNS for block, _ in every for row in block.get("cells") or ()):
        raise bad_request("table has too many columns")
    if not draft and any(block.get("type") == "thinking" for block, _ in every):
        raise bad_request("thinking blocks can be used only in drafts")


def _walk(blocks: list[Block], depth: int) -> Iterator[tuple[Block, int]]:
    for block in blocks:
        yield block, depth
        yield from _walk(block.get("blocks") or [], depth + 1)
        for item in block.get("items") or ():
            yield from _walk(item.get("blocks") or [], depth + 1)


def shown_blocks(blocks: list[Block]) -> str:
    """What people read, as plain text: a row of a table is `a | b`, an item of a list `• a` or `1. a`."""
    return "\n\n".join(shown for block in blocks if (shown := _shown(block)))


def _shown(block: Block) -> str:
    match block.get("type"):
        case "divider":
            return "———"
        case "list":
            return "\n".join(f"{item.get('label', '•')} {_indented(item['blocks'])}" for item in block["items"])
        case "table":
            rows = [[plain(cell.get("text") or "") for cell in row] for row in block["cells"]]
            return "\n".join(" | ".join(row) for row in rows)
        case _:
            own = plain(block.get("text") or block.get("summary") or block.get("expression") or "")
            return "\n".join(part for part in (own, shown_blocks(block.get("blocks") or [])) if part)


def _indented(blocks: list[Block]) -> str:
    return "\n".join(_shown(block) for block in blocks).replace("\n", "\n  ")


def plain(text: Any) -> str:
    """A RichText without its styles."""
    if isinstance(text, str):
        return text
    if isinstance(text, list):
        return "".join(plain(part) for part in text)
    return plain(text.get("text") or text.get("expression") or "")


def _of_html(source: str) -> list[Block]:
    """Paragraphs only: enough to see what is said."""
    parts = [unescape(_TAG.sub("", part)).strip() for part in _BLOCK_TAG.split(source)]
    return [{"type": "paragraph", "text": part} for part in parts if part]


def _of_markdown(source: str) -> list[Block]:
    return _blocks(SyntaxTreeNode(_MARKDOWN.parse(source)))


def _blocks(node: SyntaxTreeNode) -> list[Block]:
    return [block for child in node.children if (block := _block(child))]


def _block(node: SyntaxTreeNode) -> Block | None:
    match node.type:
        case "paragraph":
            return {"type": "paragraph", "text": _inline(node.children[0])}
        case "heading":
            return {"type": "heading", "text": _inline(node.children[0]), "size": int(node.tag[1:])}
        case "fence" | "code_block":
            block: Block = {"type": "pre", "text": node.content.removesuffix("\n")}
            language = node.info.split()[0] if node.info.split() else ""
            return block | ({"language": language} if language else {})
        case "bullet_list" | "ordered_list":
            return {"type": "list", "items": _items(node)}
        case "blockquote":
            return {"type": "blockquote", "blocks": _blocks(node)}
        case "hr":
            return {"type": "divider"}
        case "table":
            return {"type": "table", "cells": _cells(node)}
        case "html_block":
            return {"type": "paragraph", "text": unescape(_TAG.sub("", node.content)).strip()}
        case _:
            raise AssertionError(f"Markdown of a kind that this server does not know: {node.type}")


def _items(node: SyntaxTreeNode) -> list[Block]:
    items = []
    for number, item in enumerate(node.children, int(node.attrs.get("start", 1))):
        ordered = node.type == "ordered_list"
        label = {"label": f"{number}.", "value": number, "type": "1"} if ordered else {"label": "•"}
        items.append({**label, "blocks": _blocks(item)})
    return items


def _cells(node: SyntaxTreeNode) -> list[list[Block]]:
    return [
        [
            {
                "text": _inline(cell.children[0]) if cell.children else "",
                "align": str(cell.attrs.get("style", "text-align:left")).removeprefix("text-align:"),
                "valign": "middle",
                **({"is_header": True} if cell.type == "th" else {}),
            }
            for cell in row.children
        ]
        for part in node.children
        for row in part.children
    ]


def _inline(node: SyntaxTreeNode) -> Any:
    """A RichText: a string, an object, or a list of them."""
    parts = [_inline_part(child) for child in node.children]
    merged: list[Any] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part:
            merged.append(part)
    return merged[0] if len(merged) == 1 else merged or ""


def _inline_part(node: SyntaxTreeNode) -> Any:
    match node.type:
        case "text" | "text_special":
            return node.content
        case "softbreak" | "hardbreak":
            return "\n"
        case "code_inline":
            return {"type": "code", "text": node.content}
        case "link":
            return {"type": "url", "text": _inline(node), "url": str(node.attrs.get("href", ""))}
        case "image":
            return node.content
        case "html_inline":
            return ""
        case _:
            return {"type": _STYLES[node.type], "text": _inline(node)}
