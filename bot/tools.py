"""The tools of a model: reading in the agent's own folder, and sending from it. There is no way out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bot.messages import Block, OutFile

_MOST_CHARACTERS = 8_000
_MOST_NAMES = 200
_NOTE_CHARACTERS = 80
_MOST_SENT_BYTES = 50_000_000
"""What the largest platform takes; a smaller one says so in the file's place."""
_LONGEST_CAPTION = 1000

INTERRUPTED = "[interrupted: the program stopped while this tool ran; it may have run]"


class Tool(Protocol):
    """Something a model can call. ``idempotent``: it may be run again when a crash cut it off."""

    @property
    def name(self) -> str:
        """As the model calls it."""

    @property
    def description(self) -> str:
        """What it is for, for the model."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """A JSON schema of its arguments."""

    @property
    def idempotent(self) -> bool:
        """Whether it may be run again."""

    async def run(self, folder: Path, arguments: Mapping[str, Any], *, room: int) -> str | Sending:
        """The result as text of about ``room`` characters at most. Raises ToolError with a sentence for the model."""


@dataclass(frozen=True)
class Sending:
    """A result that lets people have a file: it is sent when the result is written down, so exactly once."""

    text: str
    file: OutFile
    caption: str = ""


@dataclass(frozen=True)
class Done:
    """What a call came to: the block for the model, and what goes to people with it."""

    block: Block
    sending: Sending | None = None


class ToolError(Exception):
    """What the model did wrong, in a sentence."""


@dataclass(frozen=True)
class ReadFile:
    """Reads a text file, a piece at a time."""

    parameters: Mapping[str, Any]
    name: str = "read_file"
    description: str = "Read a text file of this conversation's folder."
    idempotent: bool = True

    async def run(self, folder: Path, arguments: Mapping[str, Any], *, room: int) -> str:
        """The file's text from ``offset`` (characters) on."""
        path = _inside(folder, arguments.get("path"))
        offset = _whole_number(arguments.get("offset", 0))
        return await asyncio.to_thread(_read, path, offset, room)


@dataclass(frozen=True)
class ListFiles:
    """Lists a folder."""

    parameters: Mapping[str, Any]
    name: str = "list_files"
    description: str = "List the files of this conversation's folder."
    idempotent: bool = True

    async def run(self, folder: Path, arguments: Mapping[str, Any], *, room: int) -> str:  # noqa: ARG002
        """One name a line; folders end in a slash."""
        return await asyncio.to_thread(_list, _inside(folder, arguments.get("path", ".")))


@dataclass(frozen=True)
class SendFile:
    """Sends a file to the chat."""

    parameters: Mapping[str, Any]
    name: str = "send_file"
    description: str = (
        "Send a file of this conversation's folder to the people in the chat, with a caption if you like."
    )
    idempotent: bool = True

    async def run(self, folder: Path, arguments: Mapping[str, Any], *, room: int) -> Sending:  # noqa: ARG002
        """The file goes out in the step that writes this result down."""
        path = _inside(folder, arguments.get("path"))
        caption = arguments.get("caption", "")
        if not isinstance(caption, str):
            raise ToolError("caption is a text.")
        file = await asyncio.to_thread(_to_send, path, folder)
        return Sending(f"{path.name} goes to the chat.", file, caption.strip()[:_LONGEST_CAPTION])


def _schema(required: Sequence[str], **properties: str) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(required),
    }


TOOLS: tuple[Tool, ...] = (
    ReadFile(_schema(["path"], path="string", offset="integer")),
    ListFiles(_schema([], path="string")),
    SendFile(_schema(["path"], path="string", caption="string")),
)


class Toolbox:
    """The tools of one agent, over its folder."""

    def __init__(self, folder: Path, tools: Sequence[Tool] = TOOLS) -> None:
        self._folder = folder
        self._tools = {tool.name: tool for tool in tools}

    @property
    def definitions(self) -> tuple[Mapping[str, Any], ...]:
        """As the Messages API takes them."""
        return tuple(
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in self._tools.values()
        )

    def may_run_again(self, name: str) -> bool:
        """Whether a call that a crash cut off may be repeated."""
        return name in self._tools and self._tools[name].idempotent

    async def run(self, call: Block, *, most_characters: int = _MOST_CHARACTERS) -> Done:
        """What a call comes to. What goes wrong is told to the model, not raised."""
        most_characters = min(most_characters, _MOST_CHARACTERS)
        tool = self._tools.get(call["name"])
        if tool is None:
            return Done(result_block(call, f"There is no tool {call['name']!r}.", error=True))
        try:
            arguments = call["input"] if isinstance(call["input"], Mapping) else {}
            result = await tool.run(self._folder, arguments, room=max(1, most_characters - _NOTE_CHARACTERS))
        except ToolError as error:
            return Done(result_block(call, str(error), error=True))
        except OSError as error:
            return Done(result_block(call, f"That cannot be read: {error.strerror or error}", error=True))
        if isinstance(result, Sending):
            return Done(result_block(call, result.text), result)
        text = result
        if len(text) > most_characters:
            text = f"{text[:most_characters]}\n[Cut off here: {len(text) - most_characters} more characters.]"
        return Done(result_block(call, text if text.strip() else "(empty)"))


def result_block(call: Block, text: str, *, error: bool = False) -> Block:
    """The answer to a call."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
    return {**block, "is_error": True} if error else block


def _inside(folder: Path, name: object) -> Path:
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise ToolError("Give the path of a file in this folder, for example 'notes.txt'.")
    root = folder.resolve()
    try:
        path = (root / name).resolve()
    except (RuntimeError, ValueError) as error:  # links in a circle; half a character, which no file's name can hold
        raise ToolError("There is no such file; list_files shows what there is.") from error
    if path != root and root not in path.parents:
        raise ToolError("Only files in this conversation's folder can be read.")
    return path


def _whole_number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ToolError("offset is a whole number of characters, 0 or more.")
    return value


def _read(path: Path, offset: int, room: int) -> str:
    if path.is_dir():
        raise ToolError("That is a folder; use list_files.")
    if not path.is_file():
        raise ToolError("There is no such file; list_files shows what there is.")
    with path.open(encoding="utf-8", errors="replace") as file:
        left = offset
        while left and (passed := len(file.read(min(left, _MOST_CHARACTERS)))):
            left -= passed
        text = file.read(room)
        more = bool(file.read(1))
    return f"{text}\n[More follows: read on from offset {offset + room}.]" if more else text


def _to_send(path: Path, folder: Path) -> OutFile:
    if not path.is_file():
        raise ToolError("There is no such file; list_files shows what there is.")
    size = path.stat().st_size
    if not 0 < size <= _MOST_SENT_BYTES:
        raise ToolError(f"The file has {size:,} bytes; it can be sent with 1 to {_MOST_SENT_BYTES:,}.")
    return OutFile(str(path.relative_to(folder.resolve())), path.name)


def _list(path: Path) -> str:
    if not path.is_dir():
        raise ToolError("There is no such folder.")
    names = sorted(_readable(item.name) + ("/" if item.is_dir() else "") for item in path.iterdir())
    shown = names[:_MOST_NAMES]
    rest = [f"[and {len(names) - _MOST_NAMES} more]"] if len(names) > _MOST_NAMES else []
    return "\n".join(shown + rest) or "(no files)"


def _readable(name: str) -> str:
    """A name whose bytes are no text, as text: no model takes half a character."""
    return name.encode(errors="replace").decode()
