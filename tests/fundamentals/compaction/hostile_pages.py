"""Conversations into which somebody has put texts that mean ill, and what of a page reads as somebody's own words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from bot.compaction.facts.checkpoint import HEADING
from bot.files.blocks import path_for
from bot.history import EARLIER_RESULT
from bot.history.file_headers import header, with_text
from bot.history.quotations import spoken_by
from bot.messages import text_block
from connectors.telegram.content import named
from connectors.text import quotation

Message = dict[str, Any]

EVE, ADA = "Eve (@eve)", "Ada (@ada)"
ASKED = "What do you make of it, for the garden?"
ANSWERED = "It says something about itself. The beds stay as they are."
SUMMARY = "They plan a garden with four beds. Everything that was asked is answered."


@dataclass(frozen=True)
class Hostile:
    """``tell``: a part of the text by which it is known again, in one line."""

    id: str
    text: str
    tell: str


TEXTS = [
    Hostile(**json.loads(line))
    for line in Path(__file__).with_name("hostile_texts.jsonl").read_text(encoding="utf-8").splitlines()
]


def sent(*blocks: Mapping[str, Any]) -> list[Message]:
    """A person sends this with a question, which is answered."""
    asked = {"role": "user", "content": [text_block(ASKED), *blocks]}
    return [asked, {"role": "assistant", "content": [text_block(ANSWERED)]}]


def returned(number: int, content: object, **more: object) -> list[Message]:
    """A tool returns this."""
    call = {
        "type": "tool_use",
        "id": f"call-{number}",
        "name": "fetch_page",
        "input": {"url": f"https://e.org/{number}"},
    }
    result = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": content, **more}
    return [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [text_block(ANSWERED)]},
    ]


def said(words: str) -> list[Message]:
    """A person says this, and is answered."""
    return [{"role": "user", "content": words}, {"role": "assistant", "content": ANSWERED}]


def named_file(name: str, folder: Path) -> list[Message]:
    """A picture that is called so."""
    path = f"files/{path_for(folder, name).name}"
    source = {"type": "folder", "path": path, "media_type": "image/png", "width": 90, "height": 90}
    return sent(text_block(header(path)), {"type": "image", "source": source})


def titled(text: str) -> list[Message]:
    """A document with this title and this text."""
    source = {"type": "text", "media_type": "text/plain", "data": text}
    return sent({"type": "document", "source": source, "title": text})


def record(number: int, text: str) -> str:
    """A record with fields that are called like what people demand."""
    return json.dumps(
        {"record_id": f"rec_{number}", "rule": text, "constraint": text, "goal": text}, ensure_ascii=False
    )


PLACES: dict[str, Callable[[int, str, Path], list[Message]]] = {
    "file": lambda number, text, _: sent(text_block(with_text(f"files/n{number}.txt", len(text), text))),
    "file name": lambda _, text, folder: named_file(text, folder),
    "document": lambda _, text, __: titled(text),
    "result": lambda number, text, _: returned(number, text),
    "result in parts": lambda number, text, _: returned(number, [text_block("Found."), text_block(text)]),
    "record": lambda number, text, _: returned(number, record(number, text)),
    "tool's error": lambda number, text, _: returned(number, f"Error: {text}", is_error=True),
    "quotation": lambda _, text, __: said(f"{quotation(text, EVE)}\n\n{ASKED}"),
    "forwarded": lambda _, text, __: said(f"[forwarded from Eve]\n{quotation(text)}"),
    "member": lambda _, text, __: said(spoken_by(EVE, text)["text"]),
    "name of a member": lambda _, text, __: said(spoken_by(named(text), ASKED)["text"]),
}
IN_GROUPS = frozenset({"member", "name of a member"})
"""Where several people talk, each with a name."""


def conversation(place: str, folder: Path) -> list[Message]:
    """Talk about a garden, with every hostile text at this place."""
    begins = "I plan a garden with four beds. Never plant mint."
    messages = said(_as_ada(place, begins))
    for number, hostile in zip(count(), TEXTS, strict=False):
        messages += PLACES[place](number, hostile.text, folder)
        messages += said(_as_ada(place, ASKED)) if place in IN_GROUPS else []
    return messages


def _as_ada(place: str, words: str) -> str:
    return str(spoken_by(ADA, words)["text"]) if place in IN_GROUPS else words


def more_talk(place: str) -> list[Message]:
    """What is said between two compactions."""
    words = ["And the second bed?", "And the third one, by the wall?", "Thank you, that was all for now."]
    return [message for one in words for message in said(_as_ada(place, one))]


def told(page: Sequence[Mapping[str, Any]], place: str) -> list[str]:
    """The hostile texts of which something reads as the program's or a person's own words, with the line; in a group as
    another's than Eve's."""
    lines = [line for message in page for line in _own_lines(message)]
    flat = [(" ".join(line.split()), line) for line in lines]
    return [
        f"{hostile.id}: {line}"
        for hostile in TEXTS
        for words, line in flat
        if hostile.tell in words and not _is_attributed(words, hostile, place)
    ]


_LINE_ENDS = re.compile("[\n\r\x0b\x0c\x85\u2028\u2029]")
_OF_TOOLS = ("Done", "Failed", "Records", "Places")
_TITLE = re.compile(r"#{2,3} (?P<title>.*)")
_SPEAKER = re.compile(r"[^:\n]{1,60}: ")
_MARKED = re.compile(r"(?:- |#\S+ )[^:\n]{0,80}\[(?:quoted|sent )[^\n]*")
_NAMED_FILE = re.compile(r"\[(?:File|image|document): [^\[\]\n]*\]")


def _own_lines(message: Mapping[str, Any]) -> Iterator[str]:
    content = message["content"]
    for block in [text_block(content)] if isinstance(content, str) else content:
        if block.get("type") == "text":
            yield from _own_lines_of(str(block["text"]))


def _own_lines_of(text: str) -> Iterator[str]:
    """Without files, quotations, what tools returned in a list of facts, and lines that say that they are quoted."""
    lines = _LINE_ENDS.split(text)
    if text.startswith("[File: "):
        end = max((at for at, line in enumerate(lines) if line.startswith("[End of ")), default=0)
        assert sum(line.startswith("[End of ") for line in lines) <= 1, "a file ends once"
        lines = [lines[0], *lines[end:]] if end else lines
    is_ours = text.startswith(HEADING) or ("Exact details" in text and not text.startswith((EVE, ADA)))
    title, head = "", ""
    for line in lines:
        if not is_ours and line.startswith("  ") and (speaker := _SPEAKER.match(lines[0])):
            yield f"{speaker[0]}{line}"
            continue
        if found := _TITLE.fullmatch(line) if is_ours else None:
            title, head = found["title"], ""
        if line.startswith(("> ", ">")) or _NAMED_FILE.fullmatch(line) or _MARKED.match(line):
            head = line if _MARKED.match(line) else head
            continue
        if (title in _OF_TOOLS and not line.startswith("#")) or line.startswith(EARLIER_RESULT):
            continue
        if line.startswith("#"):
            head = line
        elif line.startswith("- ") and _MARKED.match(head):
            continue
        yield f"{head}\n{line}" if line.startswith("- ") and head else line


def _is_attributed(words: str, hostile: Hostile, place: str) -> bool:
    """Whether the line says that Eve said it; or is a name before words."""
    if place == "member":
        return re.match(rf"(?:#\S+ )?(?:person: )?{re.escape(EVE)}[^:]*: ", words) is not None
    if place == "name of a member":
        return re.match(rf"(?:#\S+ )?(?:person: )?{re.escape(named(hostile.text))}[^:]*: ", words) is not None
    return False
