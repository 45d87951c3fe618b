"""Results as they go into a history: bounded in tokens, without bytes. What is longer is kept whole in a file of the
agent's folder, and the model is told how to read on. Writes to disk.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from bot.agent.tools.tool import ToolError
from bot.estimate.bounds import head_and_tail, tokens_of
from bot.files import own_folder
from bot.files.blocks import FOLDER_SOURCE
from bot.files.parser_pool import Parser
from bot.files.views import picture_block
from bot.messages import Block, text_block

MOST_KEPT_BYTES = 2_000_000
"""Of one result, in its file."""
_MOST_FILES = 50
_MOST_FILES_BYTES = 20_000_000
_MOST_PICTURES = 4
_NOTE_TOKENS = 90
_UNSHOWN = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What colours a terminal, and control characters."""
_NAME = re.compile(r"[^A-Za-z0-9_-]+")


async def bounded(
    folder: Path, parser: Parser, tool: str, result: str | Sequence[Block], tokens: int
) -> str | list[Block]:
    """A result of the tool of this name, in at most so many tokens and some for its pictures; never blank."""
    if isinstance(result, str):
        return await asyncio.to_thread(bounded_text, folder, tool, result, tokens)
    cleaned = [await _clean(folder, parser, block, number) for number, block in enumerate(_shown(result))]
    blocks = [block for block in cleaned if block]
    texts = [block for block in blocks if block["type"] == "text"]
    text = "\n".join(block["text"] for block in texts)
    if tokens_of(text) > tokens:
        short = text_block(await asyncio.to_thread(_bounded_text, folder, tool, text, tokens))
        blocks = [short, *(block for block in blocks if block["type"] == "image")]
    return blocks or "(empty)"


def bounded_text(folder: Path, tool: str, text: str, tokens: int) -> str:
    """A result that is only text, likewise."""
    return _bounded_text(folder, tool, text, tokens) or "(empty)"


def _shown(result: Sequence[Block]) -> list[Block]:
    """Without the pictures after the first few: none of them is opened."""
    pictures = [block for block in result if block.get("type") == "image"]
    left_out = pictures[_MOST_PICTURES:]
    shown = [block for block in result if not any(block is picture for picture in left_out)]
    return [*shown, text_block(f"[{len(left_out)} more pictures are not shown.]")] if left_out else shown


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
    except (OSError, own_folder.Refused):  # a disk that is full: what is shown is still worth something
        return "They could not be kept."
    own_folder.swept(folder, own_folder.RESULTS, most=_MOST_FILES, most_bytes=_MOST_FILES_BYTES)
    what = "The whole result is" if len(whole) == len(data) else f"The first {len(whole):,} bytes of the result are"
    return f"{what} in {place}: read_file goes on from offset {offset}."


async def _clean(folder: Path, parser: Parser, block: Block, number: int) -> Block | None:
    """A block as a history takes it: a text, or a picture that lies in the folder."""
    if block.get("type") == "text":
        text = str(block.get("text") or "")
        text = _UNSHOWN.sub("", text).encode(errors="replace").decode()
        return text_block(text) if text.strip() else None
    source = block.get("source")
    if block.get("type") != "image" or not isinstance(source, Mapping):
        return text_block(f"[{block.get('type') or 'something'}: part {number + 1} of the result cannot be shown.]")
    try:
        return await _picture(folder, parser, block, source)
    except (own_folder.Refused, OSError, binascii.Error, ValueError) as error:
        return text_block(f"[picture: {error}]")


async def _picture(folder: Path, parser: Parser, block: Block, source: Mapping[str, Any]) -> Block:
    if source.get("type") == FOLDER_SOURCE:
        return await asyncio.to_thread(_of_folder, folder, block, source)
    if source.get("type") == "base64":
        data = await asyncio.to_thread(base64.b64decode, str(source.get("data") or ""), validate=True)
        return await picture_block(folder, data, parser)
    raise ToolError("It cannot be shown.")


def _of_folder(folder: Path, block: Block, source: Mapping[str, Any]) -> Block:
    path = own_folder.inside(folder, source.get("path"))
    if path.relative_to(folder.resolve()).parts[0] != own_folder.VIEWS:
        raise ToolError("It cannot be shown.")
    return {"type": "image", "source": dict(block["source"])}
