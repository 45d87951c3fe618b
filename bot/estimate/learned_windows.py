"""How large a model's window is, as a refusal of its provider has said.

A provider that lists a larger window than it takes, or none, says the number when it refuses a request. It counts from
then on, for every process and over restarts, until another model or endpoint is asked, the provider lists another
window, a larger request is answered, or so much time has passed that a server of one's own may have been started with
another window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

REMEMBERED_SECONDS = 7 * 86_400.0
_LONGEST_PLACE = 300
CUT = " cut a prompt of about "
"""What is said of a server that cuts in place of refusing."""
LONGEST_SAID = 300
"""Characters of a refusal that are kept."""


@dataclass(frozen=True)
class Learned:
    """``window``: tokens; ``said``: the refusal's words; ``listed``: what the provider listed then, 0 for nothing;
    ``at``: seconds since 1970, where they are kept."""

    window: int
    said: str
    listed: int = 0
    at: float = 0.0

    @property
    def is_cut(self) -> bool:
        """Nothing was refused: the server cut what did not fit."""
        return is_cut(self.said)


def is_cut(said: str) -> bool:
    """Whether these words are not those of a refusal: a prompt was cut."""
    return CUT in said


def place_of(base_url: str | None) -> str:
    """What an endpoint is called there: host and path, without a login."""
    url = urlsplit(base_url or "https://api.anthropic.com")
    return f"{url.netloc.rpartition('@')[2]}{url.path.rstrip('/')}"[:_LONGEST_PLACE]


class Windows(Protocol):
    """What was learned, by the place of an endpoint and the name of a model there."""

    async def learned(self, place: str, model: str) -> Learned | None:
        """The number that holds now."""

    async def learn(self, place: str, model: str, learned: Learned) -> None:
        """It holds from now on."""

    async def forget(self, place: str, model: str) -> None:
        """It was wrong, or is no more."""


class OwnWindows:
    """Of this process alone."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], Learned] = {}

    async def learned(self, place: str, model: str) -> Learned | None:
        return self._of.get((place, model))

    async def learn(self, place: str, model: str, learned: Learned) -> None:
        self._of[place, model] = learned

    async def forget(self, place: str, model: str) -> None:
        self._of.pop((place, model), None)
