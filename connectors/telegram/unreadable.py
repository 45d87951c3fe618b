"""Updates that this aiogram cannot read: what can be read of them all the same, and whom to tell where that is nothing.

Pure. https://core.telegram.org/bots/api#update
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeAlias

from aiogram import Bot, types
from aiogram.enums import ContentType
from pydantic import ValidationError

from bot.messages import Address, Inbound
from connectors.telegram.content import named

Raw: TypeAlias = Mapping[str, Any]

_MOST_TRIES = 10
_NEEDED = frozenset({"message_id", "date", "chat", "from", "id"})
"""Without these nobody knows who said it, and where."""

log = logging.getLogger(__name__)


def read(raw: object, bot: Bot) -> tuple[types.Update | None, bool]:
    """An update without the parts of it that cannot be read (None where too little is left), and whether that is all of
    it. What was left out is logged, but not what people said in it."""
    left = raw if isinstance(raw, Mapping) else None
    if left is None:
        log.error("update_unreadable", extra={"update": "without an id", "reason": f"it is a {type(raw).__name__}"})
    for _ in range(_MOST_TRIES):
        if left is None:
            break
        try:
            return types.Update.model_validate(left, context={"bot": bot}), left is raw
        except ValidationError as problem:
            _tell(left, problem)
            left = _without(left, problem)
    return None, False


def unread(raw: object, me: types.User) -> Inbound | None:
    """Whose message it was, as an event whose words are not known; None where nobody spoke to us."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("update_id"), int):
        return None
    said, press = _part(raw, "message"), _part(raw, "callback_query")
    message = said or _part(press, "message")
    chat, sender = _part(message, "chat"), _part(said or press, "from")
    chat_id, person, number = chat.get("id"), sender.get("id"), message.get("message_id")
    if not (isinstance(chat_id, int) and isinstance(person, int) and isinstance(number, int)) or sender.get("is_bot"):
        return None
    is_private = chat.get("type") == "private"
    if not (is_private or press or _is_for_us(message, me)):
        return None
    topic = message.get("message_thread_id") if message.get("is_topic_message") else None
    name = str(sender.get("first_name") or "")
    return Inbound(
        address=Address("telegram", str(chat_id), str(topic) if isinstance(topic, int) else ""),
        key=f"press:{press.get('id')}" if press else f"message:{chat_id}:{number}",
        kind="press" if press else "message",
        order=raw["update_id"],
        person=str(person),
        text="",
        person_name=name,
        ref="" if press else str(number),
        speaker="" if is_private else named(name),
        is_unread=True,
    )


def new_kind(update: types.Update, me: types.User) -> Inbound | None:
    """As :func:`unread`, of a message all of which stands in fields that this aiogram has not heard of; None for any
    other."""
    message = update.message
    if message is None or message.content_type != ContentType.UNKNOWN or not message.model_extra:
        return None
    told = unread(update.model_dump(by_alias=True), me)
    if told is not None:
        places = ", ".join(f"message.{field}" for field in list(message.model_extra)[:5])
        log.error("update_unreadable", extra={"update": update.update_id, "reason": places})
    return told


def _is_for_us(message: Raw, me: types.User) -> bool:
    text = str(message.get("text") or message.get("caption") or "").lower()
    return (
        f"@{me.username or ''}".lower() in text or _part(_part(message, "reply_to_message"), "from").get("id") == me.id
    )


def _part(of: Raw, name: str) -> Raw:
    found = of.get(name)
    return found if isinstance(found, Mapping) else {}


def _without(raw: Raw, problem: ValidationError) -> Raw | None:
    """Without the parts that the problem is about, of a message or of what else happened."""
    left = dict(raw)
    for error in problem.errors(include_input=False, include_url=False):
        kind, *path = map(str, error["loc"]) if error["loc"] else ("",)
        content = left.get(kind)
        if not path or path[0] in _NEEDED or not isinstance(content, Mapping):
            return None
        name = "from" if path[0] == "from_user" else path[0]
        left[kind] = {key: value for key, value in content.items() if key != name}
    return left


def _tell(raw: Raw, problem: ValidationError) -> None:
    errors = problem.errors(include_input=False, include_url=False)
    places = ", ".join(".".join(map(str, one["loc"])) for one in errors[:5])
    log.error("update_unreadable", extra={"update": raw.get("update_id", "without an id"), "reason": places})
