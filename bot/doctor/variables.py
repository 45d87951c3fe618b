"""Variables that look like settings and are none."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel

from bot.compaction import STRATEGIES
from bot.doctor.case import Case
from bot.doctor.finding import Finding, ok, problem, warning
from bot.errors import ConfigurationError
from bot.settings import AgentsSettings, Settings
from bot.strategies import configured

PART = "settings"
_ALIKE = 0.82
_PLATFORMS = ("TELEGRAM_", "DISCORD_")
_MEANT = {"ANTHROPIC_MODEL": "MODEL", "BOT_TOKEN": "TELEGRAM_TOKEN"}
_OTHERS = frozenset({"GROUP", "HOSTMODEL"})
"""What shells set."""


async def check_variables(case: Case) -> Sequence[Finding]:
    """Unknown names in the environment and `.env`, and what pydantic cannot see."""
    findings = [_of(name) for name in unknown(case.variables)]
    try:
        configured(STRATEGIES, case.settings)
    except ConfigurationError as error:
        findings.append(problem(PART, str(error), "Set AGENTS__STRATEGY to one of these, or take it away."))
    findings += _of_shares(case.settings.agents)
    return findings or [ok(PART, "All settings are known.")]


def _of_shares(agents: AgentsSettings) -> Iterator[Finding]:
    """Percent where a share is wanted: it is taken, and means something else."""
    meant = "It is a share of the limit: write {} for {:g} %."
    if agents.warning > 1:
        sentence = f"AGENTS__WARNING={agents.warning:g} turns automatic compaction off."
        yield warning(PART, sentence, meant.format(f"{agents.warning / 100:g}", agents.warning))
    if agents.critical > 1:
        sentence = f"AGENTS__CRITICAL={agents.critical:g} is a level that no conversation reaches."
        yield warning(PART, sentence, meant.format(f"{agents.critical / 100:g}", agents.critical))


def unknown(variables: Mapping[str, str]) -> list[str]:
    """The names of set variables that look like one of ours and are none."""
    known = set(_names(Settings))
    groups = tuple({f"{name.split('__')[0]}__" for name in known if "__" in name})
    given = sorted({name.upper() for name, value in variables.items() if value} - known - _OTHERS)
    return [name for name in given if name.startswith((*groups, *_PLATFORMS)) or _nearest(name)]


def _of(name: str) -> Finding:
    nearest = _nearest(name)
    advice = f"Did you mean {nearest}?" if nearest else "Take it away, or look for its name in .env.example."
    return warning(PART, f"{name} is set, and is no setting of this program.", advice)


def _nearest(name: str) -> str | None:
    close = difflib.get_close_matches(name, list(_names(Settings)), n=1, cutoff=_ALIKE)
    return _MEANT.get(name) or (close[0] if close else None)


def _names(group: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in group.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _names(kind, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}"
