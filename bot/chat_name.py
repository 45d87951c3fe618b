"""Names that people give to conversations, in a terminal and on the page. Pure."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z0-9_][a-z0-9_-]{0,59}")
NAMES = "a conversation's name has small letters, digits, _ and -, 60 at most, for example 'work'"
"""What whoever gave another one is told."""


def is_name(text: str) -> bool:
    """Whether a conversation can be called so."""
    return _NAME.fullmatch(text) is not None
