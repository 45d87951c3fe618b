"""What a platform's limit counts. Pure.

UTF-16 units for Telegram (https://core.telegram.org/bots/api#sendmessage), characters for Discord (``len``).
A measure is a sum over characters, at least 1 for each.
"""

from __future__ import annotations

from collections.abc import Callable

Measure = Callable[[str], int]

ELLIPSIS = "…"


def utf16_length(text: str) -> int:
    """The length in UTF-16 units: 2 for a character beyond U+FFFF, such as most emoji."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
