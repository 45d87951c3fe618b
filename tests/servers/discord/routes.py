"""The table of the API's calls, each with the name by which tests speak of it."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.servers.discord.wire import Request

Handler = Callable[[Request], object]


@dataclass(frozen=True)
class Route:
    """A call: `None` from its handler is 204. Only the token of an interaction can stand in for the bot's."""

    method: str
    verb: str
    path: str
    handle: Handler
    needs_token: bool = True
