"""What a message and its answer carry, so that servers recognise them without reading what stands around."""

from __future__ import annotations

import re

# Names that all processes of a bench know.
TOKEN = "1:bench-token-of-nobody"
KEY = "bench-key"
MODEL = "claude-sonnet-5"
END = b"endofthereply"
"""The last word of every reply: a text with it is a final one."""
SLOWLY = b"slowly"
"""A message with this word is answered as slowly as a person reads."""
_NONCE = re.compile(rb"n(\d{7})z")


def nonce_of(number: int) -> str:
    """What names message ``number``, in words that no encoding changes."""
    return f"n{number:07}z"


def numbers_in(text: bytes) -> list[int]:
    """The messages that a text names, in order."""
    return [int(found) for found in _NONCE.findall(text)]
