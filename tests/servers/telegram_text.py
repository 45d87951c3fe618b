"""The text of a message: its markup taken out, its length checked.

https://core.telegram.org/bots/api#formatting-options
"""

import re
from html import unescape

from tests.servers.telegram_wire import bad_request

LONGEST = 4096
"""UTF-16 units, after the markup is taken out."""

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


def utf16_units(text: str) -> int:
    """The length of a text as Telegram counts it."""
    return len(text.encode("utf-16-le")) // 2


def visible(text: object, parse_mode: object) -> str:
    """What people will read; `Rejected` where the text is empty, wrong or too long."""
    source = text if isinstance(text, str) else ""
    match str(parse_mode or "").lower():
        case "":
            shown = source
        case "html":
            shown = _from_html(source)
        case "markdownv2":
            shown = _from_markdown(source)
        case "markdown":
            shown = re.sub(r"[*_`]", "", source)
        case _:
            raise bad_request("unsupported parse_mode")
    shown = shown.strip()
    if not shown:
        raise bad_request("message text is empty")
    if utf16_units(shown) > LONGEST:
        raise bad_request("message is too long")
    return shown


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
