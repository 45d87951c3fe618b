"""What a chat page shows, read from its HTML as a browser reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from typing_extensions import override


@dataclass
class Line:
    """One line of the page. ``files``: names and addresses; ``html``: as the server made it."""

    id: str
    who: str
    key: str = ""
    is_growing: bool = False
    is_hidden: bool = False
    text: str = ""
    commands: list[str] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    waits: bool = False
    html: str = ""


class _Lines(HTMLParser):
    """Reads lines."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines: list[Line] = []
        self._within: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.tags.append((tag, known))
        named = (known.get("class") or "").split()
        if tag == "article":
            shown = known.get("data-line") or ""
            self.lines.append(Line(shown, named[1], known.get("data-key") or "", "data-growing" in known))
            self.lines[-1].is_hidden = "hidden" in known
        elif self.lines and "words" in named:
            self._within.append("words")
            return
        elif self.lines and "waits" in named:
            self.lines[-1].waits = True
        elif self.lines and tag == "button" and known.get("name") == "press":
            self.lines[-1].commands.append(known.get("value") or "")
        elif self.lines and tag == "img":
            self.lines[-1].pictures.append(known.get("src") or "")
        elif self.lines and tag == "a" and "download" in known:
            self.lines[-1].files.append(("", known.get("href") or ""))
            self._within.append("file")
            return
        if self._within and tag not in ("br", "img", "input"):
            self._within.append(tag)

    @override
    def handle_endtag(self, tag: str) -> None:
        if self._within:
            self._within.pop()

    @override
    def handle_data(self, data: str) -> None:
        if "words" in self._within:
            self.lines[-1].text += data
        elif "file" in self._within:
            name, url = self.lines[-1].files[-1]
            self.lines[-1].files[-1] = name + data, url


def lines_of(html: str) -> list[Line]:
    """The lines in a piece of a page."""
    pieces = re.findall(r"<article .*?</article>", html, re.DOTALL)
    found = [_Lines(piece).lines[0] for piece in pieces]
    for line, piece in zip(found, pieces, strict=True):
        line.html, line.text = piece, line.text.strip()
    return found


def tags_of(html: str) -> list[tuple[str, dict[str, str | None]]]:
    """Every tag that a browser would see, with its attributes."""
    return _Lines(html).tags


def text_of(html: str) -> str:
    """What people read of it."""
    reader = _Lines(f'<article class="line x"><div class="words">{html}</div></article>')
    return " ".join(reader.lines[0].text.split())
