"""Who may talk to the bot. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot.messages import Address

TERMINAL = "terminal"


@dataclass(frozen=True)
class Access:
    """``open``: everybody; ``allowlist``: people and chats named as ``connector:id``; the terminal's user always."""

    mode: Literal["open", "allowlist"]
    allow: frozenset[str]

    def may_talk(self, address: Address, person: str) -> bool:
        """Whether what this person says here reaches an agent."""
        if self.mode == "open" or address.connector == TERMINAL:
            return True
        return f"{address.connector}:{person}" in self.allow or f"{address.connector}:{address.chat}" in self.allow


def refusal(address: Address, person: str) -> str:
    """What an unknown person is told."""
    return (
        f"I do not know you yet. Ask whoever runs this bot to add {address.connector}:{person} to ALLOW. "
        "Nothing you wrote was kept."
    )
