"""Pictures in results: kept in the agent's folder under a name that no tool changes, so that the book stays small."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path, PurePath

from bot.files import own_folder
from bot.files.blocks import picture_source
from bot.files.own_folder import Refused
from bot.files.parser_pool import CannotOpen, Parser
from bot.files.pictures import View
from bot.messages import Block

MOST_BYTES = 20_000_000
_ENDINGS = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif"}


def ending_of(head: bytes) -> str:
    """The ending of a picture's name, by its first bytes; empty for what is no picture that models take."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return ".webp"
    return next((ending for magic, ending in _ENDINGS.items() if head.startswith(magic)), "")


async def picture_block(folder: Path, data: bytes, parser: Parser) -> Block:
    """A picture as a model sees it; its bytes are put in when a request is sent. Writes to disk.

    Raises Refused for what cannot be shown, OSError.
    """
    home, path = await asyncio.to_thread(_kept, folder, data)
    try:
        view = await parser.parse(path, of=str(folder))
    except CannotOpen as error:
        raise Refused(f"The picture cannot be shown: {error}.") from error
    if not isinstance(view, View):
        raise Refused("The picture cannot be shown: it seems to be broken.")
    return {"type": "image", "source": picture_source(home, view)}


def _kept(folder: Path, data: bytes) -> tuple[Path, Path]:
    """The folder without links, and the file in there that has these bytes now."""
    folder = folder.resolve()
    ending = ending_of(data[:16])
    if not ending or len(data) > MOST_BYTES:
        raise Refused("That is no picture that can be shown.")
    place = PurePath(own_folder.VIEWS, f"{hashlib.sha256(data).hexdigest()[:24]}{ending}")
    if not (folder / place).is_file():
        own_folder.write(folder, place, data)
    return folder, folder / place
