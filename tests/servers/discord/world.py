"""What the platform knows: people, one guild, channels, messages, files and interactions."""

import mimetypes

from tests.servers.discord.records import Attachment, Channel, ChannelKind, Flags, Interaction, Message, User
from tests.servers.discord.snowflakes import Snowflakes
from tests.servers.discord.wire import Json

BOT_ID = 4200
GUILD_ID = 5000
OWNER_ID = 3000


class World:
    """The platform's state, which outlives any bot. The application has the bot's id."""

    def __init__(self) -> None:
        self.ids = Snowflakes()
        self.bot = User(BOT_ID, "palimpsest", bot=True)
        self.people: dict[int, User] = {}
        self.blockers: set[int] = set()
        self.channels: dict[int, Channel] = {}
        self.messages: dict[int, Message] = {}
        self.files: dict[int, Attachment] = {}
        self.interactions: list[Interaction] = []
        self.commands: dict[int | None, list[Json]] = {}
        self.typing: list[tuple[int, float]] = []
        self.link_generation = 1

    def person(self, id: int, name: str) -> User:
        """Someone, who has a direct channel with the bot from now on."""
        user = self.people.setdefault(id, User(id, name))
        self.direct_channel(user)
        return user

    def direct_channel(self, user: User) -> Channel:
        """The channel of the bot and a person."""
        for channel in self.channels.values():
            if channel.recipient == user:
                return channel
        return self.add_channel(Channel(self.ids.next(), ChannelKind.DM, recipient=user))

    def channel_named(self, name: str) -> Channel | None:
        """The guild's channel or thread of that name."""
        return next((channel for channel in self.channels.values() if channel.name == name), None)

    def add_channel(self, channel: Channel) -> Channel:
        """Keep a new channel."""
        self.channels[channel.id] = channel
        return channel

    def add_message(self, message: Message) -> Message:
        """Keep a new message."""
        self.messages[message.id] = message
        self.channels[message.channel_id].last_message_id = message.id
        return message

    def store(self, filename: str, content: bytes, description: str | None = None) -> Attachment:
        """Keep a file of a message."""
        kind = mimetypes.guess_type(filename)[0] or "application/octet-stream"
        attachment = Attachment(self.ids.next(), filename, content, kind, description)
        self.files[attachment.id] = attachment
        return attachment

    def in_channel(self, channel_id: int) -> list[Message]:
        """The messages of anyone that are in a channel now, oldest first."""
        return [m for m in self.messages.values() if m.channel_id == channel_id and not m.deleted]

    def readable(self, channel_id: int) -> list[Message]:
        """Those of them that the API gives: what one person alone sees is not among them."""
        return [m for m in self.in_channel(channel_id) if Flags.EPHEMERAL not in m.flags]

    def user(self, id: int) -> User | None:
        """The bot or a person."""
        return self.bot if id == self.bot.id else self.people.get(id)
