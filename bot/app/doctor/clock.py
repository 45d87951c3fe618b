"""The clock: it stands behind everything that has a time, and behind TLS."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from bot.app.doctor.case import Case
from bot.app.doctor.web import Unreachable
from bot.runtime.checks import Finding, ok, warning

PART = "clock"
_MOST_SECONDS = 60.0


async def check_clock(case: Case) -> Sequence[Finding]:
    """Against what servers said that the other checks asked; at worst, the model's server is asked."""
    ahead = case.web.ahead
    talks = case.settings.talker
    if not ahead and not talks.is_local:
        with suppress(Unreachable):
            await case.web.get(talks.base_url or "https://api.anthropic.com", patience=2.0)
    if not ahead:
        return [ok(PART, "Not compared: no server was asked.")]
    host, seconds = min(ahead.items(), key=lambda item: abs(item[1]))
    if abs(seconds) <= _MOST_SECONDS:
        return [ok(PART, f"It agrees with {host}.")]
    how = "ahead of" if seconds > 0 else "behind"
    advice = "Switch on time synchronisation (timedatectl set-ntp true): codes expire and rates count by this clock."
    return [warning(PART, f"It is {abs(seconds):,.0f} s {how} that of {host}.", advice)]
