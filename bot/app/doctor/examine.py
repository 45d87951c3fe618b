"""Runs all checks at once, none of them for long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from bot.app.doctor.bind import check_bind
from bot.app.doctor.case import Case, Check, secrets_of
from bot.app.doctor.clock import check_clock
from bot.app.doctor.database import check_database
from bot.app.doctor.discord import check_discord
from bot.app.doctor.folder import check_folder
from bot.app.doctor.mcp import check_mcp
from bot.app.doctor.model import check_model
from bot.app.doctor.page import check_page
from bot.app.doctor.people import check_people
from bot.app.doctor.redis import check_redis
from bot.app.doctor.shell import check_shell
from bot.app.doctor.telegram import check_telegram
from bot.app.doctor.variables import check_variables
from bot.app.doctor.volume import check_volume
from bot.errors import PalimpsestError
from bot.runtime.checks import Finding, problem
from bot.runtime.redact import redact

CHECKS: Sequence[tuple[str, Check]] = (
    ("settings", check_variables),
    ("access", check_people),
    ("data folder", check_folder),
    ("database", check_database),
    ("volume", check_volume),
    ("redis", check_redis),
    ("model", check_model),
    ("mcp", check_mcp),
    ("shell", check_shell),
    ("telegram", check_telegram),
    ("discord", check_discord),
    ("http", check_bind),
    ("page", check_page),
)
_SECONDS = 12.0
"""For all checks; each knows its own limits, and this is for the one that hangs all the same."""


async def examine(case: Case) -> list[Finding]:
    """The findings of all checks, in their order; no secret of the settings is in them."""
    found = await asyncio.gather(*(_limited(part, check, case) for part, check in CHECKS))
    findings = [finding for part in found for finding in part] + list(await check_clock(case))
    secrets = secrets_of(case.settings)
    return [
        replace(finding, sentence=redact(finding.sentence, secrets), advice=redact(finding.advice, secrets))
        for finding in findings
    ]


async def _limited(part: str, check: Check, case: Case) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(_SECONDS):
            return await check(case)
    except TimeoutError:
        return [problem(part, f"No answer within {_SECONDS:.0f} s.", "Look whether it is overloaded, or cut off.")]
    except PalimpsestError as error:
        return [problem(part, str(error), "Do what it says, and call `palimpsest doctor` again.")]
    except Exception as error:  # noqa: BLE001  # one check that is broken must not hide what the others found
        advice = "This is a defect of the check itself: please report it."
        return [problem(part, f"The check broke off: {type(error).__name__}: {error}", advice)]
