"""What a bot says: its messages, their edits, its files and its drafts."""

import time
from collections.abc import Callable
from typing import Any

from tests.servers.telegram.chats import Chats
from tests.servers.telegram.drafts import Draft
from tests.servers.telegram.files import LARGEST_DOCUMENT, LARGEST_PHOTO, StoredFile, is_image
from tests.servers.telegram.places import Places
from tests.servers.telegram.rich import read_rich
from tests.servers.telegram.text import caption_text, draft_text, message_text
from tests.servers.telegram.wire import Json, Rejected, SentMessage, Upload, bad_request

NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same"
    " as a current content and reply markup of the message"
)
_LARGEST_CALLBACK_DATA = 64


class Sending:
    """Does what the bot wants to be seen, in the chats that it is given."""

    def __init__(self, chats: Chats, places: Places) -> None:
        self.chats = chats
        self.places = places
        self.methods: dict[str, Callable[[Json], Any]] = {
            "sendMessage": self._send_message,
            "sendDocument": self._send_document,
            "sendPhoto": self._send_photo,
            "editMessageText": self._edit_message_text,
            "editMessageCaption": self._edit_message_caption,
            "editMessageReplyMarkup": self._edit_message_reply_markup,
            "deleteMessage": self._delete_message,
        }
        self.rich_methods: dict[str, Callable[[Json], Any]] = {
            "sendRichMessage": self._send_rich_message,
            "sendRichMessageDraft": self._send_rich_message_draft,
        }
        self.draft_methods: dict[str, Callable[[Json], Any]] = {"sendMessageDraft": self._send_message_draft}

    def _send_message(self, params: Json) -> Json:
        text, entities = message_text(params)
        return self._send(params, text=text, source=_source(params, "text", text), entities=entities)

    def _send_rich_message(self, params: Json) -> Json:
        source, text, blocks = read_rich(params.get("rich_message"))
        return self._send(params, text=text, source=source, rich=blocks)

    def _send_document(self, params: Json) -> Json:
        name, content = self._uploaded(params, "document")
        if len(content) > LARGEST_DOCUMENT:
            raise Rejected(413, "Request Entity Too Large")
        return self._send_file(params, "document", name, content)

    def _send_photo(self, params: Json) -> Json:
        name, content = self._uploaded(params, "photo")
        if len(content) > LARGEST_PHOTO:
            raise bad_request(
                f"file of size {len(content)} bytes is too big for a photo; the maximum size is {LARGEST_PHOTO} bytes"
            )
        if not is_image(content):
            raise bad_request("IMAGE_PROCESS_FAILED")
        return self._send_file(params, "photo", name, content)

    def _send_file(self, params: Json, kind: str, name: str, content: bytes) -> Json:
        text, entities = caption_text(params)
        stored = self.chats.files.add(kind, name, content)
        source = _source(params, "caption", text)
        return self._send(params, text=text, source=source, entities=entities, file=stored)

    def _uploaded(self, params: Json, field: str) -> tuple[str, bytes]:
        """The name and bytes of a file in the request, or of one that is known by its id."""
        given = params.get(field)
        if not given:
            raise bad_request(f"there is no {field} in the request")
        if isinstance(given, str):
            given = params.get(given.removeprefix("attach://"), self.chats.files.get(given))
        if not isinstance(given, Upload | StoredFile):
            raise bad_request("wrong remote file identifier specified: Wrong character in the string")
        if not given.content:
            raise bad_request("file must be non-empty")
        return given.name, given.content

    def _send(
        self,
        params: Json,
        *,
        text: str,
        source: str,
        entities: list[Json] | None = None,
        file: StoredFile | None = None,
        rich: list[Json] | None = None,
    ) -> Json:
        chat = self.places.chat(params)
        markup = _markup(params)
        thread = self.places.thread(chat, params)
        reply_to = self.places.replied(chat, params)
        message = SentMessage(
            message_id=self.chats.next_message_id(chat),
            chat_id=chat.id,
            text=text,
            source=source,
            at=time.monotonic(),
            thread_id=thread,
            reply_to=reply_to,
            reply_markup=markup,
            entities=entities or [],
            file=file,
            rich=rich,
        )
        self.chats.sent[chat.id, message.message_id] = message
        self.chats.drafts.end(chat.id, thread)
        return self.chats.wire_of_sent(message)

    def _edit_message_text(self, params: Json) -> Json:
        if params.get("rich_message") is not None and self.chats.switches.knows_rich:
            if params.get("text"):
                raise bad_request("text and rich_message can't be specified together")
            source, text, rich = read_rich(params["rich_message"])
            return self._edit(params, text=text, source=source, entities=[], rich=rich)
        text, entities = message_text(params)
        return self._edit(params, text=text, source=_source(params, "text", text), entities=entities, rich=None)

    def _edit(self, params: Json, *, text: str, source: str, entities: list[Json], rich: list[Json] | None) -> Json:
        message, markup = self.places.own(params, "edit"), _markup(params)
        if message.file is not None:
            raise bad_request("there is no text in the message to edit")
        return self._change(message, text=text, source=source, entities=entities, rich=rich, markup=markup)

    def _edit_message_caption(self, params: Json) -> Json:
        text, entities = caption_text(params)
        message, markup = self.places.own(params, "edit"), _markup(params)
        if message.file is None:
            raise bad_request("there is no caption in the message to edit")
        source = _source(params, "caption", text)
        return self._change(message, text=text, source=source, entities=entities, rich=None, markup=markup)

    def _change(
        self,
        message: SentMessage,
        *,
        text: str,
        source: str,
        entities: list[Json],
        rich: list[Json] | None,
        markup: Json | None,
    ) -> Json:
        before = (message.source, message.entities, message.rich, message.reply_markup)
        if before == (source, entities, rich, markup):
            raise bad_request(NOT_MODIFIED)
        message.text, message.source, message.entities = text, source, entities
        message.rich, message.reply_markup = rich, markup
        message.edits.append(text)
        message.edited_at.append(time.monotonic())
        return self.chats.wire_of_sent(message)

    def _edit_message_reply_markup(self, params: Json) -> Json:
        message = self.places.own(params, "edit")
        if _markup(params) == message.reply_markup:
            raise bad_request(NOT_MODIFIED)
        message.reply_markup = _markup(params)
        return self.chats.wire_of_sent(message)

    def _delete_message(self, params: Json) -> bool:
        self.places.own(params, "delete").deleted = True
        return True

    def _send_message_draft(self, params: Json) -> bool:
        text, _ = draft_text(params)
        return self._show_draft(params, text, source=text, rich=False)

    def _send_rich_message_draft(self, params: Json) -> bool:
        source, text, _ = read_rich(params.get("rich_message"), draft=True)
        return self._show_draft(params, text, source=source, rich=True)

    def _show_draft(self, params: Json, text: str, *, source: str, rich: bool) -> bool:
        chat = self.places.chat(params)
        draft_id = params.get("draft_id")
        if not chat.private:
            raise bad_request("TEXTDRAFT_PEER_INVALID")
        if not isinstance(draft_id, int) or not draft_id:
            raise bad_request("TEXTDRAFT_ID_INVALID")
        draft = Draft(
            chat_id=chat.id,
            thread_id=self.places.thread(chat, params),
            draft_id=draft_id,
            can_stop=bool(params.get("can_stop")),
            keep_on_stop=bool(params.get("keep_on_stop")),
            shown_at=self.chats.switches.clock(),
            source=source,
            rich=rich,
        )
        self.chats.drafts.show(draft, text)
        return True


def _source(params: Json, field: str, text: str) -> str:
    return str(params.get(field)) if params.get("parse_mode") else text


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
