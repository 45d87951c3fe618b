"""The calls about the bot, its application and its commands, and about people."""

from collections.abc import Callable
from typing import Any

from tests.servers.discord.command_rules import CHAT_INPUT, check_command, check_commands
from tests.servers.discord.routes import Route
from tests.servers.discord.shapes import Shapes
from tests.servers.discord.wire import Json, Refused, Request, unknown
from tests.servers.discord.world import GUILD_ID

_COMMANDS = "/applications/{application}/commands"
_GUILD_COMMANDS = "/applications/{application}/guilds/{guild}/commands"


class Application:
    """Answers them."""

    def __init__(self, shapes: Shapes, gateway_url: Callable[[], str]) -> None:
        self.shapes = shapes
        self.world = shapes.world
        self._gateway_url = gateway_url

    def routes(self) -> list[Route]:
        """The calls."""
        return [
            Route("get_me", "GET", "/users/@me", lambda _: self.shapes.user(self.world.bot)),
            Route("get_user", "GET", "/users/{user}", self._user),
            Route("open_direct_channel", "POST", "/users/@me/channels", self._direct_channel),
            Route("get_application", "GET", "/oauth2/applications/@me", lambda _: self.shapes.application()),
            Route("get_application", "GET", "/applications/@me", lambda _: self.shapes.application()),
            Route("get_gateway", "GET", "/gateway", self._gateway, needs_token=False),
            Route("get_gateway", "GET", "/gateway/bot", self._gateway_of_bot),
            *[
                route
                for path in (_COMMANDS, _GUILD_COMMANDS)
                for route in (
                    Route("get_commands", "GET", path, self._commands),
                    Route("put_commands", "PUT", path, self._put_commands),
                    Route("create_command", "POST", path, self._create_command),
                )
            ],
        ]

    def _user(self, request: Request) -> Json:
        user = self.world.user(request.id("user"))
        if user is None:
            raise unknown("User", 10013)
        return self.shapes.user(user)

    def _direct_channel(self, request: Request) -> Json:
        recipient = self.world.people.get(int(request.form.get("recipient_id") or 0))
        if recipient is None:
            raise Refused(400, 50033, "Invalid Recipient(s)")
        return self.shapes.channel(self.world.direct_channel(recipient))

    def _gateway(self, _: Request) -> Json:
        return {"url": self._gateway_url()}

    def _gateway_of_bot(self, _: Request) -> Json:
        starts = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        return {"url": self._gateway_url(), "shards": 1, "session_start_limit": starts}

    def _scope(self, request: Request) -> int | None:
        if request.id("application") != self.world.bot.id:
            raise unknown("Application", 10002)
        if "guild" not in request.ids:
            return None
        if request.id("guild") != GUILD_ID:
            raise Refused(403, 50001, "Missing Access")
        return GUILD_ID

    def _commands(self, request: Request) -> list[Json]:
        return self.world.commands.get(self._scope(request), [])

    def _put_commands(self, request: Request) -> list[Json]:
        scope = self._scope(request)
        check_commands(request.payload)
        self.world.commands[scope] = [self._registered(scope, command) for command in request.payload]
        return self.world.commands[scope]

    def _create_command(self, request: Request) -> Json:
        scope = self._scope(request)
        check_command(request.form)
        command = self._registered(scope, request.form)
        others = [c for c in self.world.commands.get(scope, []) if _key(c) != _key(command)]
        self.world.commands[scope] = [*others, command]
        return command

    def _registered(self, scope: int | None, command: Json) -> Json:
        """With an id: the one that a command of that name already has."""
        old = next((c for c in self.world.commands.get(scope, []) if _key(c) == _key(command)), None)
        body: dict[str, Any] = {
            "type": CHAT_INPUT,
            "description": "",
            "options": [],
            "nsfw": False,
            "default_member_permissions": None,
            "contexts": None,
            "integration_types": [0],
            **{name: value for name, value in command.items() if value is not None},
            "id": old["id"] if old else str(self.world.ids.next()),
            "application_id": str(self.world.bot.id),
            "version": str(self.world.ids.next()),
        }
        return body if scope is None else body | {"guild_id": str(scope)}


def _key(command: Json) -> tuple[str, int]:
    return command["name"], command.get("type") or CHAT_INPUT
