"""How many pages a PDF has, read from its base64 text. Pure."""

from __future__ import annotations

import base64
import binascii
import math
import re

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
