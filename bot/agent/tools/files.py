"""Reading and writing in the agent's own folder, and sending from it. There is no way out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.agent.tools.tool import Occasion, Sending, Tool, ToolError, schema
from bot.files import own_folder
from bot.files.reading import read
from bot.files.views import picture_block
from bot.history.file_headers import header
from bot.messages import Block, OutFile, text_block

MOST_FILE_BYTES = 1_000_000
MOST_FOLDER_BYTES = 500_000_000
_MOST_NAMES = 200
_MOST_SENT_BYTES = 50_000_000
"""What the largest platform takes; a smaller one says so in the file's place."""
_MOST_PINNED = 200
_LONGEST_CAPTION = 1000
_HIDDEN = frozenset({own_folder.VIEWS, own_folder.SENT, own_folder.PARTS})


@dataclass(frozen=True)
class ReadFile:
    """Reads a file: text a piece at a time, a picture as what the model sees."""

    parameters: Mapping[str, Any]
    name: str = "read_file"
    description: str = "Read a text file of this conversation's folder, or look at a picture there."
    idempotent: bool = True

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str | Sequence[Block]:
        """The file's text from ``offset`` (characters) on."""
        path = own_folder.inside(occasion.folder, arguments.get("path"))
        offset = _whole_number(arguments.get("offset", 0))
        characters, tokens = occasion.characters, occasion.tokens
        found = await asyncio.to_thread(read, occasion.folder, path, offset, room=characters, tokens=tokens)
        if isinstance(found, str):
            return found
        return [text_block(header(found.name)), await picture_block(occasion.folder, found.data, occasion.parser)]


@dataclass(frozen=True)
class WriteFile:
    """Writes a text file, all of it or nothing. Sizes are in bytes."""

    parameters: Mapping[str, Any]
    most_bytes: int = MOST_FILE_BYTES
    most_folder_bytes: int = MOST_FOLDER_BYTES
    name: str = "write_file"
    description: str = (
        "Write a text file into this conversation's folder, or add to its end with append. A file of that name is "
        "replaced."
    )
    idempotent: bool = False

    def may_repeat(self, arguments: Mapping[str, Any]) -> bool:
        """A whole file comes to the same however often it is written; what is added does not."""
        return arguments.get("append", False) is False

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str:
        """How large the file is now."""
        content, append = arguments.get("content"), arguments.get("append", False)
        if not isinstance(content, str):
            raise ToolError("content is the text to be written.")
        if not isinstance(append, bool):
            raise ToolError("append is true or false.")
        own_folder.to_write(occasion.folder, arguments.get("path"))
        return await asyncio.to_thread(self._write, occasion.folder, str(arguments["path"]), content, append=append)

    def _write(self, folder: Path, name: str, content: str, *, append: bool) -> str:
        place = own_folder.to_write(folder, name)
        data = (self._before(folder, name) if append else b"") + content.encode(errors="replace")
        if len(data) > self.most_bytes:
            raise ToolError(f"That would be {len(data):,} bytes; a file has {self.most_bytes:,} at most.")
        if own_folder.size_of(folder) + len(data) > self.most_folder_bytes:
            raise ToolError(f"The folder is full: it holds {self.most_folder_bytes:,} bytes at most.")
        own_folder.write(folder, place, data)
        return f"{place} has {len(data):,} bytes now."

    def _before(self, folder: Path, name: str) -> bytes:
        try:
            with own_folder.opened(folder, folder.resolve() / own_folder.to_write(folder, name)) as file:
                return file.read(self.most_bytes + 1)
        except own_folder.Gone:
            return b""


@dataclass(frozen=True)
class ListFiles:
    """Lists a folder."""

    parameters: Mapping[str, Any]
    name: str = "list_files"
    description: str = "List the files of this conversation's folder."
    idempotent: bool = True

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str:
        """One name a line; folders end in a slash."""
        path = own_folder.inside(occasion.folder, arguments.get("path", "."))
        return await asyncio.to_thread(_list, occasion.folder, path)


@dataclass(frozen=True)
class SendFile:
    """Sends a file to the chat."""

    parameters: Mapping[str, Any]
    name: str = "send_file"
    description: str = (
        "Send a file of this conversation's folder to the people in the chat, with a caption if you like."
    )
    idempotent: bool = True

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> Sending:
        """The file goes out in the step that writes this result down."""
        path = own_folder.inside(occasion.folder, arguments.get("path"))
        caption = arguments.get("caption", "")
        if not isinstance(caption, str):
            raise ToolError("caption is a text.")
        file = await asyncio.to_thread(_to_send, path, occasion.folder)
        return Sending(f"{file.name} goes to the chat.", file, caption.strip()[:_LONGEST_CAPTION])


def _whole_number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ToolError("offset is a whole number of characters, 0 or more.")
    return value


def _to_send(path: Path, folder: Path) -> OutFile:
    """The file under a name that no tool can lead elsewhere before it is on its way."""
    if not path.is_file():
        raise ToolError(own_folder.NO_SUCH_FILE)
    size = path.stat().st_size
    if not 0 < size <= _MOST_SENT_BYTES:
        raise ToolError(f"The file has {size:,} bytes; it can be sent with 1 to {_MOST_SENT_BYTES:,}.")
    own_folder.swept(folder, own_folder.SENT, most=_MOST_PINNED, most_bytes=_MOST_PINNED * _MOST_SENT_BYTES)
    return OutFile(own_folder.pinned(folder, path), _readable(path.name))


def _list(folder: Path, path: Path) -> str:
    found = [(name, is_folder) for name, is_folder in own_folder.names_in(folder, path) if name not in _HIDDEN]
    names = sorted(_readable(name) + ("/" if is_folder else "") for name, is_folder in found)
    shown = names[:_MOST_NAMES]
    rest = [f"[and {len(names) - _MOST_NAMES} more]"] if len(names) > _MOST_NAMES else []
    return "\n".join(shown + rest) or "(no files)"


def _readable(name: str) -> str:
    """A name whose bytes are no text, as text: no model takes half a character."""
    return name.encode(errors="replace").decode()


def file_tools(most_bytes: int = MOST_FILE_BYTES, most_folder_bytes: int = MOST_FOLDER_BYTES) -> tuple[Tool, ...]:
    """The tools over the folder; bytes of one written file, and of everything in the folder."""
    written = schema(["path", "content"], path="string", content="string", append="boolean")
    return (
        ReadFile(schema(["path"], path="string", offset="integer")),
        WriteFile(written, most_bytes, most_folder_bytes),
        ListFiles(schema([], path="string")),
        SendFile(schema(["path"], path="string", caption="string")),
    )


FILE_TOOLS = file_tools()
