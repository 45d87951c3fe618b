"""Pictures and PDFs in a request: what they cost, and what the real server does not take."""

import base64
import binascii
import io
import math
from collections.abc import Mapping
from typing import Any

from PIL import Image, UnidentifiedImageError
from pypdf import PdfReader
from pypdf.errors import PyPdfError

MOST_IMAGE_TOKENS = 1_600
PAGE_TOKENS = 2_000
MOST_IMAGE_BYTES = 5 * 1024 * 1024
MOST_PIXELS = 8_000
MOST_PAGES = 100
_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


def tokens_of_media(block: Mapping[str, Any]) -> int:
    """A picture by its size, a PDF by its pages; 0 for anything else, and for what `problem_of` finds wrong."""
    source = block.get("source") or {}
    if block.get("type") == "image" and source.get("type") != "base64":
        return MOST_IMAGE_TOKENS
    if block.get("type") not in ("image", "document") or source.get("type") != "base64" or problem_of(block):
        return 0
    data = io.BytesIO(base64.b64decode(source["data"]))
    if block["type"] == "document":
        return len(PdfReader(data).pages) * PAGE_TOKENS
    with Image.open(data) as picture:
        return min(MOST_IMAGE_TOKENS, math.ceil(picture.width * picture.height / 750))


def problem_of(block: Mapping[str, Any]) -> str | None:
    """Why the real server refuses this block, if it does. https://docs.claude.com/en/docs/build-with-claude/vision"""
    source = block.get("source")
    if not isinstance(source, Mapping) or source.get("type") not in ("base64", "url", "file", "text", "content"):
        return "source: Input tag does not match any of the expected tags: 'base64', 'url', 'file'"
    if source["type"] != "base64":
        return None
    try:
        data = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, KeyError, TypeError):
        return "source.base64.data: Input should be valid base64"
    return _pdf_problem(source, data) if block["type"] == "document" else _image_problem(source, data)


def _pdf_problem(source: Mapping[str, Any], data: bytes) -> str | None:
    if source.get("media_type") != "application/pdf":
        return "source.base64.media_type: Input should be 'application/pdf'"
    try:
        reader = PdfReader(io.BytesIO(data))
        pages = 0 if reader.is_encrypted else len(reader.pages)
    except PyPdfError:
        return "The PDF specified was not valid."
    return None if 0 < pages <= MOST_PAGES else f"A maximum of {MOST_PAGES} PDF pages may be provided."


def _image_problem(source: Mapping[str, Any], data: bytes) -> str | None:
    if len(source["data"]) > MOST_IMAGE_BYTES:
        return f"image exceeds 5 MB maximum: {len(source['data'])} bytes > {MOST_IMAGE_BYTES} bytes"
    try:
        with Image.open(io.BytesIO(data)) as picture:
            kind, size = _TYPES.get(picture.format or ""), picture.size
            picture.load()
    except (UnidentifiedImageError, OSError):
        return "Could not process image"
    if kind != source.get("media_type"):
        return f"Image does not match the provided media type {source.get('media_type')}"
    if max(size) > MOST_PIXELS:
        return "At least one of the image dimensions exceed max allowed size: 8000 pixels"
    return None
