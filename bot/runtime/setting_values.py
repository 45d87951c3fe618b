"""What single settings may be. Pure: each function returns the value, or raises ValueError with the end of a sentence
that begins with the setting's name."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from urllib.parse import urlsplit

_LAST_PORT = 65_535
_TELEGRAM_TOKEN = re.compile(r"\d+:\S+")
_DISCORD_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
_KEY = re.compile(r"[!-~]+")
_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_HOST_NAME = re.compile(r"\[[0-9a-f:.]+\]|[a-z0-9._-]+")


def address(value: str, *schemes: str, example: str) -> str:
    """A URL of one of these schemes, with a host. A host that ends in a number is an IPv4 address, as in URLs
    everywhere (https://url.spec.whatwg.org/#ends-in-a-number-checker): `http://11` is none."""
    wanted = " or ".join(f"{scheme}://" for scheme in schemes)
    try:
        place = urlsplit(value)
        is_whole = place.scheme in schemes and place.hostname and (place.port is None or place.port > 0)
        if is_whole and (place.hostname or "").rpartition(".")[2].isdecimal():
            ipaddress.IPv4Address(place.hostname or "")
    except ValueError:  # a port or a number that is none
        is_whole = False
    if not is_whole or any(letter.isspace() for letter in value):
        raise ValueError(f"is no address. Write {wanted}, a host and perhaps a port, e.g. {example}")
    return value


def host_and_port(value: str) -> str:
    """Where to listen."""
    host, colon, port = value.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _LAST_PORT or "/" in host:
        raise ValueError("is not host:port. Write e.g. 127.0.0.1:8080")
    return value


def host_name(value: str) -> str:
    """A host's name as a browser sends it, without the rest of an address."""
    name = value.lower()
    if not _HOST_NAME.fullmatch(name):
        raise ValueError(f"has {value}, which is no name of a host. Write the name alone, e.g. bot.example.org")
    return name


def network(value: str) -> str:
    """An address, or a network of them."""
    try:
        ipaddress.ip_network(value)
    except ValueError as error:
        raise ValueError(
            f"has {value}, which is no address and no network. Write e.g. 10.0.0.5 or 10.0.0.0/24"
        ) from error
    return value


def person(value: str) -> str:
    """``connector:id``, however it is spaced and whatever its letters. Which connectors there are is not known here."""
    connector, colon, name = (part.strip() for part in value.partition(":"))
    if colon and name and connector.isidentifier():
        return f"{connector.lower()}:{name}"
    if value.strip().lstrip("-").isdecimal():
        raise ValueError(
            f"has {value}, and does not say where that is. Write telegram:{value} where it is Telegram, and "
            f"discord:{value} where it is Discord"
        )
    raise ValueError(
        f"has {value}, which names nobody. Write connector:id with the number of the person, e.g. telegram:12345 or "
        "discord:67890, and commas between them"
    )


def telegram_token(value: str) -> str:
    """What @BotFather gives: the bot's id, a colon, and the rest."""
    if not _TELEGRAM_TOKEN.fullmatch(value):
        raise ValueError("is no token of a bot. Set it to the one that @BotFather gave you, e.g. 123456789:AAF…")
    return value


def discord_token(value: str) -> str:
    """Three parts with full stops between them."""
    if not _DISCORD_TOKEN.fullmatch(value):
        raise ValueError(
            "is no token of a bot. Set it to the one from Bot at https://discord.com/developers/applications, three "
            "parts with full stops between them"
        )
    return value


def webhook_secret(value: str) -> str:
    """https://core.telegram.org/bots/api#setwebhook"""
    if not _WEBHOOK_SECRET.fullmatch(value):
        raise ValueError("may hold only A-Z, a-z, 0-9, _ and -, at most 256 of them")
    return value


def key(value: str) -> str:
    """What can be sent in a header."""
    if not _KEY.fullmatch(value):
        raise ValueError("has spaces, line breaks or letters that no key has. Copy it again, as a whole and alone")
    return value


def database(value: str) -> str:
    """PostgreSQL; SQLite is for tests."""
    scheme = value.partition("://")[0].partition("+")[0]
    if "://" not in value or scheme not in ("postgresql", "postgres", "sqlite"):
        raise ValueError(
            "is not one of PostgreSQL. Write postgresql://user:password@host/database; without it, the book is a "
            "SQLite file in DATA_DIR"
        )
    return value


def redis(value: str) -> str:
    """A server, a socket, or Sentinels. A database that is no number would be taken for the first one."""
    scheme, _, rest = value.partition("://")
    if not rest or not _is_redis(value, scheme):
        raise ValueError(
            "is not one of Redis. Write redis://:password@host:6379/0, rediss://… for TLS, unix:///path, or "
            "redis+sentinel://host:26379,host2:26379/mymaster/0 for Sentinels"
        )
    return value


def _is_redis(value: str, scheme: str) -> bool:
    if scheme in ("unix", "redis+sentinel", "rediss+sentinel"):
        return True
    try:
        place = urlsplit(value)
        is_server = bool(place.hostname) and (place.port is None or place.port > 0)
    except ValueError:  # a port that is none
        return False
    return scheme in ("redis", "rediss") and is_server and (not place.path.strip("/") or place.path[1:].isdecimal())


def path(value: Path) -> Path:
    """With one's home in the place of ``~``, as a shell would do it; a `.env` has none."""
    try:
        return value.expanduser()
    except RuntimeError as error:
        raise ValueError("names a home that is not there. Write the whole path") from error


def timezone(value: str) -> str:
    """A zone of time, by its IANA name."""
    from bot.runtime.zones import EXAMPLE, UnknownZoneError, understood

    try:
        return understood(value)
    except UnknownZoneError as error:
        example = next(iter(error.near), EXAMPLE)
        raise ValueError(f"is no time zone. Write an IANA name, e.g. {example}") from error
