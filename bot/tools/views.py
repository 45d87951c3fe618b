"""Pictures in results: kept in the agent's folder under a name that no tool changes, so that the book stays small."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath
from typing import Any

from bot.files import FOLDER_SOURCE
from bot.messages import Block
from bot.pictures import NotAPicture, TooLarge, view_of
from bot.tools import own_folder
from bot.tools.tool import ToolError

MOST_BYTES = 20_000_000
_ENDINGS = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif"}


def ending_of(head: bytes) -> str:
    """The ending of a picture's name, by its first bytes; empty for what is no picture that models take."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return ".webp"
    return next((ending for magic, ending in _ENDINGS.items() if head.startswith(magic)), "")


def picture_block(folder: Path, data: bytes) -> Block:
    """A picture as a model sees it; its bytes are put in when a request is sent. Writes to disk.

    Raises ToolError for what cannot be shown, OSError.
    """
    ending = ending_of(data[:16])
    if not ending or len(data) > MOST_BYTES:
        raise ToolError("That is no picture that can be shown.")
    place = PurePath(own_folder.VIEWS, f"{hashlib.sha256(data).hexdigest()[:24]}{ending}")
    path = folder.resolve() / place
    if not path.is_file():
        own_folder.write(folder, place, data)
    try:
        view = view_of(path)
    except (NotAPicture, TooLarge) as error:
        raise ToolError(f"The picture cannot be shown: {error}.") from error
    except Exception as error:  # whatever a library makes of a broken file
        raise ToolError("The picture cannot be shown: it seems to be broken.") from error
    source: dict[str, Any] = {
        "type": FOLDER_SOURCE,
        "path": str(view.path.relative_to(folder.resolve())),
        "media_type": view.media_type,
        "width": view.width,
        "height": view.height,
    }
    return {"type": "image", "source": source}
