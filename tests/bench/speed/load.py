"""People who write: messages at a rate, over many chats, and what became of each."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.bench.speed.marks import nonce_of
from tests.bench.speed.rig import Rig

FIRST_CHAT = 1_001
_numbers: Iterator[int] = itertools.count(1)


@dataclass(frozen=True)
class Outcome:
    """One answered message: seconds from the moment when the platform handed it out."""

    number: int
    chat: int
    handed: float
    """The system-wide monotonic clock."""
    typing: float
    """Until the platform was told to show that somebody writes; NaN when it was not."""
    first_words: float
    """Until a part of the answer reached the platform."""
    final: float
    """Until the whole answer did."""
    model: float
    """Of that, from the arrival of the request at the model to its last byte."""

    @property
    def added(self) -> float:
        """What the program itself took."""
        return self.final - self.model


async def say(rig: Rig, chat: int, words: str = "") -> int:
    """A person writes a message of their own in this chat; returns its number."""
    number = next(_numbers)
    await rig.platform.ask("/bench/say", chat=chat, text=f"{nonce_of(number)} tell me more {words}".strip())
    return number


async def write(
    rig: Rig, *, rate: float, seconds: float, chats: Sequence[int], seed: int = 1, even: bool = False
) -> list[int]:
    """Messages at ``rate`` a second, to the chats in turn, at random moments (Poisson) or ``even``; returns numbers."""
    chance = random.Random(seed)
    numbers: list[int] = []
    begin = time.monotonic()
    at = 0.0
    for chat in itertools.cycle(chats):
        at += 1 / rate if even else chance.expovariate(rate)
        if at > seconds:
            return numbers
        await asyncio.sleep(max(0.0, begin + at - time.monotonic()))
        numbers.append(await say(rig, chat))
    raise AssertionError("no chats")


async def once_each(rig: Rig, chats: Sequence[int], *, rate: float, patience: float = 120.0) -> list[int]:
    """One message in each chat, evenly; returns when all are answered."""
    numbers = []
    begin = time.monotonic()
    for index, chat in enumerate(chats):
        await asyncio.sleep(max(0.0, begin + index / rate - time.monotonic()))
        numbers.append(await say(rig, chat))
    await until_answered(rig, numbers, patience)
    return numbers


async def one_by_one(rig: Rig, chats: Iterable[int], *, patience: float = 120.0) -> list[int]:
    """One message in each chat, each when the last was answered."""
    numbers = []
    for chat in chats:
        numbers.append(await say(rig, chat))
        await until_answered(rig, numbers[-1:], patience)
    return numbers


async def until_answered(rig: Rig, numbers: Sequence[int], patience: float = 120.0) -> None:
    """Return when all of them have their answers. Raises TimeoutError, with what the program wrote."""
    try:
        await rig.platform.wait("/bench/answered", patience=patience, numbers=list(numbers))
    except TimeoutError as error:
        raise TimeoutError(f"not all of {len(numbers)} messages were answered\n{rig.logged()}") from error


async def outcomes(rig: Rig, numbers: Sequence[int]) -> list[Outcome]:
    """What became of these messages, all of which are answered."""
    seen, asked = await rig.platform.ask("/bench/records"), await rig.model.ask("/bench/records")
    of_model = {
        number: one["done"] - one["arrived"]
        for one in asked["asked"]
        if one["kind"] != "summary"
        for number in one["numbers"]
    }
    handed, chats = {}, {}
    for at, _, chat, named in seen["said"]:
        for number in named:
            handed[number], chats[number] = at, chat
    typed: dict[int, list[float]] = defaultdict(list)
    words: dict[int, float] = {}
    final: dict[int, float] = {}
    for at, method, chat, named, is_final, _, _ in seen["calls"]:
        if method == "sendChatAction":
            typed[chat].append(at)
        for number in named:
            words.setdefault(number, at)
            if is_final:
                final.setdefault(number, at)
    found = []
    for number in numbers:
        begin, end = handed[number], final[number]
        typing = next((at for at in typed[chats[number]] if begin <= at <= end), float("nan"))
        found.append(
            Outcome(
                number,
                chats[number],
                begin,
                typing - begin,
                words[number] - begin,
                end - begin,
                of_model.get(number, 0.0),
            )
        )
    return found
