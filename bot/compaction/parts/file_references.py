"""Files that stand on a page in full: where, and whether anybody spoke of them lately. Pure (FEATURES T2).

A file comes onto a page when a person sends it (a FILE entry) or when a tool reads it (the result of a call whose
input names a path). Pictures and PDFs are left alone: no tool could read them again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bot.compaction.grammar import EXTENSION, last_name
from bot.compaction.parts.outline import READ_FILE, call_of, outline
from bot.history import Entry, EntryKind
from bot.history.file_headers import header, outlined_path, shown_text, without_more
from bot.messages import Block, as_quoted, text_of, tool_calls

MESSAGES = frozenset({EntryKind.SAID, EntryKind.REPLY})
"""What counts as a message; files, results and notes belong to one."""

LONG_RESULT = 2_000
"""Characters from which the result of a tool that we do not know is taken for a file."""

_WORTH = 0.6
"""An outline that takes more than this share of its file's characters is not worth losing the file."""
_LONGEST_PATH = 260
_PATH_NAMES = frozenset({"path", "file", "filename", "file_path", "filepath", "file_name"})
_PATH = re.compile(r"(?:[^\s:]*[/\\][^\s]*[^\s/\\]|[^\s/\\:]+" + EXTENSION + ")")


@dataclass(frozen=True)
class FileReference:
    """A file's text on a page: block ``block`` of the entry ``seq``, which is ``place`` in reading order.

    ``tool`` reads it again, from ``offset`` (characters) on.
    """

    seq: int
    block: int
    place: int
    path: str
    text: str
    tool: str = READ_FILE
    offset: int = 0

    @property
    def call(self) -> str:
        """What reads it again."""
        return call_of(self.path, tool=self.tool, offset=self.offset)

    @cached_property
    def outline(self) -> str:
        """What is left of it: see :func:`bot.compaction.parts.outline.outline`."""
        return outline(self.path, self.text, tool=self.tool, offset=self.offset)

    @property
    def quoted_outline(self) -> str:
        """The same, where it stands among what people say and what the program tells: of its lines only the first is
        the program's."""
        if outlined_path(self.outline) is None:
            return f"{header(self.path)}\n{as_quoted(self.outline)}"
        first, end, rest = self.outline.partition("\n")
        return f"{first}{end}{as_quoted(rest)}"


def files_in(view: Sequence[Entry], *, outlines: bool = False) -> list[FileReference]:
    """The files whose text stands on this page in full, in reading order. What is an outline already is none, but
    with ``outlines`` it is one without text."""
    calls: dict[str, Block] = {}
    files: list[FileReference] = []
    for place, entry in enumerate(view):
        # In reading order, since an id may come back: a result answers the call before it.
        calls.update((call["id"], call) for call in tool_calls(entry.blocks))
        files += _files_of(entry, place, calls)
    return [file for file in files if file.text or outlines]


def stale(files: Iterable[FileReference], view: Sequence[Entry], *, after: int) -> list[FileReference]:
    """Those that the last ``after`` messages neither brought nor named, by path or by file name."""
    return _by_reference(files, view, after)[1]


def in_use(view: Sequence[Entry], *, after: int) -> frozenset[int]:
    """The seqs of entries with a file, or its outline, that the last ``after`` messages brought or named. Of a file
    that stands on the page more than once, its newest text, piece by piece."""
    newest: dict[tuple[str, int], int] = {}
    for file in _by_reference(files_in(view, outlines=True), view, after)[0]:
        newest[file.path, file.offset] = file.seq
    return frozenset(newest.values())


def _by_reference(
    files: Iterable[FileReference], view: Sequence[Entry], after: int
) -> tuple[list[FileReference], list[FileReference]]:
    """The files that the last ``after`` messages brought or named, and the others."""
    places = [place for place, entry in enumerate(view) if entry.kind in MESSAGES]
    begin = places[-after] if 0 < after < len(places) else 0 if after else len(view)
    lately = "\n".join(_words(entry) for entry in view[begin:] if entry.kind in MESSAGES).casefold()
    named: dict[str, bool] = {}
    spoken_of: list[FileReference] = []
    others: list[FileReference] = []
    for file in files:
        if file.place < begin and file.path not in named:
            named[file.path] = _is_named(file.path, lately)
        is_spoken_of = file.place >= begin or named[file.path]
        (spoken_of if is_spoken_of else others).append(file)
    return spoken_of, others


def unread(files: Iterable[FileReference], view: Sequence[Entry]) -> list[FileReference]:
    """Those that came after the model's last reply: it has not seen them yet."""
    last = max((place for place, entry in enumerate(view) if entry.kind is EntryKind.REPLY), default=-1)
    return [file for file in files if file.place > last]


def with_outlines(entries: Iterable[Entry], files: Iterable[FileReference]) -> dict[int, tuple[Block, ...]]:
    """What stands in the place of these entries when these files are outlines, by seq; for a plan's ``replaced``."""
    by_entry: dict[int, list[FileReference]] = {}
    for file in files:
        by_entry.setdefault(file.seq, []).append(file)
    replaced: dict[int, tuple[Block, ...]] = {}
    for entry in entries:
        blocks = list(entry.blocks)
        for file in by_entry.get(entry.seq, ()):
            if len(file.outline) <= _WORTH * len(file.text):
                blocks[file.block] = _with_outline(blocks[file.block], file)
        if tuple(blocks) != entry.blocks:
            replaced[entry.seq] = tuple(blocks)
    return replaced


def _with_outline(block: Block, file: FileReference) -> Block:
    if block["type"] == "text":
        return {**block, "text": file.quoted_outline}
    return {**block, "content": file.outline}


def _files_of(entry: Entry, place: int, calls: Mapping[str, Block]) -> Iterator[FileReference]:
    if entry.layer is not None:
        return
    for index, block in enumerate(entry.blocks):
        if entry.kind is EntryKind.FILE and block.get("type") == "text":
            if found := shown_text(block["text"]):
                yield FileReference(entry.seq, index, place, *found)
            elif path := outlined_path(block["text"]):
                yield FileReference(entry.seq, index, place, path, "")
        elif block.get("type") == "tool_result" and block["tool_use_id"] in calls:
            file = _read_by(calls[block["tool_use_id"]], block, entry.seq, index, place)
            if file:
                yield file


def _read_by(call: Block, result: Block, seq: int, index: int, place: int) -> FileReference | None:
    content = result.get("content") or ""
    is_text = isinstance(content, str) or all(part.get("type") == "text" for part in content)
    given = call.get("input")
    if result.get("is_error") or not is_text or not isinstance(given, Mapping):
        return None
    text = text_of(content)
    path = _path_in(given)
    is_outlined = outlined_path(text) is not None
    if path is None or (call["name"] != READ_FILE and len(text) < LONG_RESULT and not is_outlined):
        return None
    offset = given.get("offset", 0)
    begins = offset if call["name"] == READ_FILE and isinstance(offset, int) and offset > 0 else 0
    whole = "" if is_outlined else without_more(text)
    return FileReference(seq, index, place, path, whole, call["name"], begins)


def _path_in(given: Mapping[str, Any]) -> str | None:
    """The path that a call names, if it names exactly one."""
    paths = [value for name, value in given.items() if isinstance(value, str) and _is_path(name, value)]
    return paths[0] if len(paths) == 1 else None


def _is_path(name: str, value: str) -> bool:
    if not value.strip() or len(value) > _LONGEST_PATH or "\n" in value or "://" in value:
        return False
    return name.lower() in _PATH_NAMES or _PATH.fullmatch(value) is not None


def _words(entry: Entry) -> str:
    """What a message says, and what it calls tools with."""
    calls = [block.get("input") for block in entry.blocks if block.get("type") == "tool_use"]
    given = [json.dumps(value, ensure_ascii=False) for value in calls]
    return "\n".join([text_of(entry.blocks), *given])


def _is_named(path: str, words: str) -> bool:
    name = last_name(path)
    # Only Latin letters and digits bound a name: in Chinese it stands between other letters.
    return any(
        re.search(rf"(?<![a-z0-9_-]){re.escape(one.casefold())}(?![a-z0-9_-])", words) for one in (path, name) if one
    )
