"""What two texts have in common that say the same. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

_NO_WORD = re.compile(r"\W+")
_KEPT = 16_384
"""Answers that are kept: of every fact that is known, at every turn."""


@lru_cache(maxsize=_KEPT)
def plain(text: str) -> str:
    """What two texts have in common that say the same."""
    return _NO_WORD.sub(" ", text.casefold()).strip() or text
