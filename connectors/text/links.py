"""Which links a platform takes. Pure.

Telegram refuses a message, or leaves the link out, for an address that its servers cannot read: a host without a
dot, another scheme. https://core.telegram.org/bots/api#formatting-options
"""

from __future__ import annotations

import re

LONGEST_URL = 1024

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = rf"(?:{_LABEL}\.)+(?:[a-z]{{2,63}}|xn--[a-z0-9-]{{2,59}}|(?<=\.)\d{{1,3}})"
_WEB = re.compile(rf"https?://{_HOST}\.?(?P<port>:\d{{1,5}})?(?:[/?#][^\s<>\\^`{{|}}\"]*)?", re.IGNORECASE)
_TELEGRAM = re.compile(r"tg://[a-z_]+(?:[/?][^\s<>\"\\]*)?", re.IGNORECASE)
_BRACKETS = re.compile(r"[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*")
_ADDRESS = re.compile(r"https?://|discord\.gg/|www\.", re.IGNORECASE)


def is_web(url: str) -> bool:
    """Whether it is an http or https address with a host that can be public."""
    found = _WEB.fullmatch(url) if len(url) <= LONGEST_URL else None
    return found is not None and (not found["port"] or 0 < int(found["port"][1:]) <= 65535)  # noqa: PLR2004 - of ports


def telegram_takes(url: str, label: str) -> bool:
    """Whether Telegram can put this address behind a label."""
    if len(url) > LONGEST_URL or not label.strip():
        return False
    return is_web(url) or bool(_TELEGRAM.fullmatch(url))


def discord_takes(url: str, label: str) -> bool:
    """Whether Discord can: not where the label has unpaired brackets, or itself looks like an address."""
    if not is_web(url) or not label.strip():
        return False
    return _BRACKETS.fullmatch(label) is not None and not _ADDRESS.search(label)
