"""Whom a text notifies: https://docs.discord.com/developers/resources/message#allowed-mentions-object"""

import re

from tests.servers.discord.wire import Json

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_MENTION = re.compile(r"@everyone|@here|<@!?\d+>|<@&\d+>")


def mentions_in(text: str) -> frozenset[str]:
    """The mentions of a text outside code, as they are written."""
    return frozenset(found.replace("<@!", "<@") for found in _MENTION.findall(_CODE.sub("", text)))


def pinged(text: str, allowed: Json | None, replied_to: int | None = None) -> frozenset[str]:
    """Those who are notified: everyone mentioned if nothing is said about it, else only whom that allows."""
    written = mentions_in(text)
    author = frozenset() if replied_to is None else frozenset({f"<@{replied_to}>"})
    if allowed is None:
        return written | author
    found = frozenset(mention for mention in written if _is_allowed(mention, allowed))
    return found | author if allowed.get("replied_user") else found


def _is_allowed(mention: str, allowed: Json) -> bool:
    if mention in ("@everyone", "@here"):
        kind = "everyone"
    else:
        kind = "roles" if mention.startswith("<@&") else "users"
    return kind in (allowed.get("parse") or []) or mention.strip("<@&>") in map(str, allowed.get(kind) or ())
