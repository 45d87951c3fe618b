"""Which messages of a group reach a bot.

https://core.telegram.org/bots/features#privacy-mode
"""

from tests.servers.telegram.entities import part
from tests.servers.telegram.wire import Chat, Json

_SAID = frozenset(
    {
        "text",
        "photo",
        "document",
        "voice",
        "audio",
        "video",
        "video_note",
        "sticker",
        "animation",
        "location",
        "contact",
    }
)


def reaches_bot(message: Json, chat: Chat, bot: Json, *, privacy_mode: bool) -> bool:
    """Whether the bot gets this message: what is meant for it, and service messages, or everything."""
    if chat.private:
        return not chat.blocked
    if chat.blocked or not chat.member:
        return False
    if not privacy_mode or chat.admin or not _SAID & message.keys():
        return True
    replied = message.get("reply_to_message") or {}
    if replied.get("from", {}).get("id") == bot["id"] and _SAID & replied.keys():
        return True
    text = message.get("text") or message.get("caption") or ""
    entities = message.get("entities") or message.get("caption_entities") or []
    return any(_means_bot(part(text, entity), entity, bot) for entity in entities)


def _means_bot(words: str, entity: Json, bot: Json) -> bool:
    name = f"@{bot['username']}".lower()
    match entity["type"]:
        case "bot_command":
            return "@" not in words or words.lower().endswith(name)
        case "mention":
            return words.lower() == name
        case "text_mention":
            return bool(entity["user"]["id"] == bot["id"])
        case _:
            return False
