"""What each program's own documentation tells a newcomer to do, key by key.

palimpsest: README.md, docs/quickstart.md. nanobot-ai 0.3.5: HKUDS/nanobot, docs/quick-start.md ("SSH, headless" and
"Terminal-Only Check") and docs/guides/telegram-ai-agent.md ("Manual setup"). hermes-agent 0.19.0:
NousResearch/hermes-agent, website/docs/getting-started/quickstart.md ("I already know my provider") and
website/docs/user-guide/messaging/telegram.md ("Interactive Setup").

All are given the same: an address that speaks Chat Completions, its key, the name of its model, and a bot's token. What
only leads a program to a server on loopback in place of Telegram's (an environment variable, a line of a file) is no
key of anybody's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.bench.first_word.person import UP, Person
from tests.servers.telegram.server import BotApiServer
from tests.until import until

HELLO = "Hello!"
ANSWER = "Good morning to you"


@dataclass(frozen=True)
class Given:
    """What a newcomer has in hand."""

    address: str
    key: str
    model: str
    token: str
    telegram: BotApiServer
    proxy: str = ""
    """The address of a proxy that brings api.telegram.org to that server."""
    trust: str = ""
    """A file with the certificate that it shows, and those of the system."""

    async def hello_on_telegram(self, person: Person) -> None:
        """Say hello, and wait until it is answered. Raises AssertionError where the program leaves."""
        before = len(self.telegram.texts(ADA))
        person.counts(len(HELLO) + 1)
        self.telegram.person(ADA, "Ada").says(HELLO)
        await self.comes(person, lambda: any(ANSWER in text for text in self.telegram.texts(ADA)[before:]))

    async def comes(self, person: Person, what: Callable[[], bool]) -> None:
        """Wait for what is seen at Telegram. Raises AssertionError where the program leaves before."""
        await until(lambda: what() or person.has_left, self.telegram.describe, seconds=240)
        assert what(), f"it ended:\n{person.screen}"


ADA = 1001


class Program(Protocol):
    """One that is compared."""

    name: str
    package: str
    environment: Mapping[str, str]

    async def terminal(self, person: Person, given: Given) -> None:
        """From the installed program to its first answer here."""

    async def on_telegram(self, person: Person, given: Given, home: Path) -> None:
        """The same, to its first answer there."""


@dataclass
class Palimpsest:
    """Ours."""

    package: str
    name: str = "palimpsest"
    environment: Mapping[str, str] = field(default_factory=dict)

    async def terminal(self, person: Person, given: Given) -> None:
        await self._model(person, given)
        for _ in range(2):
            await person.sees(r"Talk to it on \w+, too\? \[y/N\]:")
            await person.enters()
        await person.sees("Palimpsest · ")
        await person.sees("> ")
        await person.types(HELLO)
        await person.sees(ANSWER)

    async def on_telegram(self, person: Person, given: Given, home: Path) -> None:
        await self._model(person, given)
        await person.sees(r"Talk to it on Telegram, too\? \[y/N\]:")
        await person.types("y")
        await person.sees("Token, which is not shown.*?:")
        await person.pastes(given.token)
        code = (await person.sees(r"https://t.me/\w+\?start=(\S+)")).group(1)
        ada = given.telegram.person(ADA, "Ada")
        person.counts(2)  # the link, and START
        ada.says(f"/start {code}")
        await person.sees("is an admin now")
        await person.sees(r"Talk to it on Discord, too\? \[y/N\]:")
        await person.enters()
        await given.hello_on_telegram(person)

    async def _model(self, person: Person, given: Given) -> None:
        await person.runs("palimpsest")
        await person.sees("Number or name; Enter skips:")
        await person.types("11")
        await person.sees(r"Its address \(CUSTOM_BASE_URL\).*?goes back:")
        await person.pastes(given.address)
        await person.sees("Key, which is not shown; Enter for none:")
        await person.pastes(given.key)
        await person.sees("Model; Tab lists them.*?:")
        await person.pastes(given.model)


@dataclass
class Nanobot:
    """HKUDS/nanobot."""

    package: str = "nanobot-ai==0.3.5"
    name: str = "nanobot"
    environment: Mapping[str, str] = field(default_factory=dict)

    async def terminal(self, person: Person, given: Given) -> None:
        await self._model(person, given)
        await person.runs("nanobot", "agent", "-m", HELLO, typed=f'nanobot agent -m "{HELLO}"')
        await person.sees(ANSWER)

    async def on_telegram(self, person: Person, given: Given, home: Path) -> None:
        await self._model(person, given)
        await person.runs("nanobot", "plugins", "enable", "telegram")
        await person.finishes()
        await person.ends()
        file = home / ".nanobot" / "config.json"
        config = json.loads(file.read_text())
        there = config.setdefault("channels", {}).setdefault("telegram", {})
        there.update(enabled=True, token=given.token, proxy=given.proxy)
        file.write_text(json.dumps(config, indent=2))
        person.counts(len("nano ~/.nanobot/config.json") + 1)
        person.counts(2 + 3)  # the guide's piece and the token are pasted; kept and left by three keys
        await person.runs("nanobot", "gateway")
        ada = given.telegram.person(ADA, "Ada")
        person.counts(len(HELLO) + 1)
        ada.says(HELLO)

        def code() -> str:
            found = [re.search(r"\b[A-Z0-9]{4}-[A-Z0-9]{4}\b", text) for text in given.telegram.texts(ADA)]
            return next((one.group() for one in found if one), "")

        await given.comes(person, lambda: bool(code()))
        other = Person(home, person.environment)
        await other.runs(
            "nanobot", "agent", "-m", f"/pairing approve {code()}", typed='nanobot agent -m "/pairing approve "'
        )
        other.counts(1)  # the code, pasted
        await other.finishes()
        await other.ends()
        person.counts(other.keys)
        await given.hello_on_telegram(person)

    async def _model(self, person: Person, given: Given) -> None:
        await person.runs("nanobot", "onboard", "--wizard")
        await person.sees(r"What would you like to do\?[^$]*\[X\] Exit")
        await person.enters()
        await person.sees(r"Other OpenAI-compatible\s+<- Back")
        await person.moves(UP, 2)
        await person.sees("API key:")
        await person.pastes(given.key)
        await person.sees("Provider base URL:")
        await person.pastes(given.address)
        await person.sees("Model ID:")
        await person.pastes(given.model)
        await person.sees(r"Enable WebSocket channel now\?")
        await person.enters()
        await person.sees("Set a WebUI password:")
        await person.pastes("a-word-of-a-password-store")
        await person.sees("Press Enter to save and exit")
        await person.enters()
        await person.finishes()


@dataclass
class Hermes:
    """NousResearch/hermes-agent."""

    package: str = "hermes-agent==0.19.0"
    name: str = "hermes"
    environment: Mapping[str, str] = field(default_factory=dict)

    async def terminal(self, person: Person, given: Given) -> None:
        await self._model(person, given)
        await person.runs("hermes")
        await person.sees("/help for commands")
        await person.sees("❯")
        await person.types(HELLO)
        await person.sees(ANSWER)

    async def on_telegram(self, person: Person, given: Given, home: Path) -> None:
        await self._model(person, given)
        await person.runs("hermes", "gateway", "setup")
        await person.sees("Done")
        await person.moves(UP, 4)
        await person.sees(r"Choice \[1/2\] \[1\]:")
        await person.types("2")
        await person.sees("Telegram bot token.*?:")
        await person.pastes(given.token)
        await person.sees("leave empty for open access.*?:")
        await person.pastes(str(ADA))
        await person.sees("as the home channel.*?:")
        await person.enters()
        await person.sees("Done")
        await person.enters()
        await person.finishes()
        await person.ends()
        with (home / ".hermes" / "config.yaml").open("a") as file:
            file.write(f"\nplatforms:\n  telegram:\n    extra:\n      base_url: {given.telegram.url}/bot\n")
        await person.runs("hermes", "gateway")
        await given.comes(person, lambda: given.telegram.polls > 0)
        await given.hello_on_telegram(person)

    async def _model(self, person: Person, given: Given) -> None:
        await person.runs("hermes", "model")
        await person.sees("Leave unchanged")
        await person.moves(UP, 3)
        await person.sees(r"API base URL.*?:\s*$")
        await person.pastes(given.address)
        await person.sees(r"API key \[optional\]:")
        await person.pastes(given.key)
        await person.sees("Choice \\[1-4.*?:")
        await person.enters()
        await person.sees(r"Use this model\? \[Y/n\]:")
        await person.enters()
        await person.sees(r"Context length in tokens.*?:")
        await person.enters()
        await person.sees(r"Display name.*?\]:")
        await person.enters()
        await person.finishes()
