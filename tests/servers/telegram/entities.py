"""What is special about parts of a text: which entities a bot may send, and which Telegram finds by itself.

The real server leaves out most entities that it does not like; here each of them is an error, so that tests
notice. https://core.telegram.org/bots/api#messageentity
"""

import re
from itertools import combinations
from typing import Any
from urllib.parse import urlsplit

from tests.servers.telegram.wire import Json, Rejected, bad_request

MOST_ENTITIES = 100
"""In one message; the real server leaves out the others."""

_STYLES = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
_QUOTES = frozenset({"blockquote", "expandable_blockquote"})
_CODE = frozenset({"code", "pre"})
_FOUND_BY_TELEGRAM = frozenset(
    {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"}
)
_LINKS = frozenset({"text_link", "text_mention", "custom_emoji", "date_time"})
_TYPES = _STYLES | _QUOTES | _CODE | _FOUND_BY_TELEGRAM | _LINKS
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+-]*):(?!\d)")
_HOST = re.compile(r"[^.]+(?:\.[^.]+)+\.?|[0-9a-f:]*:[0-9a-f:.]*")
_SCHEMES = frozenset({"http", "https", "tg", "ton", "tonsite"})

_SPECIAL = (
    ("bot_command", re.compile(r"(?:^|(?<=\s))/[A-Za-z0-9_]{1,32}(?:@\w+)?")),
    ("mention", re.compile(r"(?<![\w@/])@[A-Za-z0-9_]{3,32}(?!\w)")),
    ("url", re.compile(r"(?<!\w)https?://[^\s<>\"]+[^\s<>\".,;:!?)]")),
)


def utf16_units(text: str) -> int:
    """The length of a text as Telegram counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def special_parts(text: str) -> list[dict[str, Any]]:
    """The commands, mentions and addresses that Telegram marks in what a person writes."""
    found = [
        {"type": kind, "offset": utf16_units(text[: match.start()]), "length": utf16_units(match[0])}
        for kind, pattern in _SPECIAL
        for match in pattern.finditer(text)
    ]
    return sorted(found, key=lambda entity: (entity["offset"], -entity["length"]))


def part(text: str, entity: Json) -> str:
    """The part of a text that an entity is about."""
    units = text.encode("utf-16-le")
    begin = entity["offset"] * 2
    return units[begin : begin + entity["length"] * 2].decode("utf-16-le")


def check_entities(text: str, entities: object) -> list[dict[str, Any]]:
    """The entities in order, the outer before the inner; `Rejected` for one that Telegram would not show."""
    if entities is None:
        return []
    if not isinstance(entities, list):
        raise _wrong("expected an Array of MessageEntity")
    if len(entities) > MOST_ENTITIES:
        raise bad_request("ENTITIES_TOO_LONG")
    inside = _inside_pairs(text)
    length = utf16_units(text)
    for entity in entities:
        _check_entity(entity, length, inside)
    ordered = sorted(entities, key=lambda entity: (entity["offset"], -entity["length"], entity["type"] in _CODE))
    for outer, inner in combinations(ordered, 2):
        _check_together(outer, inner)
    return [dict(entity) for entity in ordered]


def _wrong(reason: str) -> Rejected:
    return bad_request(f"can't parse MessageEntity: {reason}")


def _inside_pairs(text: str) -> frozenset[int]:
    """The offsets between the two halves of a surrogate pair."""
    offsets, at = set(), 0
    for character in text:
        if ord(character) > 0xFFFF:
            offsets.add(at + 1)
            at += 1
        at += 1
    return frozenset(offsets)


def _check_entity(entity: Any, length: int, inside: frozenset[int]) -> None:
    if not isinstance(entity, dict):
        raise _wrong("expected an Object")
    kind = entity.get("type")
    if not kind:
        raise _wrong("Type is not specified")
    if kind not in _TYPES:
        raise _wrong("Unsupported type specified")
    offset, size = _number(entity, "offset"), _number(entity, "length")
    if size <= 0:
        raise bad_request(f"entity of length {size} at offset {offset}")
    if offset < 0 or offset + size > length:
        raise bad_request(f"entity beyond the text: offset {offset}, length {size}, text {length}")
    if inside & {offset, offset + size}:
        raise bad_request(f"entity cuts a surrogate pair: offset {offset}, length {size}")
    if kind == "text_link":
        _check_url(entity.get("url"))
    if kind == "text_mention" and not isinstance((entity.get("user") or {}).get("id"), int):
        raise _wrong('Can\'t find field "user"')
    if kind == "custom_emoji" and not str(entity.get("custom_emoji_id") or "").isdecimal():
        raise _wrong('Can\'t find field "custom_emoji_id"')


def _number(entity: Json, name: str) -> int:
    number = entity.get(name)
    if type(number) is not int:
        raise _wrong(f'Field "{name}" must be of type Number')
    return number


def _check_url(url: object) -> None:
    if not isinstance(url, str) or not url:
        raise _wrong('Can\'t find field "url"')
    if any(character.isspace() for character in url):
        raise bad_request(f"Wrong HTTP URL: {url}")
    scheme = _SCHEME.match(url)
    if scheme and scheme[1].lower() not in _SCHEMES:
        raise bad_request(f"Unsupported URL protocol: {url}")
    if scheme and not scheme[1].lower().startswith("http"):
        return
    try:
        host = urlsplit(url if scheme else f"http://{url}").hostname or ""
    except ValueError:
        raise bad_request(f"Wrong HTTP URL: {url}") from None
    if not _HOST.fullmatch(host):
        raise bad_request(f"Wrong HTTP URL: {url}")


def _check_together(outer: Json, inner: Json) -> None:
    """https://core.telegram.org/bots/api#formatting-options says what may be in what."""
    ends, begins = outer["offset"] + outer["length"], inner["offset"]
    if begins >= ends:
        return
    if begins + inner["length"] > ends:
        raise bad_request(f"entities overlap: {outer['type']} and {inner['type']} at offset {begins}")
    kinds = {outer["type"], inner["type"]}
    if kinds <= _QUOTES:
        raise bad_request(f"nested blockquote at offset {begins}")
    if kinds & _QUOTES and (outer["type"] in _QUOTES or inner["length"] == outer["length"]):
        return  # a quotation holds anything but another one
    if kinds & _CODE:
        raise bad_request(f"entities overlap: nothing can be in or around code or pre, at offset {begins}")
    if not kinds & _STYLES:
        raise bad_request(f"entities overlap: {inner['type']} in {outer['type']} at offset {begins}")
