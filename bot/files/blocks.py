"""Files of a conversation: where they are kept, and how a model is shown them.

What a person sends lies in the agent's folder under ``files/``. In a history a picture or a PDF is a block whose
source names that file (``{"type": "folder", "path": ..., "media_type": ...}``, with ``width`` and ``height`` or
``pages``), so that the book stays small; :func:`filled` puts the bytes in when a request is sent. A text file is text.
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from pathvalidate import sanitize_filename

from bot.files.parser_pool import CannotOpen, Document, Parser, Text
from bot.files.pictures import View, smaller
from bot.history.file_headers import header, more_follows, with_text
from bot.messages import AgentId, Block, Kept, Message, in_brackets, text_block

FOLDER = "files"
FOLDER_SOURCE = "folder"
_LONGEST_NAME = 100


def folder_of(data_dir: Path, agent_id: AgentId) -> Path:
    """Where a conversation keeps its files and its traces."""
    return data_dir / "agents" / agent_id


def path_for(folder: Path, name: str) -> Path:
    """A new place for a file of this name; what could lead out of the folder or confuse a terminal is taken out."""
    safe = sanitize_filename(name.replace("\\", "/").rsplit("/", 1)[-1], platform="universal").lstrip(". ")
    safe = in_brackets("".join(character for character in safe if character.isprintable()))
    while len(safe.encode()) > _LONGEST_NAME:
        stem, dot, ending = safe.rpartition(".")
        safe = f"{stem[:-1]}{dot}{ending}" if stem else safe[:-1]
    safe = safe or "file"
    stem, ending = Path(safe).stem, Path(safe).suffix
    number, path = 1, folder / FOLDER / safe
    while path.exists():
        number += 1
        path = folder / FOLDER / f"{stem}-{number}{ending}"
    return path


async def blocks_of(folder: Path, file: Kept, parser: Parser, *, room: int) -> tuple[list[Block], str]:
    """How a model is shown a file, and a sentence for people where it cannot be (else empty).

    ``room``: characters of a text file that are shown at once.
    """
    if file.problem:
        note = header(in_brackets(file.name), f"which did not arrive, as the person was told: {file.problem}")
        return [text_block(note)], f"I did not get {file.name}: {file.problem.rstrip('.')}."
    try:
        parsed = await parser.parse(folder / file.path, of=str(folder), room=room)
    except CannotOpen as error:
        return unreadable(file, str(error))
    match parsed:
        case View():
            source = picture_source(folder, parsed)
            return [text_block(header(file.path)), {"type": "image", "source": source}], ""
        case Document(pages):
            source = {"type": FOLDER_SOURCE, "path": file.path, "media_type": "application/pdf", "pages": pages}
            return [{"type": "document", "source": source, "title": file.path}], ""
        case Text():
            return [text_block(_shown(file, parsed))], ""
        case _:
            return _of_another_kind(file)


def picture_source(folder: Path, view: View) -> dict[str, Any]:
    """A picture of the folder as a history names it."""
    return {
        "type": FOLDER_SOURCE,
        "path": str(view.path.relative_to(folder)),
        "media_type": view.media_type,
        "width": view.width,
        "height": view.height,
    }


def unreadable(file: Kept, why: str) -> tuple[list[Block], str]:
    """As :func:`blocks_of`, for a file that is kept and cannot be shown."""
    return [_not_shown(file, why)], f"I keep {file.name}, but cannot read it: {why}."


def not_taken(file: Kept, blocks: Sequence[Block], takes: Collection[str]) -> str:
    """A sentence for people where the model's server is not sent what these blocks show of a file, else empty.
    ``takes``: the types of blocks that it is sent."""
    kinds = {block["type"] for block in blocks if is_media(block) and block["type"] not in takes}
    if not kinds:
        return ""
    what = "PDFs" if "document" in kinds else "pictures"
    return f"I keep {file.name}, but this model's server takes no {what}."


def _of_another_kind(file: Kept) -> tuple[list[Block], str]:
    kind = (file.media_type or mimetypes.guess_type(file.name)[0] or "").partition("/")[0]
    if kind == "audio":
        why = "sound cannot be heard"
        return [_not_shown(file, why)], f"I cannot listen to {file.name}. Please write it instead."
    if kind == "video":
        why = "films cannot be watched"
        return [_not_shown(file, why)], f"I cannot watch {file.name}. Send a picture of it, or some words."
    return unreadable(file, "I do not know that kind of file")


def _not_shown(file: Kept, why: str) -> Block:
    return text_block(header(file.path, f"{file.size:,} bytes, which cannot be shown, as the person was told: {why}"))


def has_media(messages: Sequence[Message]) -> bool:
    """Whether there is anything in it that is no text."""
    return any(
        is_media(block) or any(map(is_media, parts_of(block)))
        for message in messages
        for block in message["content"]
        if not isinstance(block, str)
    )


def filled(folder: Path, messages: Sequence[Message]) -> list[Message]:
    """The messages with the bytes of their files. A file that is gone becomes a note. Reads from disk."""
    return [Message(role=m["role"], content=_filled_content(folder, m["content"])) for m in messages]


def _filled_content(folder: Path, content: str | list[Block]) -> str | list[Block]:
    if isinstance(content, str):
        return content
    return [_filled_result(folder, block) if parts_of(block) else _filled_block(folder, block) for block in content]


def _filled_result(folder: Path, block: Block) -> Block:
    return {**block, "content": [_filled_block(folder, part) for part in parts_of(block)]}


def _filled_block(folder: Path, block: Block) -> Block:
    source = block["source"] if is_media(block) else {}
    if source.get("type") != FOLDER_SOURCE:
        return block
    path = (folder / source["path"]).resolve()
    try:
        data = path.read_bytes() if path.is_relative_to(folder.resolve()) else None
    except OSError:
        data = None
    if data is None:
        return text_block(f"[{block['type']}: {source['path']} is no longer in this conversation's folder]")
    filled_source = {"type": "base64", "media_type": source["media_type"], "data": base64.b64encode(data).decode()}
    return {**block, "source": filled_source}


def parts_of(block: Block) -> list[Block]:
    """The blocks in a tool's result, where it has any."""
    content = block.get("content") if block.get("type") == "tool_result" else None
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def is_media(block: Block) -> bool:
    """Whether it is a picture or a document."""
    return block.get("type") in ("image", "document") and isinstance(block.get("source"), Mapping)


def unseen(block: Block) -> str:
    """A note in the place of a picture or a document."""
    source: Mapping[str, Any] = block["source"]
    name = block.get("title") or source.get("path") or "a file"
    return f"[{block['type']}: {name}, which this model's server does not take]"


def _shown(file: Kept, text: Text) -> str:
    more = "" if text.is_whole else more_follows(f"read_file goes on from offset {len(text.shown)}")
    return with_text(file.path, text.characters, text.shown, more)


def remove_sent(folder: Path, names: Collection[str]) -> tuple[int, int]:
    """Take away files that somebody sent, and the smaller pictures that were made of them: how many, and their
    bytes."""
    count = size = 0
    for name in names:
        path = PurePosixPath(name)
        if path.parts[:1] != (FOLDER,) or ".." in path.parts:
            continue
        for part in (folder / path, smaller(folder / path)):
            with suppress(FileNotFoundError, NotADirectoryError):
                found = part.lstat()
                part.unlink()
                count, size = count + 1, size + found.st_size
    return count, size
