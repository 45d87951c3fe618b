"""The people of a house: what they said in its chats, and what they see."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.messages import AgentId
from tests.chaos.brain import PUNCH, READ, SEND, TALK
from tests.chaos.chats import Chat, DiscordChat, Seen, TelegramChat, Written, address_of
from tests.chaos.plan import Wish
from tests.servers.discord.server import DiscordServer
from tests.servers.telegram.server import BotApiServer

FIRST = 1001
"""The first person's id, and that of their chat; the others follow."""
GROUP_ID = -1_001_000_000_200
"""Of a supergroup, which has a counter of its own for its messages."""
_REMEMBERED = 50
LONG = TALK * 20
"""A message that takes the context far up."""
_TALK = (TALK, TALK, "В саду растут бобы и старые розы. ", "花园里有豆子和老玫瑰。", "🌱🌹🫘 " * 5)
_WISHES: Mapping[Wish, str] = {
    "": "",
    "punch": PUNCH,
    "read": READ,
    "both": f"{PUNCH} {READ}",
    "long": LONG,
    "file": "Here is a file.",
    "send": SEND,
}


@dataclass(frozen=True)
class Said:
    """A numbered message. ``instead``: the number that the person wrote over."""

    number: int
    chat: int
    written: Written
    instead: int | None = None


class People:
    """``count`` people at Telegram, each in a private chat; with ``group`` the next chat is a group of them all, and
    with ``discord`` the last one is of somebody there.

    Chats are told apart by their index, messages by their number; ``first`` is the first of them.
    """

    def __init__(
        self,
        telegram: BotApiServer,
        count: int,
        *,
        group: bool,
        chance: random.Random,
        discord: DiscordServer | None = None,
        first: int = 1,
    ) -> None:
        self.said: list[Said] = []
        self.chats: list[Chat] = []
        self._telegram = telegram
        self._chance = chance
        self._next = first
        self._updates: list[int] = []
        self._raw: list[Mapping[str, Any]] = []
        persons = [telegram.person(FIRST + index, f"Person {index}") for index in range(count)]
        self.chats += [TelegramChat(telegram, [person], log=self._updates) for person in persons]
        if group:
            self.chats.append(TelegramChat(telegram, persons, telegram.group(GROUP_ID), log=self._updates))
        self._discord = DiscordChat(discord, discord.person(FIRST, "Person D")) if discord else None
        if self._discord:
            self.chats.append(self._discord)

    @property
    def agents(self) -> list[AgentId]:
        """Their agents, by index."""
        return [address_of(chat).agent_id for chat in self.chats]

    def says(self, chat: int, wish: Wish = "") -> Said:
        """Somebody there says something new."""
        number, text = self._numbered(f"{self._chance.choice(_TALK)}{_WISHES[wish]}")
        files = {f"note-{number}.txt": f"A note about {TALK}".encode()} if wish == "file" else {}
        written = self.chats[chat].says(self._chance.randrange(8), text, files)
        return self._remember(Said(number, chat, written))

    def commands(self, chat: int, command: str) -> None:
        """Somebody there gives a command."""
        self.chats[chat].commands(self._chance.randrange(8), command)
        self._keep()

    def presses(self, chat: int) -> None:
        """Somebody there presses a button of the newest message that has some; nothing where none has."""
        with_buttons = [seen for seen in self.chats[chat].sees() if seen.buttons]
        if with_buttons:
            under = with_buttons[-1]
            self.chats[chat].presses(self._chance.randrange(8), under.ref, self._chance.choice(under.buttons))
            self._keep()

    def edits(self, chat: int, *, swapped: bool) -> None:
        """The author of the newest message there writes it anew; ``swapped``: one that the bot has not seen yet, and
        the platform tells of the change first."""
        swapped = swapped and self.chats[chat] is not self._discord
        last = self.says(chat) if swapped else next((one for one in reversed(self.said) if one.chat == chat), None)
        if last is None:
            return
        number, text = self._numbered(TALK)
        last.written.edit(text)
        self._remember(Said(number, chat, last.written, instead=last.number))
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
        doing = len(self._discord.doing) if self._discord else 0
        return len(self._telegram.updates.pending) + len(self._telegram.updates.forced) + doing

    def unread(self, stored: set[int]) -> list[int]:
        """Of the numbers that nobody else keeps for the program (Discord acknowledges nothing), those that are neither
        in ``stored`` nor written over by one that is."""
        ours = [one for one in self.said if self.chats[one.chat] is self._discord]
        return missing(ours, stored)

    def sees(self, chat: int) -> Sequence[Seen]:
        """All that a chat shows of the bot."""
        return self.chats[chat].sees()

    def _numbered(self, text: str) -> tuple[int, str]:
        number, self._next = self._next, self._next + 1
        return number, f"«{number}» {text}"

    def _remember(self, said: Said) -> Said:
        self._keep()
        self.said.append(said)
        return said

    def _keep(self) -> None:
        """The updates that were made just now, as the platform hands them out."""
        new = set(self._updates)
        self._updates.clear()
        self._raw += [raw for raw in self._telegram.updates.pending if raw["update_id"] in new]
        del self._raw[:-_REMEMBERED]

    def _swap(self) -> None:
        """The newest two updates change places: each keeps its content, and gets the other's number."""
        first, second = self._telegram.updates.pending[-2:]
        self._telegram.updates.pending[-2:] = [
            {**second, "update_id": first["update_id"]},
            {**first, "update_id": second["update_id"]},
        ]
        self._raw[-2:] = self._telegram.updates.pending[-2:]


def missing(said: Sequence[Said], stored: set[int]) -> list[int]:
    """The numbers that are neither stored nor written over by one that is."""
    replaced: set[int | None] = set()
    for one in reversed(said):
        if one.number in stored or one.number in replaced:
            replaced.add(one.instead)
    return [one.number for one in said if one.number not in stored and one.number not in replaced]
