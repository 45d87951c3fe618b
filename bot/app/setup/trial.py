"""What trying an answer comes to: it works, it is wrong, or nobody was there to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from bot.app.doctor.case import secrets_of
from bot.runtime.checks import Finding, Unreached
from bot.runtime.redact import redact
from bot.runtime.settings import Settings

State = Literal["works", "wrong", "untried"]


@dataclass(frozen=True)
class Trial:
    """``findings``: in the doctor's words, without secrets."""

    state: State
    findings: Sequence[Finding]


AnyTrial = TypeVar("AnyTrial", bound=Trial)


def trial_of(findings: Sequence[Finding], settings: Settings | None = None) -> Trial:
    """By the worst of them; who could not be reached may be right."""
    secrets = secrets_of(settings) if settings else ()
    told = [
        replace(one, sentence=redact(one.sentence, secrets), advice=redact(one.advice, secrets)) for one in findings
    ]
    problems = [one for one in told if one.state == "problem"]
    if not problems:
        return Trial("works", told)
    return Trial("untried" if all(isinstance(one, Unreached) for one in problems) else "wrong", told)
