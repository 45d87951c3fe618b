"""Who may talk to the bot. Pure. A person counts, wherever they write: being in a group with somebody known is not
enough."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from bot.messages import Address, Inbound

TERMINAL = "terminal"
WEB = "web"
CONNECTORS = ("telegram", "discord", WEB, TERMINAL)
"""Those that come with the program: an agents process has none of them, and answers whoever came by any."""
OPERATOR, OPERATOR_NAME = "operator", "Operator"
"""The person who talks and gives commands on the page: whoever got through its door runs the bot."""
_OWN = frozenset({TERMINAL, WEB})
"""Connectors that only those reach who run the bot."""
CODE_HOURS = 1
"""How long a code can be approved."""

Mode = Literal["pairing", "allowlist", "open"]


def is_own(address: Address) -> bool:
    """Whether only those get there who run the bot."""
    return address.connector in _OWN


@dataclass(frozen=True)
class Access:
    """``open``: everybody; ``allowlist``: people named as ``connector:id``; ``pairing``: those, and whoever was let in
    by a code. Admins, the terminal's user and whoever got through the page's door always."""

    mode: Mode
    allow: frozenset[str]
    admins: frozenset[str] = frozenset()

    def may_talk(self, address: Address, person: str, approved: Collection[str] = ()) -> bool:
        """Whether what this person says reaches an agent. ``approved``: people of this connector who were let in."""
        if self.mode == "open" or is_own(address):
            return True
        named = f"{address.connector}:{person}"
        return named in self.allow or named in self.admins or (self.mode == "pairing" and person in approved)

    def names_admin(self, address: Address, person: str) -> bool:
        """Whether ``ADMINS`` names this person."""
        return f"{address.connector}:{person}" in self.admins

    def passes(self, connector: str, person: str) -> bool:
        """Whether no budget stops this person, wherever they are."""
        return connector in _OWN or f"{connector}:{person}" in self.admins

    def is_admin(self, address: Address, person: str) -> bool:
        """Whether this person may let others in."""
        return is_own(address) or self.names_admin(address, person)


NOTHING_KEPT = "Nothing you wrote was kept."
TOO_FAST = "You write faster than I can follow. Wait a minute; what you wrote just now was not kept."


def refusal(inbound: Inbound, mode: Mode, code: str | None) -> str:
    """What an unknown person is told. ``code``: what they can be let in by; None when too many wait for that."""
    name = f"{inbound.address.connector}:{inbound.person}"
    if mode != "pairing":
        return f"I do not know you yet. Ask whoever runs this bot to add {name} to ALLOW. {NOTHING_KEPT}"
    if inbound.speaker:
        return (
            f"I do not know you yet, {inbound.person_name}. Write to me in a private chat to be let in. {NOTHING_KEPT}"
        )
    if code is None:
        return f"I do not know you yet, and too many people wait to be let in. Try again in an hour. {NOTHING_KEPT}"
    return (
        f"I do not know you yet. Your code is {code}. Give it to whoever runs this bot: it lets you in within "
        f"{CODE_HOURS} hour, by `palimpsest pair approve {code}` or by /pair {code} from an admin. {NOTHING_KEPT}"
    )


LET_IN = "Let in"
MANY_WAIT = (
    "More people wait to be let in, of whom I tell you no more in this hour. /pair lists who waits, and so do the page "
    "and `palimpsest pair list`."
)


def somebody_waits(name: str, who: str, code: str) -> str:
    """What admins are told of somebody unknown, above a button that lets them in. ``who``: as ``connector:id``."""
    return f"{name or 'Somebody'} ({who}) waits to be let in, with the code {code}. Let in only whom you know."


def welcome() -> str:
    """What somebody is told who was just let in."""
    return "You are let in. Write to me; what you wrote before was not kept. /help lists what I can do."
