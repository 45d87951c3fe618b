"""Results as they go into a history: bounded in tokens, without bytes. What is longer is kept whole in a file of the
agent's folder, and the model is told how to read on. Writes to disk.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from bot.files import FOLDER_SOURCE
from bot.messages import Block, text_block
from bot.tools import own_folder
from bot.tools.bounds import head_and_tail, tokens_of
from bot.tools.tool import ToolError
from bot.tools.views import picture_block

MOST_KEPT_BYTES = 2_000_000
"""Of one result, in its file."""
_MOST_FILES = 50
_MOST_FILES_BYTES = 20_000_000
_MOST_PICTURES = 4
_NOTE_TOKENS = 90
_UNSHOWN = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What colours a terminal, and control characters."""
_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def bounded(folder: Path, tool: str, result: str | Sequence[Block], tokens: int) -> str | list[Block]:
    """A result of the tool of this name, in at most so many tokens and some for its pictures; never blank."""
    if isinstance(result, str):
        return _bounded_text(folder, tool, result, tokens) or "(empty)"
    blocks = [clean for number, block in enumerate(result) if (clean := _clean(folder, block, number))]
    pictures = [block for block in blocks if block["type"] == "image"]
    texts = [block for block in blocks if block["type"] == "text"]
    dropped = [text_block(f"[{len(pictures) - _MOST_PICTURES} more pictures are not shown.]")]
    text = "\n".join(block["text"] for block in texts)
    if tokens_of(text) > tokens:
        texts = [text_block(_bounded_text(folder, tool, text, tokens))]
        blocks = [*texts, *pictures]
    kept = pictures[:_MOST_PICTURES]
    shown = [block for block in blocks if block["type"] == "text" or any(block is picture for picture in kept)]
    return (shown + dropped if len(pictures) > _MOST_PICTURES else shown) or "(empty)"


def _bounded_text(folder: Path, tool: str, text: str, tokens: int) -> str:
    text = _UNSHOWN.sub("", text).encode(errors="replace").decode()
    if not text.strip():
        return ""
    if tokens_of(text) <= tokens:
        return text
    head, tail = head_and_tail(text, max(1, tokens - _NOTE_TOKENS))
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out:,} characters are left out here. {_kept(folder, tool, text, len(head))}]\n{tail}"


def _kept(folder: Path, tool: str, text: str, offset: int) -> str:
    """Put the whole into a file, and say where it is."""
    data = text.encode()
    whole = data[:MOST_KEPT_BYTES].decode(errors="ignore").encode()
    place = PurePath(own_folder.RESULTS, f"{_NAME.sub('-', tool)[:40] or 'tool'}-{secrets.token_hex(4)}.txt")
    try:
        own_folder.write(folder, place, whole)
    except (OSError, ToolError):  # a disk that is full: what is shown is still worth something
        return "They could not be kept."
    own_folder.swept(folder, own_folder.RESULTS, most=_MOST_FILES, most_bytes=_MOST_FILES_BYTES)
    what = "The whole result is" if len(whole) == len(data) else f"The first {len(whole):,} bytes of the result are"
    return f"{what} in {place}: read_file goes on from offset {offset}."


def _clean(folder: Path, block: Block, number: int) -> Block | None:
    """A block as a history takes it: a text, or a picture that lies in the folder."""
    if block.get("type") == "text":
        text = str(block.get("text") or "")
        text = _UNSHOWN.sub("", text).encode(errors="replace").decode()
        return text_block(text) if text.strip() else None
    source = block.get("source")
    if block.get("type") != "image" or not isinstance(source, Mapping):
        return text_block(f"[{block.get('type') or 'something'}: part {number + 1} of the result cannot be shown.]")
    try:
        return _picture(folder, block, source)
    except (ToolError, OSError, binascii.Error, ValueError) as error:
        return text_block(f"[picture: {error}]")


def _picture(folder: Path, block: Block, source: Mapping[str, Any]) -> Block:
    if source.get("type") == FOLDER_SOURCE:
        path = own_folder.inside(folder, source.get("path"))
        if path.relative_to(folder.resolve()).parts[0] != own_folder.VIEWS:
            raise ToolError("It cannot be shown.")
        return {"type": "image", "source": dict(block["source"])}
    if source.get("type") == "base64":
        return picture_block(folder, base64.b64decode(str(source.get("data") or ""), validate=True))
    raise ToolError("It cannot be shown.")
