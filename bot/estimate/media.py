"""How large a picture is and how many pages a PDF has, as far as that can be said without opening them. Pure.

Of a file that people send neither is asked here: Pillow and pypdf say it, in a child process, and its block keeps the
answer (:mod:`bot.files.parser_process`). Here is what stands in a request in base64, and what the page serves. That is
looked at in the program itself, so no library opens it (docs/decisions/0012-files-are-opened-in-children.md): of a PNG,
JPEG, GIF or WebP the size is read where its format says that it stands, in at most the first ``_JPEG_HEAD``
characters, however large the picture is.
"""

from __future__ import annotations

import base64
import binascii
import math
import re

_HEAD = 64
"""Characters of base64 that hold the size in all formats but JPEG."""
_JPEG_HEAD = 262_144
"""Characters of base64 looked at in a JPEG, which may carry a thumbnail and a colour profile before its size."""

_PNG_HEAD, _GIF_HEAD, _WEBP_HEAD, _JPEG_FRAME = 24, 10, 30, 9
"""Bytes up to the end of the size."""

_JPEG = b"\xff\xd8"
_JPEG_MARK = 0xFF

_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Start-of-frame markers, ITU-T T.81 table B.1; C4, C8 and CC are tables."""

_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
"""Markers without a length: TEM and the restarts."""


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height in pixels of a base64 picture, or ``None`` where they cannot be read."""
    raw = _decoded(data, _HEAD)
    found = kind_and_size(_decoded(data, _JPEG_HEAD) if raw.startswith(_JPEG) else raw)
    return found and found[1]


def kind_and_size(raw: bytes) -> tuple[str, tuple[int, int]] | None:
    """The media type, and width and height in pixels, of a picture that begins with these bytes; ``None`` for
    anything else."""
    kind, size = "", None
    if raw.startswith(_JPEG):
        kind, size = "image/jpeg", _jpeg(raw)
    elif raw.startswith(b"\x89PNG\r\n\x1a\n") and len(raw) >= _PNG_HEAD:
        width, height = int.from_bytes(raw[16:20], "big"), int.from_bytes(raw[20:24], "big")
        kind, size = "image/png", _positive(width, height)
    elif raw[:6] in (b"GIF87a", b"GIF89a") and len(raw) >= _GIF_HEAD:
        width, height = int.from_bytes(raw[6:8], "little"), int.from_bytes(raw[8:10], "little")
        kind, size = "image/gif", _positive(width, height)
    elif raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        kind, size = "image/webp", _webp(raw)
    return (kind, size) if size else None


def _decoded(data: str, most: int) -> bytes:
    """The bytes of the first so many characters (a multiple of 4); none where they are no base64."""
    head = data[:most]
    try:
        return base64.b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return b""


def _positive(width: int, height: int) -> tuple[int, int] | None:
    return (width, height) if width > 0 and height > 0 else None


def _webp(raw: bytes) -> tuple[int, int] | None:
    if len(raw) < _WEBP_HEAD:
        return None
    match raw[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(raw[24:27], "little"), 1 + int.from_bytes(raw[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(raw[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width = int.from_bytes(raw[26:28], "little") & 0x3FFF
            return _positive(width, int.from_bytes(raw[28:30], "little") & 0x3FFF)
        case _:
            return None


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    at = 2
    while at + _JPEG_FRAME <= len(raw) and raw[at] == _JPEG_MARK:
        marker = raw[at + 1]
        if marker == _JPEG_MARK:
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        elif marker in _JPEG_SIZES:
            return _positive(int.from_bytes(raw[at + 7 : at + 9], "big"), int.from_bytes(raw[at + 5 : at + 7], "big"))
        else:
            at += 2 + max(2, int.from_bytes(raw[at + 2 : at + 4], "big"))
    return None


PDF_PAGE_BYTES = 50_000
"""Size of a page, where a PDF does not show how many it has."""

MOST_PDF_PAGES = 600
"""A request with more is refused (PDF support page)."""

_PAGE = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")


def pdf_pages(data: str) -> int:
    """The pages that a PDF shows, or a guess by its size: newer files keep their page objects compressed."""
    try:
        raw = base64.b64decode(data)
    except (binascii.Error, ValueError):
        raw = b""
    pages = len(_PAGE.findall(raw)) or math.ceil(len(data) * 3 / 4 / PDF_PAGE_BYTES)
    return min(max(1, pages), MOST_PDF_PAGES)
