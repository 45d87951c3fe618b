"""HTTP_BIND: free, or ours."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from bot.app.doctor.case import Case
from bot.app.doctor.web import Unreachable
from bot.app.http import another, listening_at
from bot.page.access.shut import why_shut
from bot.runtime.checks import Finding, ok, problem, warning

PART = "http"
_PATIENCE = 2.0
_ANY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # to be asked, not to be listened on


async def check_bind(case: Case) -> Sequence[Finding]:
    """A running program answers there; otherwise the address must be one that can be had."""
    bind = case.settings.http_bind
    if await is_ours(case):
        return [ok(PART, f"A running program answers on HTTP_BIND={bind}.")]
    if reason := why_not_to_be_had(bind):
        return [_taken(case, f"HTTP_BIND={bind} cannot be listened on: {reason}.")]
    return [ok(PART, f"HTTP_BIND={bind} is free.")]


async def is_ours(case: Case) -> bool:
    """Whether a running program answers on HTTP_BIND."""
    host, _, port = case.settings.http_bind.rpartition(":")
    host = host.strip("[]")
    asked = _ANY.get(host, host)
    if port == "0":
        return False
    return await _answers(case, f"http://{f'[{asked}]' if ':' in asked else asked}:{port}/healthz")


def why_not_to_be_had(bind: str) -> str:
    """Why nothing can listen on this host:port now; empty where something can."""
    try:
        listening_at(bind).close()
    except OSError as error:
        return str(error)
    return ""


def _taken(case: Case, sentence: str) -> Finding:
    settings = case.settings
    advice = f"Choose another host:port, e.g. HTTP_BIND={another(settings.http_bind)}, or end what listens there."
    shut = why_shut(settings)
    is_alone = not (shut or settings.telegram_token or settings.discord_token)
    if "http_bind" in settings.model_fields_set or settings.telegram_webhook_url or is_alone:
        return problem(PART, sentence, advice)
    without = "health endpoints" if shut else "the page and health endpoints"
    return warning(PART, f"{sentence} The program goes on without {without}.", advice)


async def _answers(case: Case, url: str) -> bool:
    with suppress(Unreachable):
        return bool((await case.web.get(url, patience=_PATIENCE)).get("status") == "ok")
    return False
