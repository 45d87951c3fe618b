"""The JSON of everything that the platform knows."""

from typing import Any

from tests.servers.discord.records import Attachment, Channel, ChannelKind, Interaction, Message, User
from tests.servers.discord.snowflakes import iso, made_at
from tests.servers.discord.terms import Terms
from tests.servers.discord.wire import Json
from tests.servers.discord.world import GUILD_ID, OWNER_ID, World

JOINED = "2024-01-01T00:00:00+00:00"
# View, send (in threads too), embed, attach, read the history, react, mention everyone, commands, public threads.
BOT_PERMISSIONS = 1 << 10 | 1 << 11 | 1 << 38 | 1 << 14 | 1 << 15 | 1 << 16 | 1 << 6 | 1 << 17 | 1 << 31 | 1 << 35
DEFAULT_MESSAGE, REPLY, CHAT_INPUT_COMMAND = 0, 19, 20


class Shapes:
    """Turns records into JSON; `origin` (`http://…`) is where files are read."""

    def __init__(self, world: World, terms: Terms) -> None:
        self.world = world
        self.terms = terms
        self.origin = ""

    def user(self, user: User) -> dict[str, Any]:
        """A user."""
        return {
            "id": str(user.id),
            "username": user.name.lower(),
            "global_name": None if user.bot else user.name,
            "discriminator": "0",
            "avatar": None,
            "bot": user.bot,
        }

    def member(self) -> dict[str, Any]:
        """A member of the guild, without the user."""
        return {"roles": [], "joined_at": JOINED, "deaf": False, "mute": False, "flags": 0, "nick": None}

    def application(self) -> Json:
        """The bot's application; its flags say whether it may read all messages."""
        return {
            "id": str(self.world.bot.id),
            "name": self.world.bot.name,
            "icon": None,
            "description": "",
            "rpc_origins": None,
            "bot_public": True,
            "bot_require_code_grant": False,
            "owner": self.user(User(OWNER_ID, "Owner")),
            "team": None,
            "verify_key": "0" * 64,
            "interactions_endpoint_url": None,
            "flags": 1 << 19 if self.terms.message_content_allowed else 0,
        }

    def channel(self, channel: Channel) -> dict[str, Any]:
        """A channel of any kind."""
        body: dict[str, Any] = {
            "id": str(channel.id),
            "type": int(channel.kind),
            "flags": 0,
            "last_message_id": _text(channel.last_message_id),
        }
        if channel.recipient is not None:
            return body | {"recipients": [self.user(channel.recipient)]}
        body |= {"name": channel.name, "guild_id": str(GUILD_ID), "rate_limit_per_user": 0}
        if channel.kind is ChannelKind.THREAD:
            return body | self._thread(channel)
        return body | {
            "position": 0,
            "permission_overwrites": [],
            "nsfw": False,
            "parent_id": None,
            "topic": None,
        }

    def _thread(self, channel: Channel) -> dict[str, Any]:
        return {
            "parent_id": str(channel.parent_id),
            "owner_id": str(channel.owner_id),
            "message_count": len(self.world.in_channel(channel.id)),
            "total_message_sent": len(self.world.in_channel(channel.id)),
            "member_count": 1,
            "thread_metadata": {
                "archived": False,
                "auto_archive_duration": 1440,
                "archive_timestamp": made_at(channel.id),
                "create_timestamp": made_at(channel.id),
                "locked": False,
            },
        }

    def guild(self) -> Json:
        """The guild as GUILD_CREATE has it: of the members only the bot, as no one asked for all of them."""
        seen = [c for c in self.world.channels.values() if not c.direct and c.denied != "access"]
        return {
            "id": str(GUILD_ID),
            "name": "The guild",
            "icon": None,
            "splash": None,
            "owner_id": str(OWNER_ID),
            "afk_timeout": 300,
            "afk_channel_id": None,
            "verification_level": 0,
            "default_message_notifications": 0,
            "explicit_content_filter": 0,
            "mfa_level": 0,
            "nsfw_level": 0,
            "premium_tier": 0,
            "features": [],
            "emojis": [],
            "stickers": [],
            "system_channel_id": None,
            "system_channel_flags": 0,
            "rules_channel_id": None,
            "public_updates_channel_id": None,
            "preferred_locale": "en-US",
            "joined_at": JOINED,
            "large": False,
            "unavailable": False,
            "member_count": len(self.world.people) + 1,
            "voice_states": [],
            "presences": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "members": [{**self.member(), "user": self.user(self.world.bot)}],
            "channels": [self.channel(c) for c in seen if c.kind is ChannelKind.TEXT],
            "threads": [self.channel(c) for c in seen if c.kind is ChannelKind.THREAD],
            "roles": [_everyone()],
        }

    def message(self, message: Message, *, content: bool = True, referenced: bool = True) -> dict[str, Any]:
        """A message; without `content` as an application gets it that may not read it."""
        shown = content or self.open_to_all(message)
        body: dict[str, Any] = {
            "id": str(message.id),
            "channel_id": str(message.channel_id),
            "author": self.user(message.author),
            "content": message.text if shown else "",
            "timestamp": made_at(message.id),
            "edited_timestamp": None if message.edited_on is None else iso(message.edited_on),
            "tts": False,
            "mention_everyone": bool(message.pinged & {"@everyone", "@here"}),
            "mentions": [self.user(user) for user in self.mentioned(message)],
            "mention_roles": [ping[3:-1] for ping in sorted(message.pinged) if ping.startswith("<@&")],
            "attachments": [self.attachment(message.channel_id, file) for file in message.files] if shown else [],
            "embeds": list(message.embeds) if shown else [],
            "components": list(message.components) if shown else [],
            "pinned": False,
            "type": DEFAULT_MESSAGE,
            "flags": int(message.flags),
        }
        if message.reactions:
            body["reactions"] = [_reaction(emoji) for emoji in message.reactions]
        if message.interaction is not None:
            body |= self._of_interaction(message.interaction, first=message.id == message.interaction.original_id)
        if message.reply_to is not None:
            body |= self._reply(message, message.reply_to, content=content, referenced=referenced)
        return body

    def mentioned(self, message: Message) -> list[User]:
        """Those in the list of mentions."""
        everyone = [*self.world.people.values(), self.world.bot]
        return [user for user in everyone if f"<@{user.id}>" in message.pinged]

    def open_to_all(self, message: Message) -> bool:
        """Whether an application may read it without the intent for contents.

        https://docs.discord.com/developers/events/gateway#message-content-intent
        """
        direct = self.world.channels[message.channel_id].direct
        bot = self.world.bot
        return direct or message.author == bot or f"<@{bot.id}>" in message.pinged

    def _reply(self, message: Message, to: int, *, content: bool, referenced: bool) -> dict[str, Any]:
        reference = {"type": 0, "message_id": str(to), "channel_id": str(message.channel_id)}
        if not self.world.channels[message.channel_id].direct:
            reference["guild_id"] = str(GUILD_ID)
        body: dict[str, Any] = {"type": REPLY, "message_reference": reference}
        if referenced:
            target = self.world.messages[to]
            body["referenced_message"] = (
                None if target.deleted else self.message(target, content=content, referenced=False)
            )
        return body

    def _of_interaction(self, interaction: Interaction, *, first: bool) -> dict[str, Any]:
        app = str(self.world.bot.id)
        return {
            "type": CHAT_INPUT_COMMAND if first and interaction.kind == "command" else DEFAULT_MESSAGE,
            "application_id": app,
            "webhook_id": app,
            "interaction_metadata": {
                "id": str(interaction.id),
                "type": 2 if interaction.kind == "command" else 3,
                "user": self.user(interaction.user),
                "authorizing_integration_owners": {},
            },
        }

    def attachment(self, channel_id: int, file: Attachment) -> Json:
        """A file; its link is signed and stops working, as those of the real one do."""
        link = f"{self.origin}/attachments/{channel_id}/{file.id}/{file.filename}?hm={self.world.link_generation}"
        body: dict[str, Any] = {
            "id": str(file.id),
            "filename": file.filename,
            "size": len(file.content),
            "content_type": file.content_type,
            "url": link,
            "proxy_url": link,
        }
        return body if file.description is None else body | {"description": file.description}

    def interaction(self, interaction: Interaction, data: Json) -> Json:
        """An interaction as the gateway brings it; `data` is what was chosen."""
        channel = self.world.channels[interaction.channel_id]
        user = self.user(interaction.user)
        permissions = str(BOT_PERMISSIONS)
        body: dict[str, Any] = {
            "id": str(interaction.id),
            "application_id": str(self.world.bot.id),
            "type": 2 if interaction.kind == "command" else 3,
            "token": interaction.token,
            "version": 1,
            "data": data,
            "channel_id": str(channel.id),
            "channel": self.channel(channel),
            "locale": "en-US",
            "app_permissions": permissions,
            "entitlements": [],
            "authorizing_integration_owners": {"0": "0" if channel.direct else str(GUILD_ID)},
            "context": 1 if channel.direct else 0,
            "attachment_size_limit": self.terms.largest_file,
        }
        if interaction.message_id is not None:
            body["message"] = self.message(self.world.messages[interaction.message_id])
        if channel.direct:
            return body | {"user": user}
        member = {**self.member(), "user": user, "permissions": permissions}
        guild = {"id": str(GUILD_ID), "locale": "en-US", "features": []}
        return body | {"guild_id": str(GUILD_ID), "guild": guild, "guild_locale": "en-US", "member": member}


def _everyone() -> Json:
    return {
        "id": str(GUILD_ID),
        "name": "@everyone",
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": 0,
        "permissions": str(BOT_PERMISSIONS),
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }


def _reaction(emoji: str) -> Json:
    return {
        "count": 1,
        "count_details": {"burst": 0, "normal": 1},
        "me": True,
        "me_burst": False,
        "burst_colors": [],
        "emoji": {"id": None, "name": emoji},
    }


def _text(id: int | None) -> str | None:
    return None if id is None else str(id)
