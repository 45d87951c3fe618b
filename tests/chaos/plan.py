"""What happens in a run: who says what, and what strikes when. Pure: the same seed gives the same plan.

What the processes do in between is not in anybody's hands, so a seed brings about the same blows and not always the
same fault; `make chaos SEED=n RUNS=20` tries one again and again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

HouseKind = Literal["embedded", "apart", "fleet"]
HOUSES: tuple[HouseKind, ...] = ("embedded", "apart", "fleet")
PROGRAMS: Mapping[HouseKind, Mapping[str, tuple[str, ...]]] = {
    "embedded": {"all": ()},
    "apart": {role: ("--role", role) for role in ("gateway", "agents", "worker")},
    "fleet": {
        f"{role}-{number}": ("--role", role)
        for role, count in (("gateway", 2), ("agents", 3), ("worker", 2))
        for number in range(1, count + 1)
    },
}
"""The processes of a house: a name, and what `run` is told."""
CHATS = 4
"""Three people in private, and a group of them all."""
GROUP = CHATS - 1

Wish = Literal["", "punch", "read", "both", "long"]
StrikeKind = Literal[
    "kill", "restart", "freeze", "kill valkey", "freeze valkey", "wipe", "kill postgres", "freeze postgres",
    "cut", "blackhole", "rate limit", "overloaded", "broken model", "silent model", "cut stream", "error in stream",
    "garbage", "empty answer", "flood", "bad gateway", "lost answer", "slow platform", "no trace", "clock",
]  # fmt: skip


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


Act: TypeAlias = Says | Commands | Edits | Repeats | Strike


@dataclass(frozen=True)
class Plan:
    """``acts``: each after so many seconds of nothing."""

    seed: int
    house: HouseKind
    webhook: bool
    acts: Sequence[tuple[float, Act]]

    def __str__(self) -> str:
        mode = ", by webhook" if self.webhook else ""
        return "\n".join(
            [f"seed {self.seed}: {self.house}{mode}", *(f"  +{wait:.2f} {act}" for wait, act in self.acts)]
        )


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
    return Plan(seed, kind, webhook, acts)


def _warm_up() -> Iterator[Act]:
    return (Says(chat, "long" if chat % 2 else "") for chat in range(CHATS))


def some_talk(chance: random.Random, chats: int = CHATS) -> Act:
    """What a person, or the platform with their words, does next."""
    chat = chance.randrange(chats)
    kind = chance.choices(["says", "commands", "edits", "repeats"], [14, 5, 2, 2])[0]
    if kind == "says":
        return Says(chat, chance.choices(["", "punch", "read", "both", "long"], [6, 2, 1, 1, 4])[0])  # type: ignore[arg-type]
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
    seconds = chance.uniform(1.0, 8.0) if kind == "freeze" else chance.uniform(0.0, 0.5)
    return Strike(kind, target, seconds)  # type: ignore[arg-type]


def _of_stores(house: HouseKind, chance: random.Random) -> Strike:
    kinds: list[StrikeKind] = ["kill valkey", "freeze valkey", "wipe"]
    if house == "fleet":
        kinds += ["kill postgres", "kill postgres", "freeze postgres"]
    kind = chance.choice(kinds)
    if kind == "freeze postgres" and chance.random() < _SHARE_OF_LONG:
        return Strike(kind, "", chance.uniform(16.0, 20.0))  # longer than a statement may take
    return Strike(kind, "", chance.uniform(0.5, 6.0) if "freeze" in kind else chance.uniform(0.1, 1.5))


def _of_wires(house: HouseKind, chance: random.Random) -> Strike:
    wires = ["model", "telegram"] + (["valkey", "postgres"] * 2 if house == "fleet" else [])
    return Strike(chance.choice(["cut", "blackhole"]), chance.choice(wires), chance.uniform(0.5, 6.0))


def _of_the_model(_house: HouseKind, chance: random.Random) -> Strike:
    kinds: list[StrikeKind] = [
        "rate limit", "overloaded", "broken model", "silent model", "cut stream", "error in stream", "garbage",
        "empty answer",
    ]  # fmt: skip
    return Strike(chance.choice(kinds), "", chance.uniform(0.5, 3.0), times=chance.choice([1, 1, 2, 6]))


def _of_the_platform(_house: HouseKind, chance: random.Random) -> Strike:
    kinds: list[StrikeKind] = ["flood", "bad gateway", "lost answer", "slow platform"]
    methods = ["sendMessage", "sendMessage", "editMessageText", "getUpdates", "sendRichMessage", "*"]
    return Strike(chance.choice(kinds), chance.choice(methods), chance.uniform(0.5, 2.0), times=chance.randint(1, 3))


def _of_the_machine(house: HouseKind, chance: random.Random) -> Strike:
    if chance.random() < 0.4:
        return Strike("no trace", "", chance.uniform(1.0, 4.0))
    minutes = chance.choice([-10, -2, -0.5, 0.5, 2, 10])
    return Strike("clock", chance.choice(list(PROGRAMS[house])), minutes * 60)
