"""From the tree to a text with marked stretches, as a platform's looks have it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from connectors.text.spans import Kind, Marked, Span
from connectors.text.tables import drawn
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

RULE = "─" * 12
OPEN, DONE = "☐", "☑"


@dataclass(frozen=True)
class Looks:
    """How a platform shows what a text alone cannot say."""

    takes_link: Callable[[str, str], bool]
    """Whether it can put an address behind a label."""
    bullet: str = "• "
    task_bullet: str = ""
    """What stands before a check box."""
    indent: int | None = None
    """Columns by which what an item contains is moved to the right; None for the width of its bullet."""
    headings: int = 0
    """Sizes of headings that it has; the smaller ones become bold."""
    tab: str = "\t"
    """A tab in code."""


def laid_out(blocks: Sequence[Block], looks: Looks) -> Marked:
    """The text, with nothing escaped, and its marks."""
    writer = _Writer(looks)
    writer.blocks(blocks)
    return Marked("".join(writer.parts), writer.spans)


class _Writer:
    def __init__(self, looks: Looks) -> None:
        self.parts: list[str] = []
        self.spans: list[Span] = []
        self._looks = looks
        self._place = 0
        self._indent = ""
        self._owed = ""
        """Indentation of the line that has begun, written once something else is."""
        self._nested = False

    def blocks(self, blocks: Sequence[Block]) -> None:
        """Write blocks, each on lines of its own."""
        for index, block in enumerate(blocks):
            if index:
                self._end_line(gap=block.gap)
            self._block(block)

    def _block(self, block: Block) -> None:
        match block:
            case Paragraph(children):
                self._inlines(children)
            case Heading(level, children):
                sized = level <= self._looks.headings and not self._nested
                with self._mark("heading" if sized else "bold", level=level):
                    self._inlines(children)
            case CodeBlock(text, language):
                self._pre(text.replace("\t", self._looks.tab), language)
            case Quote(inner):
                with self._mark("blockquote"), self._inside(self._indent):
                    self.blocks(inner)
            case ListBlock():
                self._list(block)
            case Table(alignments, rows):
                self._pre(drawn([[self._cell(cell) for cell in row] for row in rows], alignments), None)
            case Rule():
                self._write(RULE)

    def _list(self, block: ListBlock) -> None:
        for index, item in enumerate(block.items):
            if index:
                self._end_line(gap=item.gap)
            marker = self._looks.bullet if block.first is None else f"{block.first + index}. "
            self._item(item, marker)

    def _item(self, item: Item, marker: str) -> None:
        box = ""
        if item.checked is not None:
            box = f"{DONE if item.checked else OPEN} "
            marker = self._looks.task_bullet if marker == self._looks.bullet else marker
        with self._mark("bullet"):
            self._write(marker)
        self._write(box)
        width = self._looks.indent if self._looks.indent is not None else len(marker)
        with self._inside(self._indent + " " * width):
            self.blocks(item.blocks)

    def _pre(self, text: str, language: str | None) -> None:
        """Code begins at the left margin, wherever it stands: people copy it."""
        lines = text.rstrip().split("\n")
        while lines and not lines[0].strip():
            del lines[0]
        if not lines:
            return
        self._owed = ""
        if self.parts and not self.parts[-1].endswith("\n"):
            self._write("\n")
        with self._mark("pre", language=language):
            self._write("\n".join(lines))

    def _inlines(self, children: Sequence[Inline]) -> None:
        for child in children:
            match child:
                case Text(text):
                    self._write(text.replace("\t", " ").replace("\n", " "))
                case Url(url):
                    self._address(url)
                case Code(text):
                    with self._mark("code"):
                        self._write(text.replace("\t", " ").replace("\n", " "))
                case Break():
                    self._end_line(gap=False)
                case Styled(style, inner):
                    with self._mark(style):
                        self._inlines(inner)
                case Link():
                    self._link(child)

    def _link(self, link: Link) -> None:
        label = plain(link.children)
        if label in {link.url, link.url.removeprefix("mailto:")} or not label.strip():
            self._address(label if label.strip() else link.url)
        elif self._looks.takes_link(link.url, label):
            with self._mark("text_link", url=link.url):
                self._inlines(link.children)
        else:
            self._inlines(link.children)
            if link.url:
                self._write(" (")
                self._address(link.url)
                self._write(")")

    def _address(self, url: str) -> None:
        if url.lower().startswith(("http://", "https://")):
            with self._mark("raw"):
                self._write(url)
        else:
            self._write(url)

    def _cell(self, children: Sequence[Inline]) -> str:
        """A cell in code: a link's address stands beside it."""
        parts = []
        for child in children:
            match child:
                case Link(url, inner) if (label := plain(inner)) != url:
                    parts.append(f"{label} ({url})" if label.strip() and url else label or url)
                case Styled(children=inner):
                    parts.append(self._cell(inner))
                case _:
                    parts.append(plain([child]))
        return "".join(parts)

    def _write(self, text: str) -> None:
        if text:
            self.parts.append(self._owed + text)
            self._place += len(self._owed) + len(text)
            self._owed = ""

    def _end_line(self, *, gap: bool) -> None:
        self._owed = ""
        self._write("\n\n" if gap else "\n")
        self._owed = self._indent

    @contextmanager
    def _mark(
        self, kind: Kind, *, url: str | None = None, language: str | None = None, level: int = 0
    ) -> Iterator[None]:
        start = self._place
        yield
        if self._place > start:
            self.spans.append(Span(kind, start, self._place, url=url, language=language, level=level))

    @contextmanager
    def _inside(self, indent: str) -> Iterator[None]:
        before = self._indent, self._nested
        self._indent, self._nested = indent, True
        yield
        self._indent, self._nested = before
