"""Whether a process shows the page at all. Needs nothing that serves it."""

from __future__ import annotations

from bot.page.access.caller import is_loopback
from bot.runtime.settings import Settings


def why_shut(settings: Settings) -> str:
    """Why this process shows no page, with what to do; empty when it does."""
    page, host = settings.page, settings.http_bind.rpartition(":")[0]
    if page.password or page.token:
        return ""
    if not is_loopback(host):
        return f"HTTP_BIND={settings.http_bind} is reached from elsewhere: set PAGE__PASSWORD to have the page there."
    if not page.local:
        return "PAGE__LOCAL is off: set PAGE__PASSWORD to have the page."
    if settings.telegram_webhook_url:
        return "Something forwards Telegram's calls to this address: set PAGE__PASSWORD to have the page there."
    return ""
