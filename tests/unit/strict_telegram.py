"""Telegram's rules for a classic message, stricter than its servers, which leave out what they do not understand.

https://core.telegram.org/bots/api#messageentity and #formatting-options. That a message's leading white space goes
only up to its first entity is from TDLib, ``fix_formatted_text``.
"""

from __future__ import annotations

import unicodedata
from itertools import combinations
from urllib.parse import urlsplit

from connectors.text import Entity, Formatted

KINDS = {"bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"}
CODE = {"code", "pre"}


def check(message: Formatted, limit: int) -> None:
    """Raises AssertionError for what Telegram would refuse, change or ignore."""
    units = message.text.encode("utf-16-le")  # fails for a lone surrogate
    assert 0 < len(units) // 2 <= limit
    assert not [one for one in message.text if unicodedata.category(one) == "Cc" and one not in "\n\t"]
    _check_white_space(message)
    assert len(message.entities) <= 100
    assert list(message.entities) == sorted(message.entities, key=lambda one: (one.offset, -one.length))
    for entity in message.entities:
        _check_entity(entity, units)
    for first, second in combinations(message.entities, 2):
        _check_pair(first, second)


def _check_white_space(message: Formatted) -> None:
    assert message.text.strip()
    assert message.text == message.text.rstrip()
    starts_with_code = message.entities and message.entities[0].offset == 0 and message.entities[0].kind == "pre"
    assert message.text == message.text.lstrip(" \t" if starts_with_code else None) or starts_with_code
    assert not message.text.startswith("\n")


def _check_entity(entity: Entity, units: bytes) -> None:
    assert entity.kind in KINDS
    assert entity.offset >= 0
    assert entity.length > 0
    assert (entity.offset + entity.length) * 2 <= len(units)
    content = units[entity.offset * 2 : (entity.offset + entity.length) * 2].decode("utf-16-le")  # fails for a half
    assert content.strip()
    assert content == content.rstrip()
    assert not content.startswith("\n") if entity.kind == "pre" else content == content.lstrip()
    assert (entity.url is not None) == (entity.kind == "text_link")
    assert entity.language is None or (entity.kind == "pre" and entity.language.strip() == entity.language != "")
    if entity.url:
        address = urlsplit(entity.url)
        assert address.scheme.lower() in {"http", "https", "tg"}
        assert address.scheme.lower() == "tg" or "." in (address.hostname or "")
        assert not set(entity.url) & set(' \n\t<>"')


def _check_pair(first: Entity, second: Entity) -> None:
    """Of two in order: the second is after the first or within it, and then they agree with each other."""
    first_end, second_end = first.offset + first.length, second.offset + second.length
    if second.offset >= first_end:
        return
    assert second_end <= first_end
    kinds = {first.kind, second.kind}
    assert len(kinds) == 2
    assert not kinds & CODE
