"""The settings, by the check that every program makes of them at its start."""

from __future__ import annotations

from collections.abc import Sequence

from bot.app.doctor.case import Case
from bot.runtime.checks import Finding, ok
from bot.runtime.settings_check import PART, check


async def check_variables(case: Case) -> Sequence[Finding]:
    """What it says of another part (access, MCP, Telegram) is told by the check of that part."""
    found = check(case.settings, case.variables, case.env_file)
    told = [finding for finding in found if finding.part == PART] or [ok(PART, "All settings are known.")]
    return [ok(PART, case.place), *told] if case.place else told
