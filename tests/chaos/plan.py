"""What happens in a run: who says what, and what strikes when. Pure: the same seed gives the same plan.

What the processes do in between is not in anybody's hands, so a seed brings about the same blows and not always the
same fault; `make chaos SEED=n RUNS=20` tries one again and again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

HouseKind = Literal["embedded", "apart", "fleet", "guest"]
"""``guest``: one process with a book of its own, on the Redis of somebody else."""
HOUSES: tuple[HouseKind, ...] = ("embedded", "apart", "fleet")
PROGRAMS: Mapping[HouseKind, Mapping[str, tuple[str, ...]]] = {
    "embedded": {"all": ()},
    "guest": {"all": ()},
    "apart": {role: ("--role", role) for role in ("gateway", "agents", "worker")},
    "fleet": {
        f"{role}-{number}": ("--role", role)
        for role, count in (("gateway", 2), ("agents", 3), ("worker", 2))
        for number in range(1, count + 1)
    },
}
"""The processes of a house: a name, and what `run` is told."""
PEOPLE = 3
CHATS = PEOPLE + 2
"""Three people at Telegram in private, a group of them all, and somebody at Discord."""

Wish = Literal["", "punch", "read", "both", "long", "file", "send"]
StrikeKind = Literal[
    "kill", "restart", "freeze", "kill valkey", "freeze valkey", "wipe", "noise", "kill postgres", "freeze postgres",
    "restart postgres", "full postgres", "read-only postgres", "cut", "blackhole", "half-close", "slow line",
    "rate limit", "overloaded", "broken model", "silent model", "cut stream", "error in stream", "garbage",
    "empty answer", "flood", "bad gateway", "lost answer", "slow platform", "drop discord", "forget discord",
    "no trace", "clock",
]  # fmt: skip
_SHARE_OF_GUESTS = 0.4
_GUESTS_ACTS = 12
Pooler = Literal["", "session", "transaction"]
"""How PgBouncer stands between the processes and PostgreSQL; empty: it does not."""


@dataclass(frozen=True)
class Says:
    """A person says something numbered, and wants tools used, or it is long."""

    chat: int
    wish: Wish = ""


@dataclass(frozen=True)
class Commands:
    """A person gives a command."""

    chat: int
    text: str


@dataclass(frozen=True)
class Edits:
    """A person changes the last thing that they said; with ``swapped`` the platform tells of the change first."""

    chat: int
    swapped: bool = False


@dataclass(frozen=True)
class Presses:
    """A person presses a button of the newest message that has some."""

    chat: int


@dataclass(frozen=True)
class Repeats:
    """The platform hands out its last ``count`` updates once more, in any order."""

    count: int


@dataclass(frozen=True)
class Strike:
    """Something goes wrong with ``target`` for so many seconds, or that often."""

    kind: StrikeKind
    target: str = ""
    seconds: float = 0.0
    times: int = 1


Act: TypeAlias = Says | Commands | Edits | Presses | Repeats | Strike


@dataclass(frozen=True)
class Plan:
    """``acts``: each after so many seconds of nothing. ``guest``: what is said meanwhile to another installation, on
    the same Redis; empty: there is none."""

    seed: int
    house: HouseKind
    webhook: bool
    acts: Sequence[tuple[float, Act]]
    pooler: Pooler = ""
    guest: Sequence[tuple[float, Act]] = ()

    @property
    def surroundings(self) -> str:
        """The house, in words."""
        words = [self.house, "by webhook" if self.webhook else "", f"PgBouncer ({self.pooler})" if self.pooler else ""]
        return ", ".join(filter(None, [*words, "a guest" if self.guest else ""]))

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.surroundings}", *(f"  +{wait:.2f} {act}" for wait, act in self.acts)]
        return "\n".join([*lines, *(f"  guest +{wait:.2f} {act}" for wait, act in self.guest)])


def short_plan(seed: int, house: HouseKind | None = None) -> Plan:
    """About ten seconds of talk with five or six blows; houses take turns by seed."""
    chance = random.Random(f"plan {seed}")
    kind = house or HOUSES[seed % len(HOUSES)]
    webhook = chance.random() < 0.3 and kind != "fleet"
    strikes = list(some_strikes(kind, chance, chance.randint(5, 6)))
    talk = [*_warm_up(), *(some_talk(chance) for _ in range(chance.randint(16, 22)))]
    acts: list[tuple[float, Act]] = [(chance.uniform(0.0, 0.5), act) for act in talk]
    for strike in strikes:
        acts.insert(chance.randint(CHATS, len(acts)), (chance.uniform(0.0, 0.6), strike))
    pooler: Pooler = chance.choice(["", "", "session", "transaction"]) if kind == "fleet" else ""
    guest = (
        [(chance.uniform(0.2, 1.2), some_talk(chance, PEOPLE + 1)) for _ in range(12)]
        if _has_guest(kind, chance)
        else []
    )
    return Plan(seed, kind, webhook, acts, pooler, guest)


def _has_guest(house: HouseKind, chance: random.Random) -> bool:
    """A Redis that the program brings along is nobody else's."""
    return house == "fleet" and chance.random() < 0.4


def _warm_up() -> Iterator[Act]:
    return (Says(chat, "long" if chat % 2 else "") for chat in range(CHATS))


def some_talk(chance: random.Random, chats: int = CHATS) -> Act:
    """What a person, or the platform with their words, does next."""
    chat = chance.randrange(chats)
    kind = chance.choices(["says", "commands", "presses", "edits", "repeats"], [14, 5, 2, 2, 2])[0]
    if kind == "says":
        wishes: list[Wish] = ["", "punch", "read", "both", "long", "file", "send"]
        return Says(chat, chance.choices(wishes, [6, 2, 1, 1, 4, 1, 1])[0])
    if kind == "presses":
        return Presses(chat)
    if kind == "commands":
        words = ["/compact", "/abort", "/undo", "/new", "/context", "/status", "/recall garden", "/help"]
        return Commands(chat, chance.choices(words, [4, 4, 2, 1, 1, 1, 1, 1])[0])
    if kind == "edits":
        return Edits(chat, swapped=chance.random() < 0.4)
    return Repeats(chance.randint(1, 4))


def some_strikes(house: HouseKind, chance: random.Random, count: int) -> Iterator[Strike]:
    """Blows that this house can take; processes and stores are hit as often as all that is outside."""
    own = [_of_processes, _of_processes, _of_stores]
    for _ in range(count):
        if chance.random() < 0.5:
            yield chance.choice(own)(house, chance)
        else:
            yield chance.choice([_of_wires, _of_the_model, _of_the_model, _of_the_platform, _of_the_machine])(
                house, chance
            )


_SHARE_OF_LONG = 0.25


def _of_processes(house: HouseKind, chance: random.Random) -> Strike:
    target = chance.choice(list(PROGRAMS[house]))
    kind = chance.choices(["kill", "restart", "freeze"], [4, 2, 2])[0]
    seconds = chance.uniform(3.0, 15.0) if kind == "freeze" else chance.uniform(0.0, 0.5)
    return Strike(kind, target, seconds)  # type: ignore[arg-type]


def _of_stores(house: HouseKind, chance: random.Random) -> Strike:
    kinds: list[StrikeKind] = ["kill valkey", "freeze valkey", "wipe", "noise"]
    if house == "fleet":
        kinds += ["kill postgres", "restart postgres", "freeze postgres", "full postgres", "read-only postgres"]
    kind = chance.choice(kinds)
    if kind in ("freeze postgres", "full postgres", "read-only postgres") and chance.random() < _SHARE_OF_LONG:
        return Strike(kind, "", chance.uniform(16.0, 20.0))  # longer than a statement may take, or a message is tried
    lasts = kind in ("freeze postgres", "freeze valkey", "full postgres", "read-only postgres")
    return Strike(kind, "", chance.uniform(0.5, 8.0) if lasts else chance.uniform(0.1, 1.5))


def _of_wires(house: HouseKind, chance: random.Random) -> Strike:
    wires = ["model", "telegram", "discord"] + (["valkey", "postgres"] * 2 if house == "fleet" else [])
    kinds: list[StrikeKind] = ["cut", "blackhole", "half-close", "slow line"]
    return Strike(chance.choice(kinds), chance.choice(wires), chance.uniform(0.5, 8.0))


def _of_the_model(_house: HouseKind, chance: random.Random) -> Strike:
    kinds: list[StrikeKind] = [
        "rate limit", "overloaded", "broken model", "silent model", "cut stream", "error in stream", "garbage",
        "empty answer",
    ]  # fmt: skip
    return Strike(chance.choice(kinds), "", chance.uniform(0.5, 3.0), times=chance.choice([1, 1, 2, 6]))


def _of_the_platform(_house: HouseKind, chance: random.Random) -> Strike:
    if chance.random() < 0.25:
        return Strike(chance.choice(["drop discord", "forget discord"]), "", chance.uniform(0.0, 1.0))
    kinds: list[StrikeKind] = ["flood", "bad gateway", "lost answer", "slow platform"]
    methods = ["sendMessage", "sendMessage", "editMessageText", "getUpdates", "sendRichMessage", "*"]
    return Strike(chance.choice(kinds), chance.choice(methods), chance.uniform(0.5, 2.0), times=chance.randint(1, 3))


def _of_the_machine(house: HouseKind, chance: random.Random) -> Strike:
    if chance.random() < 0.4:
        return Strike("no trace", "", chance.uniform(1.0, 4.0))
    minutes = chance.choice([-10, -2, -0.5, 0.5, 2, 10])
    return Strike("clock", chance.choice(list(PROGRAMS[house])), minutes * 60)
