"""What a check says of a part of the program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from bot.errors import PalimpsestError

State = Literal["ok", "warning", "problem"]
_PATIENCE_SECONDS = 6.0
"""Whoever asks whether all is well is answered, also when a part does not answer."""


@dataclass(frozen=True)
class Finding:
    """One thing about one part. ``advice`` says what to do, where something is to be done."""

    part: str
    state: State
    sentence: str
    advice: str = ""


@dataclass(frozen=True)
class Unreached(Finding):
    """A problem: nobody answered, so it is not known whether the rest is right."""


def ok(part: str, sentence: str, advice: str = "") -> Finding:
    """As it should be."""
    return Finding(part, "ok", sentence, advice)


def warning(part: str, sentence: str, advice: str) -> Finding:
    """It works, but not as somebody may expect."""
    return Finding(part, "warning", sentence, advice)


def problem(part: str, sentence: str, advice: str) -> Finding:
    """It does not work."""
    return Finding(part, "problem", sentence, advice)


def unreached(part: str, sentence: str, advice: str) -> Unreached:
    """It does not work, because nobody answers."""
    return Unreached(part, "problem", sentence, advice)


def as_line(finding: Finding) -> str:
    """What is wrong, and what to do."""
    return f"{finding.sentence} {finding.advice}".strip()


Check = Callable[[], Awaitable[str | None]]
"""Returns when a part works, or does what it should, with a note where there is something to say; raises a
PalimpsestError when it does not."""


async def state_of(check: Check, seconds: float = _PATIENCE_SECONDS) -> tuple[bool, str]:
    """Whether a part works, and ``ok``, a note, or what is wrong; asked for so long at most."""
    try:
        async with asyncio.timeout(seconds):
            return True, await check() or "ok"
    except TimeoutError:
        return False, "no answer"
    except PalimpsestError as error:
        return False, str(error)
