"""How Markdown is read: CommonMark with GitHub's tables and strikethrough, and without HTML. Pure.

Two rules differ from markdown-it's own. A bare address is taken whole, so that no markup is found within it
(https://github.github.com/gfm/#autolinks-extension-). And quotes and lists nested deeper than ``DEEPEST``
are text: markdown-it would leave out what is nested too deep.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

DEEPEST = 12
"""Levels of quotes and lists; a list counts twice, as a list and an item."""

_NESTING = 24
_SCHEME = re.compile(r"(?:\b|(?<=_))https?$", re.IGNORECASE)
_ADDRESS = re.compile(r"://(?:(?!~~)[^\s<>*`\"|\\\[\]{}\x00-\x20\u3000-\u303f\uff00-\uff20])+")
_AFTER_ADDRESS = "?!.,:;*_~'"
_REFERENCE = re.compile(r"&#?[A-Za-z0-9]{1,31};$")


def tokens(text: str) -> list[Token]:
    """A text's blocks in order, as markdown-it gives them."""
    return _PARSER.parse(text)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline"])
    parser.block.ruler.at("blockquote", _quote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.at("list", _list, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.inline.ruler.before("escape", "address", _address)
    return parser


def _quote(state: StateBlock, first: int, last: int, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's signature
    return state.level < DEEPEST and blockquote(state, first, last, silent)


def _list(state: StateBlock, first: int, last: int, silent: bool) -> bool:  # noqa: FBT001 - likewise
    return state.level < DEEPEST and list_block(state, first, last, silent)


def _address(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - likewise
    """At the colon of an address: its scheme is pending as text already."""
    if state.src[state.pos] != ":" or silent or state.linkLevel:
        return False
    scheme = _SCHEME.search(state.pending[-6:])
    rest = _ADDRESS.match(state.src, state.pos)
    if not scheme or not rest:
        return False
    address = _without_what_follows(rest[0])
    if len(address) <= len("://"):
        return False
    state.pending = state.pending[: -len(scheme[0])]
    state.push("address", "", 0).content = scheme[0] + address
    state.pos += len(address)
    return True


def _without_what_follows(address: str) -> str:
    """Without a sentence's punctuation, a character reference, and a bracket that was opened before it."""
    while reference := _REFERENCE.search(address[-34:]):
        address = address[: -len(reference[0])]
    opened, closed = address.count("("), address.count(")")
    end = len(address)
    while end:
        if address[end - 1] == ")" and closed > opened:
            closed -= 1
        elif address[end - 1] not in _AFTER_ADDRESS:
            break
        end -= 1
    return address[:end]


_PARSER = _parser()
