"""How a file is named to a model: the line above its text or its picture, or in their place. Pure.

It is written when a file comes in, when its text becomes an outline and when a tool shows a picture; and it is read by
whoever has only the history: strategies, the page, and whoever forgets a person's files.
"""

from __future__ import annotations

import re

_TEXT = re.compile(r"\[File: (?P<path>[^\n]{1,400}), [\d,]{1,15} characters\]\n")
_OUTLINE = re.compile(r"\[File: (?P<path>[^\n]{1,400}), [\d,]{1,15} characters, in outline\. To read it again: ")
_SENT = re.compile(r"\[File: (?P<path>files/.+?)(?:, [\d,]+ (?:characters|bytes)\b.*)?\]")
_MORE = re.compile(r"(?:\n\[More follows: [^\n]{1,80}\](?:\n\[End of [^\n]{1,400}\])?|\n\[End of [^\n]{1,400}\])\s*\Z")
_OURS = re.compile(r"(?:^|(?<=[\r\x0b\x0c\x85\u2028\u2029]))(?=\[(?:End of|More follows:) )", re.MULTILINE)


def header(path: str, of_it: str = "") -> str:
    """The line that names a file. ``of_it``: what else it says, such as why the file cannot be shown."""
    return f"[File: {path}, {of_it}]" if of_it else f"[File: {path}]"


def text_header(path: str, characters: int) -> str:
    """The line above the text of a file that a person sent."""
    return header(path, f"{characters:,} characters")


def with_text(path: str, characters: int, text: str, more: str = "") -> str:
    """The text of a file that a person sent, between a line that names it and one that says where it ends; no line of
    the text can be taken for the latter. ``more``: the line that says that the text was cut."""
    lines = [text_header(path, characters), _OURS.sub(" ", text), more, f"[End of {path}]"]
    return "\n".join(line for at, line in enumerate(lines) if line or at == 1)


def outline_header(path: str, characters: int, again: str) -> str:
    """The line above an outline. ``again``: how the text is read again."""
    return header(path, f"{characters:,} characters, in outline. To read it again: {again}")


def more_follows(where: str) -> str:
    """The line below a text that was cut. ``where``: what reads on, and from where."""
    return f"[More follows: {where}.]"


def shown_text(text: str) -> tuple[str, str] | None:
    """Path and text of a block that shows the text of a file; None for any other."""
    found = _TEXT.match(text)
    return (found["path"], without_more(text[found.end() :])) if found else None


def without_more(text: str) -> str:
    """A text without the lines below it that say that it was cut, and that it ends."""
    return _MORE.sub("", text)


def outlined_path(text: str) -> str | None:
    """The path of the file whose outline a text is; None for any other text."""
    found = _OUTLINE.match(text)
    return found["path"] if found else None


def sent_path(text: str) -> str | None:
    """The place of the file that a person sent, of a text that names one in its first line; else None."""
    found = _SENT.fullmatch(text.partition("\n")[0])
    return found["path"] if found else None
