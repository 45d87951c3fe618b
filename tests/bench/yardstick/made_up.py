"""Generated conversations, measured: what of that which was planted in them a request holds, and what it gets wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.estimate import estimate_tokens
from bot.messages import Message
from tests.bench.yardstick import planted
from tests.bench.yardstick.contenders import Contender
from tests.bench.yardstick.figures import Figure, Measure
from tests.bench.yardstick.generated import generated
from tests.bench.yardstick.planted import Plant
from tests.bench.yardstick.requests import compacted, is_valid
from tests.bench.yardstick.wordings import LANGUAGES, SETS, SetName

SHARES = (0.50, 0.25, 0.10)
GROUP = "generated "
"""Before the language and the set of wordings."""
_COUNTS = {"en": 3, "ru": 2, "zh": 2}


@dataclass(frozen=True)
class Case:
    """A generated conversation. All wordings but A are held out."""

    language: str
    wordings: SetName
    messages: list[Message]
    plants: tuple[Plant, ...]


def cases(seed: int, *, quick: bool) -> list[Case]:
    """Generated conversations in all sets of wordings."""
    return [
        Case(language, wordings, made.messages, made.plants)
        for wordings in SETS
        for language in LANGUAGES
        for number in range(1 if quick else _COUNTS[language])
        for made in [generated(seed + number, language, wordings)]
    ]


def figures(contender: Contender, some: list[Case]) -> Iterator[Figure]:
    """What a contender makes of them. A request that does not fit cannot be sent, so it keeps nothing."""
    for case in some:
        before = estimate_tokens(case.messages)
        for share in SHARES:
            request, fits = compacted(contender, case.messages, round(share * before))
            found = planted.judged(case.plants, request) if fits else planted.lost(case.plants)
            for measure, score in (
                (Measure.FACTS, found.facts),
                (Measure.RULES, found.rules),
                (Measure.STALE, found.stale),
                (Measure.REVIVED, found.revived),
                (Measure.FITS, planted.Score(fits, 1)),
                (Measure.VALID, planted.Score(is_valid(request), 1)),
            ):
                group = f"{GROUP}{case.language} {case.wordings}"
                yield Figure(measure, group, case.wordings != "A", share, contender.name, score)
