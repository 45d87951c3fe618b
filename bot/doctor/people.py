"""Who may talk to the bot: ACCESS, ALLOW, ADMINS."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.doctor.case import Case
from bot.doctor.finding import Finding, ok, problem, warning
from bot.settings import Settings

PART = "access"
_PERSON = re.compile(r"(?:telegram|discord):\d+")
_CHAT = re.compile(r"telegram:-\d+")
_KNOWN = {
    "pairing": "Unknown people get a code; `palimpsest pair approve CODE` lets them in.",
    "allowlist": "Only people in ALLOW and ADMINS are answered.",
    "open": "Everybody is answered.",
}


async def check_people(case: Case) -> Sequence[Finding]:
    """Entries that name nobody, and doors that stand open or are shut for all."""
    settings = case.settings
    findings = [_wrong(variable, entry) for variable, entry in _wrong_entries(settings)]
    platform = settings.telegram_token or settings.discord_token
    if platform and settings.access == "open":
        advice = "ACCESS=pairing lets in whom you approve; RATE__PERSON and RATE__CHAT bound what others cost."
        findings.append(warning(PART, "ACCESS=open: everybody who finds the bot talks to it at your cost.", advice))
    if platform and settings.access == "allowlist" and not settings.allow | settings.admins:
        advice = "Name people in ALLOW as connector:id, or set ACCESS=pairing."
        findings.append(problem(PART, "ACCESS=allowlist and nobody is in ALLOW: nobody is answered.", advice))
    return findings or [ok(PART, _KNOWN[settings.access])]


def _wrong_entries(settings: Settings) -> list[tuple[str, str]]:
    named = [("ALLOW", entry) for entry in settings.allow] + [("ADMINS", entry) for entry in settings.admins]
    return sorted((variable, entry) for variable, entry in named if not _PERSON.fullmatch(entry))


def _wrong(variable: str, entry: str) -> Finding:
    if _CHAT.fullmatch(entry):
        sentence = f"{variable} has {entry}: a group or channel, which lets in only who writes in its name."
        return warning(PART, sentence, "Name the people, each as telegram:12345.")
    advice = "Write connector:id with the number of the person, e.g. telegram:12345 or discord:67890, not a name."
    return problem(PART, f"{variable} has {entry}, which names nobody.", advice)
