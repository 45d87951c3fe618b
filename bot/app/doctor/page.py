"""The page and its chat: whether they are on, and why not."""

from __future__ import annotations

from collections.abc import Sequence

from bot.app.doctor.bind import is_ours, why_not_to_be_had
from bot.app.doctor.case import Case
from bot.app.http import another
from bot.page.access.shut import why_shut
from bot.runtime.checks import Finding, ok, warning

PART = "page"
_ANY = ("", "0.0.0.0", "[::]", "::")  # noqa: S104  # to be told about, not to be listened on
_LOCAL_ONLY = "PAGE__LOCAL=false shuts it for this machine too; PAGE__PASSWORD asks whoever opens it."


async def check_page(case: Case) -> Sequence[Finding]:
    """Whoever gets through its door reads every conversation, and talks to the bot as an operator."""
    settings = case.settings
    host = settings.http_bind.rpartition(":")[0]
    if reason := why_shut(settings):
        return [ok(PART, f"The page and the chat in the browser are off. {reason}")]
    if not await is_ours(case) and why_not_to_be_had(settings.http_bind):
        sentence = f"The page cannot be at http://{settings.http_bind}/: something else has that address."
        return [warning(PART, sentence, f"HTTP_BIND={another(settings.http_bind)} chooses another one.")]
    where = f"http://{settings.http_bind}/ and its chat at /chat"
    if not (settings.page.password or settings.page.token):
        return [ok(PART, f"The page is at {where}, open to everybody on this machine.", _LOCAL_ONLY)]
    if not settings.page.password:
        return [ok(PART, f"The page is at {where}; PAGE__TOKEN opens it.")]
    if host in _ANY and not settings.page.proxies:
        advice = "Let a proxy with TLS stand before it, and name it in PAGE__PROXIES, or bind to 127.0.0.1."
        return [warning(PART, f"The page is at {where} without TLS: its password can be read on the way.", advice)]
    return [ok(PART, f"The page is at {where}; PAGE__PASSWORD opens it.")]
