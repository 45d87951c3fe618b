"""`palimpsest doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from bot.app.cli.process import log_quietly, run_to_its_end
from bot.errors import ConfigurationError

if TYPE_CHECKING:
    from bot.runtime.checks import Finding
    from bot.runtime.settings import Settings


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Also look whether another program polls Telegram with our token.")
    ] = False,
) -> None:
    """Check every part, and say what to do. It changes nothing, and may be called while the program runs."""
    from bot.app.doctor import report

    findings = _findings(probe=probe)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    print(report.as_json(findings) if as_json else report.as_text(findings, columns))
    if report.worst(findings) == "problem":
        raise typer.Exit(1)


def _findings(*, probe: bool) -> list[Finding]:
    from bot.runtime.checks import problem
    from bot.runtime.env_file import place_in_words
    from bot.runtime.settings import load_settings

    try:
        settings = load_settings()
    except ConfigurationError as error:
        return [problem("settings", str(error), f"Correct it there. {place_in_words()}")]
    log_quietly(settings)
    return run_to_its_end(_examine(settings, probe=probe))


async def _examine(settings: Settings, *, probe: bool) -> list[Finding]:
    import aiohttp

    from bot.app.doctor.case import Case
    from bot.app.doctor.examine import examine
    from bot.app.doctor.web import Web
    from bot.runtime.env_file import place_in_words, read_env_file
    from bot.runtime.settings import variables

    async with aiohttp.ClientSession() as session:
        web = Web(session, time.time)
        case = Case(settings, web, variables(), probe, env_file=read_env_file(), place=place_in_words())
        return await examine(case)
