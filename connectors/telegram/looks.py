"""How an outbound looks in Telegram: one message or several, with their marks and their buttons. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aiogram import types

from bot.messages import Button, Edit, Say
from connectors.text import ELLIPSIS, Entity, for_telegram, rich_markdown, shorten, split, utf16_length

LONGEST_TEXT = 4096
"""UTF-16 units of one message. https://core.telegram.org/bots/api#sendmessage"""
LONGEST_CAPTION = 1024
"""UTF-16 units of what is said of a file."""
EMPTY_REPLY = "(empty reply)"

_MOST_READ = 4 * LONGEST_TEXT
"""Characters with their markup: a long reply is not read anew each second, only to show its beginning."""
_BUTTONS_IN_ROW = 4
_MORE = f"\n{ELLIPSIS}"


@dataclass(frozen=True)
class Look:
    """What one message shows: a text with marks, or the Markdown of a rich message, and the buttons under it."""

    text: str = ""
    entities: tuple[Entity, ...] = ()
    rich: str = ""
    buttons: tuple[Button, ...] = ()

    @property
    def plain(self) -> Look:
        """The same without marks."""
        return replace(self, entities=())


def looks_of(outbound: Say | Edit) -> list[Look]:
    """The messages that it becomes, at least one; just one as long as it is being written."""
    looks = _begun(outbound) if outbound.partial else _whole(outbound, LONGEST_TEXT)
    return with_buttons(looks or [Look(EMPTY_REPLY)], outbound.buttons)


def rich_look_of(outbound: Say | Edit) -> Look | None:
    """The one rich message that shows it better, if there is one."""
    if outbound.notice or outbound.partial:
        return None
    rich = rich_markdown(outbound.text)
    return Look(rich=rich, buttons=outbound.buttons) if rich else None


def caption_of(outbound: Say) -> Look | None:
    """What stands under the file, or None where that is too long, or better said in a message of its own."""
    if rich_look_of(outbound):
        return None
    looks = _whole(outbound, LONGEST_CAPTION) or [Look()]
    return with_buttons(looks, outbound.buttons)[0] if len(looks) == 1 else None


def with_buttons(looks: list[Look], buttons: tuple[Button, ...]) -> list[Look]:
    """The buttons stand under the last."""
    return [*looks[:-1], replace(looks[-1], buttons=buttons)]


def draft_of(text: str) -> Look:
    """The beginning of a reply; empty where nothing is written yet."""
    begun = text[:_MOST_READ]
    pieces = for_telegram(begun, LONGEST_TEXT)
    if len(pieces) > 1 or (pieces and begun != text):
        first = for_telegram(begun, LONGEST_TEXT - utf16_length(_MORE))[0]
        return Look(first.text + _MORE, first.entities)
    return Look(pieces[0].text, pieces[0].entities) if pieces else Look()


def keyboard_of(look: Look) -> types.InlineKeyboardMarkup | None:
    """Its buttons, some in a row: of more, none could be read on a phone."""
    if not look.buttons:
        return None
    row = [types.InlineKeyboardButton(text=one.label, callback_data=one.command) for one in look.buttons]
    rows = [row[at : at + _BUTTONS_IN_ROW] for at in range(0, len(row), _BUTTONS_IN_ROW)]
    return types.InlineKeyboardMarkup(inline_keyboard=rows)


def entities_of(look: Look) -> list[types.MessageEntity] | None:
    """Its marks."""
    marks = [
        types.MessageEntity(type=one.kind, offset=one.offset, length=one.length, url=one.url, language=one.language)
        for one in look.entities
    ]
    return marks or None


def _begun(outbound: Say | Edit) -> list[Look]:
    if outbound.notice:
        text = _sendable(outbound.text)
        return [Look(shorten(text, LONGEST_TEXT))] if text.strip() else []
    look = draft_of(outbound.text)
    return [look] if look.text else []


def _whole(outbound: Say | Edit, limit: int) -> list[Look]:
    if outbound.notice:
        return [Look(text) for text in split(_sendable(outbound.text), limit)]
    return [Look(piece.text, piece.entities) for piece in for_telegram(outbound.text, limit)]


def _sendable(text: str) -> str:
    """Half of a surrogate pair cannot be sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
