"""The people of a house at Telegram: what they said, and what they see."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.messages import Address, AgentId
from tests.chaos.brain import PUNCH, READ, TALK
from tests.chaos.plan import Wish
from tests.servers.telegram import BotApiServer, Chat, Person, SentMessage
from tests.servers.telegram_chats import USERNAME

FIRST = 1001
"""The first person's id, and that of their chat; the others follow."""
GROUP_ID = -100_200
_REMEMBERED = 50
LONG = TALK * 20
"""A message that takes the context far up."""
_TALK = (TALK, TALK, "В саду растут бобы и старые розы. ", "花园里有豆子和老玫瑰。", "🌱🌹🫘 " * 5)
_WISHES: Mapping[Wish, str] = {"": "", "punch": PUNCH, "read": READ, "both": f"{PUNCH} {READ}", "long": LONG}


@dataclass(frozen=True)
class Said:
    """A numbered message. ``instead``: the number that the person wrote over."""

    number: int
    chat: int
    person: Person
    message: int
    instead: int | None = None


class People:
    """``count`` people, each in a private chat; with ``group`` the last chat is a group of them all.

    Chats are told apart by their index, messages by their number.
    """

    def __init__(self, telegram: BotApiServer, count: int, *, group: bool, chance: random.Random) -> None:
        self.said: list[Said] = []
        self._telegram = telegram
        self._chance = chance
        self._people = [telegram.person(FIRST + index, f"Person {index}") for index in range(count)]
        self._group: Chat | None = telegram.group(GROUP_ID) if group else None
        self._raw: list[Mapping[str, Any]] = []

    @property
    def chats(self) -> list[int]:
        """The platform's ids of the chats, by index."""
        return [*(person.id for person in self._people), *([GROUP_ID] if self._group else [])]

    @property
    def agents(self) -> list[AgentId]:
        """Their agents, by index."""
        return [Address("telegram", str(chat)).agent_id for chat in self.chats]

    def says(self, chat: int, wish: Wish = "") -> Said:
        """Somebody there says something new."""
        person, group = self._who(chat)
        text = f"{_mention(group)}«{len(self.said) + 1}» {self._chance.choice(_TALK)}{_WISHES[wish]}"
        update = person.says(text, chat=group)
        return self._remember(chat, person, update, person.last(group))

    def commands(self, chat: int, command: str) -> None:
        """Somebody there gives a command."""
        person, group = self._who(chat)
        self._keep(person.says(command, chat=group))

    def edits(self, chat: int, *, swapped: bool) -> None:
        """The author of the newest message there writes it anew; ``swapped``: one that the bot has not seen yet, and
        the platform tells of the change first."""
        last = self.says(chat) if swapped else next((one for one in reversed(self.said) if one.chat == chat), None)
        if last is None:
            return
        group = self._group if chat >= len(self._people) else None
        text = f"{_mention(group)}«{len(self.said) + 1}» {TALK}"
        update = last.person.edits(last.message, text, chat=group)
        self._remember(chat, last.person, update, last.message, instead=last.number)
        if swapped:
            self._swap()

    def repeats(self, count: int) -> None:
        """The platform hands out some of its last updates again: of those that were taken, since in a chat it never
        goes on to the next one before."""
        waiting = {raw["update_id"] for raw in self._telegram.updates.pending}
        taken = [raw for raw in self._raw if raw["update_id"] not in waiting]
        for raw in self._chance.sample(taken, min(count, len(taken))):
            self._telegram.update(raw)

    @property
    def unheard(self) -> int:
        """How many updates the program has not taken yet."""
        return len(self._telegram.updates.pending) + len(self._telegram.updates.forced)

    def sees(self, chat: int) -> list[SentMessage]:
        """All that a chat shows of the bot."""
        return self._telegram.messages(self.chats[chat])

    def _who(self, chat: int) -> tuple[Person, Chat | None]:
        if chat < len(self._people):
            return self._people[chat], None
        return self._chance.choice(self._people), self._group

    def _remember(self, chat: int, person: Person, update: int, message: int, instead: int | None = None) -> Said:
        self._keep(update)
        said = Said(len(self.said) + 1, chat, person, message, instead)
        self.said.append(said)
        return said

    def _keep(self, update: int) -> None:
        self._raw += [raw for raw in self._telegram.updates.pending if raw["update_id"] == update]
        del self._raw[:-_REMEMBERED]

    def _swap(self) -> None:
        """The newest two updates change places: each keeps its content, and gets the other's number."""
        first, second = self._telegram.updates.pending[-2:]
        self._telegram.updates.pending[-2:] = [
            {**second, "update_id": first["update_id"]},
            {**first, "update_id": second["update_id"]},
        ]
        self._raw[-2:] = self._telegram.updates.pending[-2:]


def _mention(group: Chat | None) -> str:
    return f"@{USERNAME} " if group else ""
