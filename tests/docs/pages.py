"""The Markdown of the project: headings, anchors, links and code blocks, as GitHub and a site read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FOLDERS = ("docs", "deploy", "bot", "connectors", "workers", "scripts", "tests")
_TEMPLATES = frozenset({ROOT / "tests" / "bench" / "quality" / "page.md"})
"""They become a page elsewhere, and their links hold there."""
_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_HTML_LINK = re.compile(r"""(?:href|src|srcset)="([^"\s]+)""")
_HTML_ANCHOR = re.compile(r"""<a (?:id|name)="([^"]+)">""")
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


@dataclass(frozen=True)
class Fence:
    """A code block between fences: what is written behind the first one, its lines, and whether it has an end."""

    info: str
    code: str
    is_closed: bool


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @cached_property
    def text(self) -> str:
        """As it is written."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tokens(self) -> list[Token]:
        """As it is read."""
        return _PARSER.parse(self.text)

    @cached_property
    def headings(self) -> list[tuple[int, str]]:
        """Level and plain text of each, in order."""
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        return [(int(opens.tag[1]), _plain(inline)) for opens, inline in pairs if opens.type == "heading_open"]

    @cached_property
    def anchors(self) -> frozenset[str]:
        """What stands behind ``#``. https://github.com/gjtorikian/html-pipeline (toc_filter.rb): small letters,
        no punctuation, a hyphen for each space, and a number from the second of the same name on."""
        seen = Counter[str]()
        found = set(_HTML_ANCHOR.findall(self.text))
        for _, text in self.headings:
            slug = _NOT_IN_ANCHORS.sub("", text.lower()).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
        return frozenset(found)

    @cached_property
    def links(self) -> list[str]:
        """Where it points to, pictures too, in order."""
        return [unquote(link) for link in self._links()]

    @cached_property
    def code(self) -> list[str]:
        """What is set as code in its text, in order."""
        return [child.content for token in self.tokens for child in token.children or () if child.type == "code_inline"]

    @cached_property
    def fences(self) -> list[Fence]:
        """Its code blocks between fences, in order."""
        return [self._fence(token) for token in self.tokens if token.type == "fence"]

    def target(self, link: str) -> tuple[Path, str] | None:
        """The file that a link points to, and the anchor in it; None for one that leaves the project."""
        if re.match(r"[a-z][a-z0-9+.-]*:", link) or link.startswith("//"):
            return None
        path, _, anchor = link.partition("#")
        return ((self.path.parent / path).resolve() if path else self.path), anchor

    def _links(self) -> Iterator[str]:
        for token in self.tokens:
            if token.type == "html_block":
                yield from _HTML_LINK.findall(token.content)
            for child in token.children or ():
                if child.type == "html_inline":
                    yield from _HTML_LINK.findall(child.content)
                elif (found := child.attrGet("href" if child.type == "link_open" else "src")) is not None:
                    yield str(found)

    def _fence(self, token: Token) -> Fence:
        assert token.map
        last = self.text.splitlines()[token.map[1] - 1].strip(" >")
        lines = token.map[1] - token.map[0]
        closed = lines > 1 and last.startswith(token.markup) and not last.strip(token.markup[0])
        return Fence(token.info.strip(), token.content, closed)


def all_pages() -> list[Page]:
    """Every Markdown file of the project, but those that become a page elsewhere."""
    below = (path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.md"))
    return [Page(path) for path in sorted({*ROOT.glob("*.md"), *below} - _TEMPLATES)]


def code_named(page: Path, name: str) -> str:
    """The Python block of a page whose docstring begins with this file's name: what the tests of the page run."""
    (found,) = (
        fence.code for fence in Page(page).fences if fence.info == "python" and fence.code.startswith(f'"""{name}')
    )
    return found


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
