"""Which command a text is, if it is one. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.agent.commands.table import SPECS, CommandSpec, Runs, Who, meant

if TYPE_CHECKING:
    from bot.store.inbox import Waiting

_SENTENCE = re.compile(r"\W*please compact this conversation\W*", re.IGNORECASE)
_SLASH = re.compile(r"/([A-Za-z_]{1,32})(?:@\S+)?(?:\s+(.*))?", re.DOTALL)
OLD_BUTTON = "button"
"""What stands for a command where a button has none."""


@dataclass(frozen=True)
class Command:
    """A command and what stands behind it. ``known`` is False for a slash and a word that is no command, or none that
    everybody may give; ``meant`` says what was meant instead."""

    name: str
    argument: str = ""
    known: bool = True

    @property
    def spec(self) -> CommandSpec | None:
        """Its row in the table."""
        return SPECS.get(self.name)

    @property
    def meant(self) -> str:
        """The command that this is, mistyped, as it would have been written; empty where it is like none."""
        near = None if self.spec else meant(self.name)
        return f"/{near} {self.argument}".rstrip() if near else ""

    @property
    def is_of_the_past(self) -> bool:
        """Whether it is about what was said before it, all of it."""
        return self.spec is not None and self.spec.runs is Runs.OF_THE_PAST


def command_in(message: Waiting) -> Command | None:
    """What a message orders, if it is no talk. What a button says is never talk: nobody wrote it."""
    if message.kind == "press":
        return pressed(message.text)
    if message.kind == "wake":
        return None
    return parse(message.text) if not message.files else None


def parse(text: str) -> Command | None:
    """The command that a text is, or None for something to say to the model: a slash, a word that is like no command,
    and more words behind it."""
    stripped = text.strip()
    if _SENTENCE.fullmatch(stripped):
        return Command("compact")
    match = _SLASH.fullmatch(stripped)
    if match is None:
        return None
    name, argument = match[1].lower(), (match[2] or "").strip()
    spec = SPECS.get(name)
    if spec:
        return Command(spec.name, argument, known=spec.who is Who.EVERYBODY)
    return None if argument and not meant(name) else Command(name, argument, known=False)


def pressed(data: str) -> Command:
    """The command of a button. One of an earlier version, or of another bot, has none: it is not known."""
    command = parse(data)
    return command if command and command.spec else Command(OLD_BUTTON, known=False)
