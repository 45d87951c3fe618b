"""The text of a message: its markup taken out, its length checked.

https://core.telegram.org/bots/api#formatting-options
"""

import re
from html import unescape
from typing import Any

from tests.servers.telegram.entities import check_entities, utf16_units
from tests.servers.telegram.wire import Json, bad_request

LONGEST = 4096
LONGEST_CAPTION = 1024
"""UTF-16 units, after the markup is taken out."""

_MOST_BYTES = 1 << 15
_WHITESPACE = " \t\n\r\v\f\u00a0\u2028\u2029\u3000\ufeff"

_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)([^<>]*)>")
_TAGS = frozenset(
    {
        "a",
        "b",
        "blockquote",
        "code",
        "del",
        "em",
        "i",
        "ins",
        "pre",
        "s",
        "span",
        "strike",
        "strong",
        "tg-emoji",
        "tg-spoiler",
        "u",
    }
)
_CODE = re.compile(r"```(?:\w*\n)?((?:\\.|[^\\])*?)```|`((?:\\.|[^`\\])*)`", re.DOTALL)
_RESERVED = re.compile(r"\\(.)|([#+\-=|{}.!>])")
_MARKS = re.compile(r"\\(.)|\|\||[*_~\[\]]", re.DOTALL)
_LINK = re.compile(r"\]\((?:\\.|[^)\\])*\)")


def message_text(params: Json) -> tuple[str, list[Json]]:
    """What people will read of `text`, and its entities; `Rejected` where it is empty, wrong or too long."""
    text, entities = _formatted(params.get("text"), params.get("parse_mode"), params.get("entities"))
    if not text:
        raise bad_request("message text is empty")
    if utf16_units(text) > LONGEST:
        raise bad_request("message is too long")
    return text, entities


def draft_text(params: Json) -> tuple[str, list[Json]]:
    """The same for a draft, which may be empty."""
    text, entities = _formatted(params.get("text"), params.get("parse_mode"), params.get("entities"))
    if utf16_units(text) > LONGEST:
        raise bad_request("message is too long")
    return text, entities


def caption_text(params: Json) -> tuple[str, list[Json]]:
    """The same for the caption of a file."""
    text, entities = _formatted(params.get("caption"), params.get("parse_mode"), params.get("caption_entities"))
    if utf16_units(text) > LONGEST_CAPTION:
        raise bad_request("message caption is too long")
    return text, entities


def _formatted(source: object, parse_mode: object, entities: object) -> tuple[str, list[Json]]:
    text = source if isinstance(source, str) else ""
    if len(text.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
        raise bad_request("text is too long")
    if parse_mode:
        return _parsed(text, str(parse_mode).lower()).strip(), []
    return _trimmed(text, check_entities(text, entities))


def _trimmed(text: str, entities: list[dict[str, Any]]) -> tuple[str, list[Json]]:
    """Without white space around it, but for what stands in an entity at the beginning; entities moved along."""
    kept = text.rstrip(_WHITESPACE)
    if not kept.strip(_WHITESPACE):
        return "", []
    first = min((entity["offset"] for entity in entities), default=len(kept))
    cut = min(first, len(kept) - len(kept.lstrip(" \n")))
    kept = kept[cut:]
    units, moved = utf16_units(kept), []
    for entity in entities:
        offset = entity["offset"] - cut
        if offset < units:
            moved.append(entity | {"offset": offset, "length": min(entity["length"], units - offset)})
    return kept, list(moved)


def _parsed(source: str, parse_mode: str) -> str:
    match parse_mode:
        case "html":
            return _from_html(source)
        case "markdownv2":
            return _from_markdown(source)
        case "markdown":
            return re.sub(r"[*_`]", "", source)
        case _:
            raise bad_request("unsupported parse_mode")


def _from_html(source: str) -> str:
    open_tags: list[str] = []
    for tag in _TAG.finditer(source):
        offset = len(source[: tag.start()].encode())
        name = tag[2].lower()
        if name not in _TAGS:
            raise bad_request(f'can\'t parse entities: Unsupported start tag "{name}" at byte offset {offset}')
        if not tag[1]:
            open_tags.append(name)
        elif not open_tags:
            raise bad_request(f"can't parse entities: Unexpected end tag at byte offset {offset}")
        elif (expected := open_tags.pop()) != name:
            raise bad_request(
                f"can't parse entities: Unmatched end tag at byte offset {offset},"
                f' expected "</{expected}>", found "</{name}>"'
            )
    if open_tags:
        raise bad_request(f"can't parse entities: Can't find end tag corresponding to start tag \"{open_tags[-1]}\"")
    plain = _TAG.sub("", source)
    if "<" in plain:
        offset = len(source[: source.index("<")].encode())
        raise bad_request(f'can\'t parse entities: Unsupported start tag "" at byte offset {offset}')
    return unescape(plain)


def _from_markdown(source: str) -> str:
    """MarkdownV2; code is kept as it is, elsewhere reserved characters must be escaped."""
    shown, at = "", 0
    for code in _CODE.finditer(source):
        shown += _from_prose(source[at : code.start()])
        shown += re.sub(r"\\(.)", r"\1", code[1] if code[1] is not None else code[2])
        at = code.end()
    return shown + _from_prose(source[at:])


def _from_prose(prose: str) -> str:
    prose = _LINK.sub("]", prose).replace("||", "")
    prose = re.sub(r"^(?:\*\*)?>", "", prose, flags=re.MULTILINE)
    for found in _RESERVED.finditer(prose):
        if found[2]:
            raise bad_request(
                f"can't parse entities: Character '{found[2]}' is reserved and must be escaped with the preceding '\\'"
            )
    return _MARKS.sub(lambda mark: mark[1] or "", prose)
