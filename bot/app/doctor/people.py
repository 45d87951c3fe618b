"""Who may talk to the bot: ACCESS, ALLOW, ADMINS."""

from __future__ import annotations

from collections.abc import Sequence

from bot.app.doctor.case import Case
from bot.runtime.checks import Finding, ok, warning
from bot.runtime.settings_check import ACCESS, people

_KNOWN = {
    "pairing": "Unknown people get a code; `palimpsest pair approve CODE` lets them in.",
    "allowlist": "Only people in ALLOW and ADMINS are answered.",
    "open": "Everybody is answered.",
}


async def check_people(case: Case) -> Sequence[Finding]:
    """Entries that name nobody, and doors that stand open or are shut for all."""
    settings = case.settings
    findings = list(people(settings))
    platform = settings.telegram_token or settings.discord_token
    if platform and settings.access == "open":
        advice = "ACCESS=pairing lets in whom you approve; RATE__PERSON and RATE__CHAT bound what others cost."
        findings.append(warning(ACCESS, "ACCESS=open: everybody who finds the bot talks to it at your cost.", advice))
    return findings or [ok(ACCESS, _KNOWN[settings.access])]
