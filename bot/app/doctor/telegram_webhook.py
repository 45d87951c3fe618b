"""The way from Telegram to a webhook: what Telegram says of it, and whether it leads here."""

from __future__ import annotations

import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from bot.app.doctor.case import Case
from bot.app.doctor.web import Unreachable
from bot.runtime.checks import Finding, ok, problem, warning
from bot.runtime.settings_check import webhook_address

PART = "telegram"
_LATELY = 3600.0
_BEHIND = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})


async def check_webhook(case: Case, url: str, hook: Mapping[str, Any]) -> list[Finding]:
    """``url`` is where Telegram is to call; ``hook`` is what getWebhookInfo says."""
    if wrong := list(webhook_address(case.settings)):
        return wrong
    return [*_errors(hook), *_elsewhere(url, hook), await _way(case, url)]


def _errors(hook: Mapping[str, Any]) -> list[Finding]:
    said = hook.get("last_error_message")
    waiting = int(hook.get("pending_update_count", 0))
    if not said or not (waiting or time.time() - float(hook.get("last_error_date", 0)) < _LATELY):
        return []
    sentence = f"Telegram could not deliver to the webhook: {said} ({waiting} updates wait)."
    advice = (
        "Check that TELEGRAM_WEBHOOK_URL leads through the proxy to HTTP_BIND, that its certificate is valid, and that "
        "`palimpsest run` runs."
    )
    if "401" in str(said) or "403" in str(said):
        advice = (
            "Check that the proxy passes the header X-Telegram-Bot-Api-Secret-Token on and lets Telegram in, and that "
            "TELEGRAM_WEBHOOK_SECRET is the same for all gateways; the log says `webhook_refused` where it is not ours."
        )
    return [problem(PART, sentence, advice)]


def _elsewhere(url: str, hook: Mapping[str, Any]) -> list[Finding]:
    there = str(hook.get("url") or "")
    if not there or there == url:
        return []
    sentence = f"The webhook leads to {urlsplit(there).hostname} now; the program sets its own when it starts."
    return [warning(PART, sentence, "If another program uses this token there, give each its own bot.")]


async def _way(case: Case, url: str) -> Finding:
    """Our webhook takes only POST: it answers 405 to what we ask."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    try:
        answer = await case.web.get(url)
    except Unreachable as error:
        advice = "Check its DNS, port and certificate from outside; some networks cannot reach their own address."
        return warning(PART, f"{host} cannot be reached from here: {error}.", advice)
    if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
        return ok(PART, f"The webhook at {host} leads to a running program.")
    if answer.status in _BEHIND:
        advice = f"Start `palimpsest run`, and let the proxy lead to HTTP_BIND={case.settings.http_bind}."
        return warning(PART, f"{host} answers {answer.status}: behind the proxy nothing answers.", advice)
    advice = "Let the proxy pass the whole path on to HTTP_BIND, unchanged."
    return warning(PART, f"{host} answers {answer.status}: the webhook's path does not lead to the program.", advice)
