"""The calls about channels and the messages in them: https://docs.discord.com/developers/resources/message"""

import time
from collections.abc import Mapping

from tests.servers.discord.posts import Posts
from tests.servers.discord.records import Channel, ChannelKind, Message
from tests.servers.discord.routes import Route
from tests.servers.discord.shapes import Shapes
from tests.servers.discord.wire import Json, Refused, Request, bad_length, invalid_form, unknown

MOST_MESSAGES = 100
_CHANNEL = "/channels/{channel}"
_MESSAGES = f"{_CHANNEL}/messages"
_MESSAGE = f"{_MESSAGES}/{{message}}"
_REACTION = f"{_MESSAGE}/reactions/{{emoji}}/@me"


class Channels:
    """Answers them."""

    def __init__(self, posts: Posts, shapes: Shapes) -> None:
        self.posts = posts
        self.shapes = shapes
        self.world = posts.world
        self.events = posts.events

    def routes(self) -> list[Route]:
        """The calls."""
        return [
            Route("get_channel", "GET", _CHANNEL, lambda r: self.shapes.channel(self._channel(r))),
            Route("typing", "POST", f"{_CHANNEL}/typing", self._typing),
            Route("get_messages", "GET", _MESSAGES, self._list),
            Route("create_message", "POST", _MESSAGES, self._create),
            Route("get_message", "GET", _MESSAGE, self._get),
            Route("edit_message", "PATCH", _MESSAGE, self._edit),
            Route("delete_message", "DELETE", _MESSAGE, self._delete),
            Route("add_reaction", "PUT", _REACTION, self._react),
            Route("remove_reaction", "DELETE", _REACTION, self._unreact),
            Route("create_thread", "POST", f"{_CHANNEL}/threads", self._thread),
            Route("create_thread", "POST", f"{_MESSAGE}/threads", self._thread),
            Route("join_thread", "PUT", f"{_CHANNEL}/thread-members/@me", self._join),
        ]

    def _channel(self, request: Request, *, to_write: bool = False) -> Channel:
        channel = self.world.channels.get(request.id("channel"))
        if channel is None:
            raise unknown("Channel", 10003)
        if channel.denied == "access":
            raise Refused(403, 50001, "Missing Access")
        if to_write and channel.denied == "permissions":
            raise Refused(403, 50013, "Missing Permissions")
        return channel

    def _open_channel(self, request: Request) -> Channel:
        """A channel that the bot may write in, and whose person lets it."""
        channel = self._channel(request, to_write=True)
        if channel.recipient is not None and channel.recipient.id in self.world.blockers:
            raise Refused(403, 50007, "Cannot send messages to this user")
        return channel

    def _message(self, request: Request, channel: Channel) -> Message:
        message = self.world.messages.get(request.id("message"))
        if message is None or message.channel_id != channel.id or message.deleted or message.ephemeral:
            raise unknown("Message", 10008)
        return message

    def _shape(self, message: Message) -> Json:
        return self.shapes.message(message, content=self.shapes.terms.message_content_allowed)

    def _create(self, request: Request) -> Json:
        channel = self._open_channel(request)
        message = self.posts.create(channel, request.form, request.uploads)
        body = self._shape(message)
        # Only the answer to this call and its event have the nonce; it is not kept.
        return body if message.nonce is None else {**body, "nonce": message.nonce}

    def _get(self, request: Request) -> Json:
        return self._shape(self._message(request, self._channel(request)))

    def _edit(self, request: Request) -> Json:
        message = self._message(request, self._channel(request))
        if message.author != self.world.bot:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        return self._shape(self.posts.edit(message, request.form, request.uploads))

    def _delete(self, request: Request) -> None:
        channel = self._channel(request)
        message = self._message(request, channel)
        if message.author != self.world.bot and channel.direct:
            raise Refused(403, 50003, "Cannot execute action on a DM channel")
        if message.author != self.world.bot:
            raise Refused(403, 50013, "Missing Permissions")
        self.posts.delete(message)

    def _list(self, request: Request) -> list[Json]:
        """Newest first; `after` has those that follow the id at once, and not the newest."""
        messages = self.world.readable(self._channel(request).id)
        limit = _number(request.query, "limit", 50)
        if not 1 <= limit <= MOST_MESSAGES:
            problem = f"int value should be between 1 and {MOST_MESSAGES}."
            raise invalid_form("limit", "NUMBER_TYPE_MIN" if limit < 1 else "NUMBER_TYPE_MAX", problem)
        if "after" in request.query:
            after = _number(request.query, "after", 0)
            chosen = [message for message in messages if message.id > after][:limit]
        elif "before" in request.query:
            before = _number(request.query, "before", 0)
            chosen = [message for message in messages if message.id < before][-limit:]
        elif "around" in request.query:
            around = _number(request.query, "around", 0)
            earlier = [message for message in messages if message.id < around][-(limit // 2) :]
            chosen = (earlier + [message for message in messages if message.id >= around])[:limit]
        else:
            chosen = messages[-limit:]
        return [self._shape(message) for message in reversed(chosen)]

    def _typing(self, request: Request) -> None:
        self.world.typing.append((self._open_channel(request).id, time.monotonic()))

    def _react(self, request: Request) -> None:
        message = self._message(request, self._channel(request, to_write=True))
        emoji = request.ids["emoji"]
        if emoji.isascii():  # a custom one would be `name:id`, and the guild has none
            raise Refused(400, 10014, "Unknown Emoji")
        if emoji not in message.reactions:
            message.reactions.append(emoji)
            self.events.reaction(message, emoji, added=True)

    def _unreact(self, request: Request) -> None:
        message = self._message(request, self._channel(request))
        emoji = request.ids["emoji"]
        if emoji in message.reactions:
            message.reactions.remove(emoji)
            self.events.reaction(message, emoji, added=False)

    def _thread(self, request: Request) -> Json:
        parent = self._channel(request, to_write=True)
        if parent.kind is not ChannelKind.TEXT:
            raise Refused(400, 50024, "Cannot execute action on this channel type")
        name = str(request.form.get("name") or "")
        if not 1 <= len(name) <= 100:
            raise bad_length("name", 1, 100)
        thread_id = self.world.ids.next()
        if "message" in request.ids:  # such a thread has its message's id
            thread_id = self._message(request, parent).id
            if thread_id in self.world.channels:
                raise Refused(400, 160004, "A thread has already been created for this message")
        thread = Channel(thread_id, ChannelKind.THREAD, name, parent_id=parent.id, owner_id=self.world.bot.id)
        self.events.channel_created(self.world.add_channel(thread))
        return self.shapes.channel(thread)

    def _join(self, request: Request) -> None:
        if self._channel(request).kind is not ChannelKind.THREAD:
            raise Refused(400, 50024, "Cannot execute action on this channel type")


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    value = query.get(name, str(default))
    if not value.isascii() or not value.isdigit():
        raise invalid_form(name, "NUMBER_TYPE_COERCE", f'Value "{value}" is not int.')
    return int(value)
