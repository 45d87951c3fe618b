"""Every contender on every conversation at every share: what was kept, how large it is, whether a provider takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from bot.estimate import estimate_tokens
from bot.messages import Message
from tests.bench.yardstick import needs, planted
from tests.bench.yardstick.contenders import Contender
from tests.bench.yardstick.generated import generated
from tests.bench.yardstick.needs import Need
from tests.bench.yardstick.planted import Plant, Score, Verdict
from tests.bench.yardstick.recorded import cuts
from tests.bench.yardstick.wordings import LANGUAGES, SETS
from tests.servers.messages.rules import Rules
from tests.servers.messages.wire import Refused

SHARES = (0.50, 0.25, 0.10)
SMALLEST = 1_000
"""Tokens: what is shorter is not measured, nobody compacts it."""

_RULES = Rules(window=10**9, max_tokens=8_192)
_LANGUAGE_COUNTS = {"en": 6, "ru": 3, "zh": 3}


class Half(StrEnum):
    """Which conversations."""

    TUNED = "tuned"
    """Even-numbered ones and wordings A: strategies may have been tuned on them."""
    HELD_OUT = "held out"
    """Odd-numbered ones and wordings B: the result."""


@dataclass(frozen=True)
class Case:
    """A conversation to be compacted. ``group``: the kind of table it counts in."""

    group: str
    half: Half
    messages: list[Message]
    needs: Sequence[Need] = ()
    plants: Sequence[Plant] = ()
    language: str = "en"


@dataclass(frozen=True)
class Trial:
    """One contender on one conversation with one limit."""

    contender: str
    share: float
    case: Case = field(repr=False)
    size: float
    """Tokens afterwards as a share of those before."""
    fits: bool
    valid: bool
    kept: Sequence[Need]
    verdict: Verdict


def generated_cases(seed: int, *, quick: bool) -> list[Case]:
    """Generated conversations in both sets of wordings."""
    return [
        Case("generated", half, made.messages, plants=made.plants, language=language)
        for half, wordings in zip(Half, SETS, strict=True)
        for language in LANGUAGES
        for number in range(1 if quick else _LANGUAGE_COUNTS[language])
        for made in [generated(seed + number, language, wordings)]
    ]


def recorded_cases(conversations: Sequence[list[Message]], seed: int, *, quick: bool) -> list[Case]:
    """Recorded conversations: even-numbered ones and odd-numbered ones, never stitched together."""
    most = 20 if quick else len(conversations)
    found = [
        Case(cut.shape, half, cut.before, needs=cut.needs)
        for index, half in enumerate(Half)
        for cut in cuts(conversations[index:most:2], Random(seed + index))
    ]
    return [case for case in found if estimate_tokens(case.messages) >= SMALLEST]


def trials(contenders: Iterable[Contender], cases: Sequence[Case]) -> Iterator[Trial]:
    """All of them. A request that does not fit cannot be sent, so it keeps nothing."""
    for contender in contenders:
        for case in cases:
            before = estimate_tokens(case.messages)
            for share in SHARES:
                limit = round(share * before)
                request = list(contender.compact(case.messages, limit))
                after = estimate_tokens(request)
                fits = after <= limit
                yield Trial(
                    contender.name,
                    share,
                    case,
                    after / before,
                    fits,
                    is_valid(request),
                    needs.kept(case.needs, request) if fits else (),
                    planted.judged(case.plants, request) if fits else planted.lost(case.plants),
                )


def is_valid(request: Sequence[Message]) -> bool:
    """Whether a strict provider takes it with one more message of a person; nothing at all is no request."""
    if not request:
        return False
    messages = list(request)
    if messages[-1]["role"] == "assistant":
        messages.append(Message(role="user", content="go on"))
    blocks = [block for message in messages for block in message["content"] if not isinstance(block, str)]
    names = {block["name"] for block in blocks if block.get("type") == "tool_use"}
    tools = [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in sorted(names)]
    body = {"model": "claude-test", "max_tokens": 1, "messages": messages, **({"tools": tools} if tools else {})}
    try:
        _RULES.check(body)
    except Refused:
        return False
    return True


def share_kept(some: Iterable[Trial], *, kind: str = "", only_new: bool = False) -> Score:
    """Of the values that later calls need, those that the requests hold; of one kind, or only those that nobody says
    again before the call.
    """
    wanted = Counter[bool]()
    for trial in some:
        for is_kept, found in ((False, trial.case.needs), (True, trial.kept)):
            wanted[is_kept] += sum(
                (not kind or need.kind == kind) and not (only_new and need.comes_again) for need in found
            )
    return Score(wanted[True], wanted[False])


def verdict_on(some: Iterable[Trial]) -> Verdict:
    """Of what was planted, all trials together."""
    return sum((trial.verdict for trial in some), Verdict())
