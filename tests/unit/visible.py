"""What people see of Markdown, by markdown-it and nothing of our own."""

from __future__ import annotations

import re
import unicodedata

from markdown_it import MarkdownIt
from markdown_it.token import Token

_TAGGED = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"]).disable("html_block")
_PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": 100}).enable(["table", "strikethrough"])
_PARSER.disable(["html_block", "html_inline"])
_DECORATION = "•─│┼☐☑\u200b"
_TASK = re.compile(r"\[[ xX]\]\s+(?=\S)")


def bare(text: str) -> str:
    """A text without white space, without what cannot be sent, and without what the platforms' forms add."""
    text = "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in text)
    return "".join(
        one
        for one in text
        if not one.isspace()
        and one not in _DECORATION
        and unicodedata.category(one) != "Cc"
        and not "\u202a" <= one <= "\u202e"
        and not "\u2066" <= one <= "\u2069"
    )


def _sendable(markdown: str) -> str:
    return "".join(
        "\ufffd" if "\ud800" <= one <= "\udfff" else one
        for one in markdown
        if one in "\r\n\t" or unicodedata.category(one) != "Cc"
    )


def is_read_otherwise(markdown: str) -> bool:
    """Whether there is markup within a bare address: CommonMark takes it for markup, GitHub and we do not."""
    return re.search(r"https?://[^\s<>]*(?:_[^\s<>*]|&#?\w+;)", markdown) is not None


def visible(markdown: str, *, tags: bool = False) -> str:
    """The characters of a reply in order. ``tags``: is ``<b>`` markup?"""
    seen: list[str] = []
    numbers: list[int | None] = []
    item_begins = False
    for token in (_TAGGED if tags else _PARSER).parse(_sendable(markdown)):
        match token.type:
            case "ordered_list_open":
                numbers.append(int(token.attrs.get("start", 1)))
            case "bullet_list_open":
                numbers.append(None)
            case "ordered_list_close" | "bullet_list_close":
                numbers.pop()
            case "list_item_open":
                number = numbers[-1]
                if number is not None:
                    seen.append(f"{number}.")
                    numbers[-1] = number + 1
                item_begins = True
            case "fence" | "code_block":
                seen.append(token.content)
            case "inline":
                text = _inline(token.children or [])
                is_task = item_begins and _TASK.match(token.content) and _TASK.match(text)
                seen.append(_TASK.sub("", text, count=1) if is_task else text)
        if token.type not in {"list_item_open", "paragraph_open"}:
            item_begins = False
    return bare("".join(seen))


def _inline(tokens: list[Token], *, in_link: bool = False) -> str:
    """A link is seen by its label; by its address where it has none, but not within another link."""
    seen = ""
    links: list[tuple[str, int]] = []
    for token in tokens:
        match token.type:
            case "softbreak" | "hardbreak":
                seen += "\n"
            case "link_open":
                links.append((str(token.attrs["href"]), len(seen)))
            case "link_close":
                url, start = links.pop()
                seen += "" if in_link or seen[start:].strip() else url
            case "image":
                label = _inline(token.children or [], in_link=True)
                seen += label if in_link or links or label.strip() else str(token.attrs["src"])
            case "html_inline" if token.content.strip("</>") in {"b", "i", "s"}:
                pass
            case _:
                seen += token.content
    return seen


def without_addresses(shown: str, markdown: str) -> str:
    """What is seen without the addresses that are shown beside their labels."""
    urls = {
        str(token.attrs.get("href") or token.attrs.get("src"))
        for block in _PARSER.parse(_sendable(markdown))
        for token in _within(block)
        if token.type in {"link_open", "image"}
    }
    for url in sorted(urls, key=len, reverse=True):
        shown = shown.replace(f"({bare(url)})", "")
    return shown


def _within(token: Token) -> list[Token]:
    return [inner for child in token.children or [] for inner in (child, *_within(child))]
