"""HTTP_BIND: free, or ours."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress

from bot.app.doctor.case import Case
from bot.app.doctor.web import Unreachable
from bot.runtime.checks import Finding, ok, problem, warning

PART = "http"
_PATIENCE = 2.0
_ANY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # to be asked, not to be listened on


async def check_bind(case: Case) -> Sequence[Finding]:
    """A running program answers there; otherwise the address must be one that can be had."""
    bind = case.settings.http_bind
    host, _, port = bind.rpartition(":")
    host = host.strip("[]")
    asked = _ANY.get(host, host)
    if port != "0" and await _is_ours(case, f"http://{f'[{asked}]' if ':' in asked else asked}:{port}/healthz"):
        return [ok(PART, f"A running program answers on HTTP_BIND={bind}.")]
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host or "0.0.0.0", int(port)), family=family).close()  # noqa: S104
    except OSError as error:
        sentence = f"HTTP_BIND={bind} cannot be listened on: {error.strerror or error}."
        return [_taken(case, sentence)]
    return [ok(PART, f"HTTP_BIND={bind} is free.")]


def _taken(case: Case, sentence: str) -> Finding:
    advice = "Choose another host:port, or end what listens there."
    needed = "http_bind" in case.settings.model_fields_set or case.settings.telegram_webhook_url
    if needed:
        return problem(PART, sentence, advice)
    return warning(PART, f"{sentence} The program goes on without health endpoints.", advice)


async def _is_ours(case: Case, url: str) -> bool:
    with suppress(Unreachable):
        return bool((await case.web.get(url, patience=_PATIENCE)).get("status") == "ok")
    return False
