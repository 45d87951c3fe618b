"""The place of a user in a chat. https://core.telegram.org/bots/api#chatmember"""

import time

from tests.servers.telegram.wire import Chat, Json

_RIGHTS = (
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
    "can_send_welcome_messages",
    "can_pin_messages",
    "can_manage_topics",
)


def membership(user: Json, status: str) -> Json:
    """The JSON of a ChatMember."""
    member = {"user": user, "status": status}
    match status:
        case "kicked":
            return {**member, "until_date": 0}
        case "administrator":
            return {**member, "can_be_edited": False, "is_anonymous": False, **dict.fromkeys(_RIGHTS, True)}
        case _:
            return member


def membership_change(chat: Chat, by: Json, user: Json, before: str, now: str) -> Json:
    """The JSON of a ChatMemberUpdated."""
    return {
        "chat": chat.wire(),
        "from": by,
        "date": int(time.time()),
        "old_chat_member": membership(user, before),
        "new_chat_member": membership(user, now),
    }
