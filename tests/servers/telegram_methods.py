"""The methods of the Bot API that the project uses, with the rules of the real ones."""

import re
import time
from collections.abc import Callable
from typing import Any

from tests.servers.telegram_chats import Chats
from tests.servers.telegram_text import visible
from tests.servers.telegram_wire import Chat, Json, Rejected, SentMessage, bad_request

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
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same"
    " as a current content and reply markup of the message"
)
_COMMAND = re.compile(r"^[a-z0-9_]{1,32}$")
_LARGEST_CALLBACK_DATA = 64


class Methods:
    """Does what the bot asks for, to the chats that it is given."""

    def __init__(self, chats: Chats) -> None:
        self.chats = chats
        self.commands: dict[str, list[Json]] = {}
        self._methods: dict[str, Callable[[Json], Any]] = {
            "getMe": lambda _: self.chats.bot,
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message_text,
            "editMessageReplyMarkup": self._edit_message_reply_markup,
            "deleteMessage": self._delete_message,
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
        if method not in self._methods:
            raise Rejected(404, "Not Found")
        return self._methods[method](params)

    def _chat(self, params: Json) -> Chat:
        if "chat_id" not in params:
            raise bad_request("chat_id is empty")
        chat = self.chats.chats.get(params["chat_id"])
        if chat is None:
            raise bad_request("chat not found")
        if chat.blocked and chat.type == "private":
            raise Rejected(403, "Forbidden: bot was blocked by the user")
        if chat.blocked:
            raise Rejected(403, f"Forbidden: bot was kicked from the {chat.type} chat")
        return chat

    def _send_message(self, params: Json) -> Json:
        chat = self._chat(params)
        text = visible(params.get("text"), params.get("parse_mode"))
        reply = params.get("reply_parameters") or {}
        reply_to = reply.get("message_id")
        if reply_to is not None and not self.chats.exists(chat.id, reply_to):
            if not reply.get("allow_sending_without_reply"):
                raise bad_request("message to be replied not found")
            reply_to = None
        message = SentMessage(
            message_id=self.chats.next_message_id(),
            chat_id=chat.id,
            text=text,
            source=_source(params, text),
            at=time.monotonic(),
            thread_id=params.get("message_thread_id"),
            reply_to=reply_to,
            reply_markup=_markup(params),
            entities=params.get("entities") or [],
        )
        self.chats.sent[chat.id, message.message_id] = message
        return self.chats.wire_of_sent(message)

    def _own(self, params: Json, action: str) -> SentMessage:
        chat = self._chat(params)
        key = (chat.id, int(params.get("message_id") or 0))
        message = self.chats.sent.get(key)
        if message is not None and not message.deleted:
            return message
        if message is None and key in self.chats.received:
            raise bad_request(f"message can't be {'edited' if action == 'edit' else 'deleted'}")
        raise bad_request(f"message to {action} not found")

    def _edit_message_text(self, params: Json) -> Json:
        message = self._own(params, "edit")
        text = visible(params.get("text"), params.get("parse_mode"))
        now = (_source(params, text), params.get("entities") or [], _markup(params))
        if now == (message.source, message.entities, message.reply_markup):
            raise bad_request(NOT_MODIFIED)
        message.text = text
        message.source, message.entities, message.reply_markup = now
        message.edits.append(text)
        message.edited_at.append(time.monotonic())
        return self.chats.wire_of_sent(message)

    def _edit_message_reply_markup(self, params: Json) -> Json:
        message = self._own(params, "edit")
        if _markup(params) == message.reply_markup:
            raise bad_request(NOT_MODIFIED)
        message.reply_markup = _markup(params)
        return self.chats.wire_of_sent(message)

    def _delete_message(self, params: Json) -> bool:
        self._own(params, "delete").deleted = True
        return True

    def _send_chat_action(self, params: Json) -> bool:
        chat = self._chat(params)
        if params.get("action") not in ACTIONS:
            raise bad_request("wrong parameter action in request")
        self.chats.actions.append((chat.id, params["action"], time.monotonic()))
        return True

    def _set_message_reaction(self, params: Json) -> bool:
        chat = self._chat(params)
        if not self.chats.exists(chat.id, params.get("message_id")):
            raise bad_request("message to react not found")
        self.chats.reactions[chat.id, params["message_id"]] = params.get("reaction") or []
        return True

    def _answer_callback_query(self, params: Json) -> bool:
        if params.get("callback_query_id") not in self.chats.open_presses:
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
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
        content = self.chats.files.get(str(params.get("file_id")))
        if content is None:
            raise bad_request("invalid file_id")
        file_id = params["file_id"]
        return {
            "file_id": file_id,
            "file_unique_id": f"unique-{file_id}",
            "file_size": len(content),
            "file_path": f"documents/{file_id}",
        }


def _source(params: Json, text: str) -> str:
    return str(params["text"]) if params.get("parse_mode") else text


def _scope(params: Json) -> str:
    return f"{params.get('scope') or {'type': 'default'}} {params.get('language_code') or ''}"


def _markup(params: Json) -> Json | None:
    markup: Json | None = params.get("reply_markup")
    for row in (markup or {}).get("inline_keyboard", []):
        for button in row:
            data = button.get("callback_data")
            if data is not None and not 1 <= len(data.encode()) <= _LARGEST_CALLBACK_DATA:
                raise bad_request("BUTTON_DATA_INVALID")
            if not button.get("text"):
                raise bad_request("text buttons are unallowed in the inline keyboard")
    # An empty keyboard is none.
    return markup if markup and markup != {"inline_keyboard": []} else None
