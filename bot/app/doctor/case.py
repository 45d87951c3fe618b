"""What every check gets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from bot.app.doctor.web import Web
from bot.runtime.checks import Finding
from bot.runtime.env_file import EnvFile
from bot.runtime.settings import Settings


@dataclass(frozen=True)
class Case:
    """``variables``: the environment and `.env`, by name. ``probe``: also what may disturb another program for a
    moment, for ``probe_seconds``. ``answer_seconds``: for so long a model that is asked something is waited for."""

    settings: Settings
    web: Web
    variables: Mapping[str, str] = field(default_factory=dict)
    probe: bool = False
    probe_seconds: int = 5
    answer_seconds: float = 6.0
    env_file: EnvFile = field(default_factory=EnvFile)
    place: str = ""
    """Which settings count, in a sentence."""


Check = Callable[[Case], Awaitable[Sequence[Finding]]]


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """What must be in no sentence: the secrets of the settings, and the passwords inside them."""
    urls = [urlsplit(url) for url in map(revealed, (settings.database_url, settings.redis_url)) if url]
    queries = [value for url in urls for name, value in parse_qsl(url.query) if name.endswith("password")]
    passwords = [*(url.password for url in urls if url.password), *queries]
    return (*settings.secrets, *passwords, *map(unquote, passwords))


def revealed(secret: SecretStr | None) -> str:
    """The value; empty where there is none."""
    return secret.get_secret_value() if secret else ""
