"""The human's side: what somebody says, edits, orders and presses."""

import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.servers.discord.command_rules import CHAT_INPUT
from tests.servers.discord.events import Events
from tests.servers.discord.mentions import mentions_in
from tests.servers.discord.message_rules import BUTTON, LINK
from tests.servers.discord.records import Channel, Interaction, Message, User
from tests.servers.discord.wire import Json
from tests.servers.discord.world import GUILD_ID, World

SUB_COMMAND, SUB_COMMAND_GROUP = 1, 2
OPTION_TYPES: Mapping[int, type | tuple[type, ...]] = {3: str, 4: int, 5: bool, 10: (int, float)}
GUILD_CONTEXT, DIRECT_CONTEXT = 0, 1


@dataclass(frozen=True)
class Person:
    """Somebody who talks to the bot: in their direct channel, or in the channel that is named.

    What they do returns when the gateway has sent it to every client that is connected.
    """

    id: int
    name: str
    _world: World = field(repr=False)
    _events: Events = field(repr=False)
    _settled: Callable[[], Coroutine[Any, Any, None]] = field(repr=False)

    @property
    def channel(self) -> Channel:
        """The direct channel with the bot."""
        return self._world.direct_channel(self._user)

    @property
    def channel_id(self) -> int:
        """Its id."""
        return self.channel.id

    @property
    def _user(self) -> User:
        return self._world.people[self.id]

    async def says(
        self,
        text: str,
        channel: Channel | None = None,
        *,
        files: Sequence[tuple[str, bytes]] = (),
        reply_to: int | None = None,
        mention: bool = False,
    ) -> int:
        """Send a message, that begins with a mention of the bot if asked for; returns its id."""
        bot = self._world.bot
        said = f"<@{bot.id}> {text}" if mention else text
        pinged = mentions_in(said)
        if reply_to is not None:
            pinged |= {f"<@{self._world.messages[reply_to].author.id}>"}
        message = Message(
            id=self._world.ids.next(),
            channel_id=(channel or self.channel).id,
            author=self._user,
            text=said,
            files=tuple(self._world.store(name, content) for name, content in files),
            reply_to=reply_to,
            pinged=pinged,
        )
        self._world.add_message(message)
        self._events.message_created(message)
        await self._settled()
        return message.id

    async def edits(self, message_id: int, text: str) -> None:
        """Change one of their own messages."""
        message = self._own(message_id)
        message.text = text
        message.edits.append(text)
        message.edited_at.append(time.monotonic())
        message.edited_on = time.time()
        self._events.message_updated(message)
        await self._settled()

    async def deletes(self, message_id: int) -> None:
        """Take one of their own messages away."""
        message = self._own(message_id)
        message.deleted = True
        self._events.message_deleted(message)
        await self._settled()

    def _own(self, message_id: int) -> Message:
        message = self._world.messages[message_id]
        if message.author.id != self.id:
            raise LookupError(f"message {message_id} is not of {self.name}")
        return message

    async def slash(
        self, name: str, options: Mapping[str, Any] | None = None, channel: Channel | None = None
    ) -> Interaction:
        """Use a registered command; that of a sub-command is written behind it: `context show`."""
        place = channel or self.channel
        top, *path = name.split()
        command = self._command(top, place)
        data = {
            "id": command["id"],
            "name": top,
            "type": CHAT_INPUT,
            "options": _chosen(command, path, options or {}),
        }
        if "guild_id" in command:
            data["guild_id"] = command["guild_id"]
        return await self._interact("command", name, options or {}, place, data)

    def _command(self, name: str, channel: Channel) -> Json:
        in_reach = [*self._world.commands.get(None, [])]
        if not channel.direct:
            in_reach += self._world.commands.get(GUILD_ID, [])
        context = DIRECT_CONTEXT if channel.direct else GUILD_CONTEXT
        for command in in_reach:
            everywhere = command["contexts"] is None and not (channel.direct and command.get("dm_permission") is False)
            if command["name"] == name and (everywhere or context in (command["contexts"] or ())):
                return command
        raise LookupError(f"no command {name!r} there, only {[command['name'] for command in in_reach]}")

    async def presses(self, message_id: int, label: str) -> Interaction:
        """Press the button with this label under a message."""
        message = self._world.messages[message_id]
        if message.deleted:
            raise LookupError(f"message {message_id} is deleted")
        found = next((button for button in message.buttons if button.get("label") == label), None)
        if found is None:
            raise LookupError(f"no button {label!r} under message {message_id}, only {message.labels}")
        if found.get("disabled") or found["style"] == LINK:
            raise LookupError(f"button {label!r} under message {message_id} cannot be pressed")
        data = {"custom_id": found["custom_id"], "component_type": BUTTON}
        channel = self._world.channels[message.channel_id]
        return await self._interact("button", found["custom_id"], {}, channel, data, message_id=message_id)

    async def _interact(
        self,
        kind: str,
        name: str,
        options: Mapping[str, Any],
        channel: Channel,
        data: Json,
        *,
        message_id: int | None = None,
    ) -> Interaction:
        interaction = Interaction(
            id=self._world.ids.next(),
            token=secrets.token_urlsafe(48),
            kind=kind,
            name=name,
            options=dict(options),
            user=self._user,
            channel_id=channel.id,
            message_id=message_id,
        )
        self._world.interactions.append(interaction)
        self._events.interaction(interaction, data)
        await self._settled()
        return interaction

    def blocks(self) -> None:
        """Take no more direct messages of the bot."""
        self._world.blockers.add(self.id)

    def unblocks(self) -> None:
        """Take them again."""
        self._world.blockers.discard(self.id)


def _chosen(command: Json, path: Sequence[str], given: Mapping[str, Any]) -> list[Json]:
    """The options as the gateway brings them; `LookupError` for what the client of a person would not let them do."""
    known = {option["name"]: option for option in command.get("options") or []}
    if path:
        sub = known.get(path[0])
        if sub is None or sub["type"] not in (SUB_COMMAND, SUB_COMMAND_GROUP):
            raise LookupError(f"no sub-command {path[0]!r}, only {list(known)}")
        return [{"name": path[0], "type": sub["type"], "options": _chosen(sub, path[1:], given)}]
    if strange := given.keys() - known.keys():
        raise LookupError(f"no option {sorted(strange)}, only {list(known)}")
    for name, option in known.items():
        required = option["type"] in (SUB_COMMAND, SUB_COMMAND_GROUP) or option.get("required")
        if required and name not in given:
            raise LookupError(f"{name!r} has to be chosen")
    return [_option(known[name], value) for name, value in given.items()]


def _option(option: Json, value: Any) -> Json:
    choices = [choice["value"] for choice in option.get("choices") or []]
    if choices and value not in choices:
        raise LookupError(f"{value!r} is no choice of {option['name']!r}, only {choices}")
    if not isinstance(value, OPTION_TYPES.get(option["type"], object)):
        raise TypeError(f"{value!r} does not suit {option['name']!r}")
    return {"name": option["name"], "type": option["type"], "value": value}
