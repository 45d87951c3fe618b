"""Files of one conversation, for whoever reads it on the page: to be saved, never to be opened in its place. A picture
is shown where it really is one.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from bot.estimate.media import kind_and_size
from bot.files import own_folder
from bot.files.blocks import FOLDER
from bot.files.pictures import MOST_PIXELS
from bot.page.refusal import Refused, not_found

_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_SHOWN_FOLDERS = (FOLDER, own_folder.SENT)
_PINNED = re.compile(r"[0-9a-f]{8}-")
"""What stands before the name of a file on its way out."""
_PIECE_BYTES = 65_536
_HEAD_BYTES = 1_000_000
"""Of a picture, in which its size stands."""
_HEADERS = {
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-store",
}


def may_be_picture(name: str) -> bool:
    """Whether it is worth a look."""
    return name.lower().endswith(_ENDINGS)


async def file_response(folder: Path, name: str, *, shown: bool) -> Response:
    """A file of this conversation's folder, by its path in there. ``shown``: in the page, as a picture.

    Raises Refused.
    """
    stack = ExitStack()
    try:
        file = await asyncio.to_thread(_opened, stack, folder, name)
        size = os.fstat(file.fileno()).st_size
        media_type = await asyncio.to_thread(_picture_type, file) if shown else "application/octet-stream"
    except (own_folder.Refused, OSError) as error:
        stack.close()
        raise not_found("There is no such file in this conversation.") from error
    except BaseException:
        stack.close()
        raise
    headers = {
        **_HEADERS,
        "content-disposition": "inline" if shown else _attachment(name),
        "content-length": str(size),
    }
    return StreamingResponse(_pieces(stack, file, size), headers=headers, media_type=media_type)


def _opened(stack: ExitStack, folder: Path, name: str) -> BinaryIO:
    path = own_folder.inside(folder, name)
    if path.relative_to(folder.resolve()).parts[:1] not in {(place,) for place in _SHOWN_FOLDERS}:
        raise own_folder.Gone(own_folder.NO_SUCH_FILE)
    return stack.enter_context(own_folder.opened(folder, path))


def _picture_type(file: BinaryIO) -> str:
    """What kind of picture it is, by its first bytes: it is the browser that opens it. Raises Refused for anything
    else."""
    found = kind_and_size(file.read(_HEAD_BYTES))
    if found is None:
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "That is no picture.")
    media_type, (width, height) = found
    if width * height > MOST_PIXELS:
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "That picture is too large to be shown here.")
    return media_type


async def _pieces(stack: ExitStack, file: BinaryIO, size: int) -> AsyncIterator[bytes]:
    with stack:
        await asyncio.to_thread(file.seek, 0)
        left = size  # it may grow meanwhile
        while left and (piece := await asyncio.to_thread(file.read, min(left, _PIECE_BYTES))):
            left -= len(piece)
            yield piece


def _attachment(name: str) -> str:
    """https://www.rfc-editor.org/rfc/rfc6266: the name in ASCII for whoever knows no other, and as it is."""
    shown = _PINNED.sub("", Path(name).name, count=1) if name.startswith(own_folder.SENT) else Path(name).name
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", shown)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(shown, safe='')}"


def url_of(chat: str, path: str) -> str:
    """Where a page finds a file of a conversation, by its path in the folder."""
    return f"/chat/{quote(chat)}/files/{quote(path)}"
