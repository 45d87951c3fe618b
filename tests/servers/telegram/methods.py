"""The methods of the Bot API that the project uses, with the rules of the real ones."""

import re
import time
from collections.abc import Callable
from typing import Any

from tests.servers.telegram.chats import Chats
from tests.servers.telegram.files import LARGEST_DOWNLOAD
from tests.servers.telegram.membership import membership
from tests.servers.telegram.places import Places
from tests.servers.telegram.reactions import check_reactions
from tests.servers.telegram.sending import Sending
from tests.servers.telegram.wire import Json, Rejected, bad_request

ACTIONS = frozenset(
    {
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    }
)
_COMMAND = re.compile(r"^[a-z0-9_]{1,32}$")


class Methods:
    """Does what the bot asks for; `unknown` are the names of methods that this server does not have."""

    def __init__(self, chats: Chats) -> None:
        self.chats = chats
        self.places = Places(chats)
        self.sending = Sending(chats, self.places)
        self.commands: dict[str, list[Json]] = {}
        self.unknown: list[str] = []
        self._methods: dict[str, Callable[[Json], Any]] = {
            **self.sending.methods,
            "getMe": lambda _: self.chats.me(),
            "getChat": self._get_chat,
            "getChatMember": self._get_chat_member,
            "leaveChat": self._leave_chat,
            "createForumTopic": self._create_forum_topic,
            "editForumTopic": self._edit_forum_topic,
            "sendChatAction": self._send_chat_action,
            "setMessageReaction": self._set_message_reaction,
            "answerCallbackQuery": self._answer_callback_query,
            "setMyCommands": self._set_my_commands,
            "getMyCommands": lambda params: self.commands.get(_scope(params), []),
            "deleteMyCommands": lambda params: self.commands.pop(_scope(params), None) is None or True,
            "getFile": self._get_file,
        }

    def call(self, method: str, params: Json) -> Any:
        """Do it and return the result; `Rejected` as the real one would."""
        known = dict(self._methods)
        withheld: set[str] = set()
        for there, methods in (
            (self.chats.switches.knows_rich, self.sending.rich_methods),
            (self.chats.switches.knows_drafts, self.sending.draft_methods),
        ):
            known |= methods if there else {}
            withheld |= set() if there else methods.keys()
        if method not in known:
            if method not in withheld:
                self.unknown.append(method)
            raise Rejected(404, "Not Found")
        return known[method](params)

    def _get_chat(self, params: Json) -> Json:
        chat = self.places.chat(params)
        return {**chat.wire(), "accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": _NO_GIFTS}

    def _get_chat_member(self, params: Json) -> Json:
        chat = self.places.chat(params)
        if params.get("user_id") != self.chats.bot["id"]:
            raise bad_request("member not found")
        if not chat.admin:
            return membership(self.chats.bot, "member")
        return membership(self.chats.bot, "administrator")

    def _leave_chat(self, params: Json) -> bool:
        chat = self.places.chat(params)
        if chat.private:
            raise bad_request("chat member status can't be changed in private chats")
        chat.member, chat.admin = False, False
        return True

    def _create_forum_topic(self, params: Json) -> Json:
        chat = self.places.chat(params)
        if not (chat.private or chat.forum):
            raise bad_request("the chat is not a forum")
        name = _topic_name(params)
        topic = {"name": name, "icon_color": 0x6FB9F0}
        message = self.chats.receive(chat, self.chats.bot, {"forum_topic_created": topic, "is_topic_message": True})
        chat.topics[message["message_id"]] = name
        return {"message_thread_id": message["message_id"], **topic}

    def _edit_forum_topic(self, params: Json) -> bool:
        chat = self.places.chat(params)
        if params.get("message_thread_id") not in chat.topics:
            raise bad_request("message thread not found")
        name = _topic_name(params)
        if chat.topics[params["message_thread_id"]] == name:
            raise bad_request("TOPIC_NOT_MODIFIED")
        chat.topics[params["message_thread_id"]] = name
        return True

    def _send_chat_action(self, params: Json) -> bool:
        chat = self.places.chat(params)
        if params.get("action") not in ACTIONS:
            raise bad_request("wrong parameter action in request")
        self.chats.actions.append((chat.id, params["action"], time.monotonic()))
        return True

    def _set_message_reaction(self, params: Json) -> bool:
        chat = self.places.chat(params)
        if not self.chats.exists(chat.id, params.get("message_id")):
            raise bad_request("message to react not found")
        reactions = check_reactions(params.get("reaction"), chat.allowed_reactions)
        self.chats.reactions[chat.id, params["message_id"]] = reactions
        return True

    def _answer_callback_query(self, params: Json) -> bool:
        if params.get("callback_query_id") not in self.chats.open_presses:
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        if len(str(params.get("text") or "")) > 200:
            raise bad_request("MESSAGE_TOO_LONG")
        self.chats.open_presses.discard(params["callback_query_id"])
        return True

    def _set_my_commands(self, params: Json) -> bool:
        commands = params.get("commands") or []
        for command in commands:
            if not _COMMAND.match(str(command.get("command", ""))):
                raise bad_request("BOT_COMMAND_INVALID")
            if not 1 <= len(str(command.get("description", ""))) <= 256:
                raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
        if len(commands) > 100:
            raise bad_request("BOT_COMMANDS_TOO_MUCH")
        self.commands[_scope(params)] = commands
        return True

    def _get_file(self, params: Json) -> Json:
        file_id = params.get("file_id")
        if not file_id:
            raise bad_request("file_id not specified")
        stored = self.chats.files.get(file_id)
        if stored is None:
            raise bad_request("invalid file_id")
        if stored.size > LARGEST_DOWNLOAD:
            raise bad_request("file is too big")
        return stored.wire() | {"file_path": stored.path}


_NO_GIFTS = dict.fromkeys(
    (
        "unlimited_gifts",
        "limited_gifts",
        "unique_gifts",
        "premium_subscription",
        "gifts_from_channels",
    ),
    False,
)


def _scope(params: Json) -> str:
    return f"{params.get('scope') or {'type': 'default'}} {params.get('language_code') or ''}"


def _topic_name(params: Json) -> str:
    name = str(params.get("name") or "")
    if not 1 <= len(name) <= 128:
        raise bad_request("TOPIC_TITLE_EMPTY" if not name else "topic name is too long")
    return name
