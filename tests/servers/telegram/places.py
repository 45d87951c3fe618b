"""Where a bot wants to say something, and whether it may."""

from tests.servers.telegram.chats import Chats
from tests.servers.telegram.wire import Chat, Json, Rejected, SentMessage, bad_request, forbidden


class Places:
    """Finds the chat, the topic and the messages that a call names; `Rejected` as the real server would."""

    def __init__(self, chats: Chats) -> None:
        self.chats = chats

    def chat(self, params: Json) -> Chat:
        """The chat, where the bot may write to it."""
        if params.get("chat_id") in (None, ""):
            raise bad_request("chat_id is empty")
        chat = self.chats.chats.get(params["chat_id"])
        if chat is None:
            raise bad_request("chat not found")
        if chat.moved_to is not None:
            reason = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Rejected(400, reason, migrate_to_chat_id=chat.moved_to)
        if chat.private:
            self._check_person(chat)
        elif chat.blocked:
            raise forbidden(f"bot was kicked from the {chat.type} chat")
        elif not chat.member:
            raise forbidden(f"bot is not a member of the {chat.type} chat")
        return chat

    def _check_person(self, chat: Chat) -> None:
        if chat.deactivated:
            raise forbidden("user is deactivated")
        if chat.blocked:
            raise forbidden("bot was blocked by the user")
        if not chat.started:
            raise forbidden("bot can't initiate conversation with a user")

    def thread(self, chat: Chat, params: Json) -> int | None:
        """The topic; chats that cannot have any ignore it, as the real server does."""
        thread: int | None = params.get("message_thread_id")
        if thread is None or not (chat.private or chat.forum):
            return None
        if thread not in chat.topics:
            raise bad_request("message thread not found")
        return thread

    def replied(self, chat: Chat, params: Json) -> int | None:
        """The message that is replied to."""
        reply = params.get("reply_parameters") or {}
        reply_to: int | None = reply.get("message_id")
        if reply_to is None or self.chats.exists(chat.id, reply_to):
            return reply_to
        if not reply.get("allow_sending_without_reply"):
            raise bad_request("message to be replied not found")
        return None

    def own(self, params: Json, action: str) -> SentMessage:
        """A message of the bot, to `edit` or to `delete`."""
        chat = self.chat(params)
        key = (chat.id, int(params.get("message_id") or 0))
        message = self.chats.sent.get(key)
        if message is not None and not message.deleted:
            return message
        if message is None and key in self.chats.received:
            raise bad_request(f"message can't be {'edited' if action == 'edit' else 'deleted'}")
        raise bad_request(f"message to {action} not found")
