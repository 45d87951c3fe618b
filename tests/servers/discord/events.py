"""Telling the bot what happened."""

from collections.abc import Sequence
from typing import Any

from tests.servers.discord.records import Channel, ChannelKind, Interaction, Message
from tests.servers.discord.sessions import Event, Intents, Sessions
from tests.servers.discord.shapes import Shapes
from tests.servers.discord.wire import Json
from tests.servers.discord.world import GUILD_ID


class Events:
    """Makes the events of the gateway; none of a channel that the bot does not see."""

    def __init__(self, shapes: Shapes, sessions: Sessions) -> None:
        self.shapes = shapes
        self.sessions = sessions

    def message_created(self, message: Message) -> None:
        """Somebody said something, or the bot did."""
        self._message("MESSAGE_CREATE", message)

    def message_updated(self, message: Message) -> None:
        """A message has changed."""
        self._message("MESSAGE_UPDATE", message)

    def _message(self, name: str, message: Message) -> None:
        channel = self.shapes.world.channels[message.channel_id]
        if channel.denied == "access" or message.ephemeral:
            return
        full, concealed = (self._in_guild(message, channel, content=content) for content in (True, False))
        if name == "MESSAGE_CREATE" and message.nonce is not None:
            full, concealed = full | {"nonce": message.nonce}, concealed | {"nonce": message.nonce}
        intent = Intents.DIRECT_MESSAGES if channel.direct else Intents.GUILD_MESSAGES
        self.sessions.publish(Event(name, full, intent, concealed))

    def _in_guild(self, message: Message, channel: Channel, *, content: bool) -> dict[str, Any]:
        body = self.shapes.message(message, content=content)
        if channel.direct:
            return body
        member = self.shapes.member()
        mentions = [{**user, "member": member} for user in body["mentions"]]
        return body | {"guild_id": str(GUILD_ID), "member": member, "mentions": mentions}

    def message_deleted(self, message: Message) -> None:
        """A message is gone."""
        if not message.ephemeral:
            self._about(message, "MESSAGE_DELETE", {"id": str(message.id)}, reaction=False)

    def messages_deleted(self, channel: Channel, ids: Sequence[int]) -> None:
        """A moderator took many away at once, which happens in guilds only."""
        data = {"ids": [str(one) for one in ids], "channel_id": str(channel.id), "guild_id": str(GUILD_ID)}
        self.sessions.publish(Event("MESSAGE_DELETE_BULK", data, Intents.GUILD_MESSAGES))

    def reaction(self, message: Message, emoji: str, *, added: bool) -> None:
        """The bot put an emoji on a message, or took it off."""
        user = str(self.shapes.world.bot.id)
        data: dict[str, Any] = {
            "user_id": user,
            "message_id": str(message.id),
            "emoji": {"id": None, "name": emoji},
            "burst": False,
            "type": 0,
        }
        if added and not self.shapes.world.channels[message.channel_id].direct:
            data["member"] = {**self.shapes.member(), "user": self.shapes.user(self.shapes.world.bot)}
        self._about(message, "MESSAGE_REACTION_ADD" if added else "MESSAGE_REACTION_REMOVE", data, reaction=True)

    def _about(self, message: Message, name: str, data: Json, *, reaction: bool) -> None:
        channel = self.shapes.world.channels[message.channel_id]
        if channel.denied == "access":
            return
        body = {**data, "channel_id": str(channel.id)}
        if channel.direct:
            intent = Intents.DIRECT_REACTIONS if reaction else Intents.DIRECT_MESSAGES
        else:
            intent = Intents.GUILD_REACTIONS if reaction else Intents.GUILD_MESSAGES
            body["guild_id"] = str(GUILD_ID)
        self.sessions.publish(Event(name, body, intent))

    def channel_created(self, channel: Channel) -> None:
        """The guild has a new channel or thread."""
        if channel.kind is ChannelKind.THREAD:
            data: Json = {**self.shapes.channel(channel), "newly_created": True}
            self.sessions.publish(Event("THREAD_CREATE", data, Intents.GUILDS))
        else:
            self.sessions.publish(Event("CHANNEL_CREATE", self.shapes.channel(channel), Intents.GUILDS))

    def interaction(self, interaction: Interaction, data: Json) -> None:
        """Somebody used a command or pressed a button."""
        self.sessions.publish(Event("INTERACTION_CREATE", self.shapes.interaction(interaction, data)))
