"""Telegram: the token, what it says of the bot, and how updates come. https://core.telegram.org/bots/api"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from bot.app.doctor.case import Case, revealed
from bot.app.doctor.redis import is_held
from bot.app.doctor.telegram_webhook import check_webhook
from bot.app.doctor.web import Answer, Unreachable
from bot.bus.leases import CONNECTOR
from bot.runtime.checks import Finding, ok, problem, unreached, warning
from bot.runtime.settings import Settings

PART = "telegram"
_MANY = 100


async def check_telegram(case: Case, *, listens: bool = False) -> Sequence[Finding]:
    """Nothing is confirmed and no webhook is changed; only with ``probe`` may another poller lose a poll. ``listens``:
    whoever asks polls next, and sees by themselves whether somebody else does."""
    settings = case.settings
    if not settings.telegram_token:
        return [ok(PART, "TELEGRAM_TOKEN is not set: Telegram is off.")]
    try:
        me = await _call(case, "getMe")
        if me.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND):
            return [_wrong_token(settings)]
        if me.status != HTTPStatus.OK or not isinstance(me.get("result"), dict):
            return [_strange(settings, me)]
        info = await _call(case, "getWebhookInfo")
    except Unreachable as error:
        return [_unreachable(settings, error)]
    bot, hook = me.get("result"), info.get("result")
    hook = hook if isinstance(hook, dict) else {}
    findings = [*_privacy(settings, bot)]
    if settings.telegram_webhook_url:
        findings += await check_webhook(case, settings.telegram_webhook_url, hook)
    else:
        pending = int(hook.get("pending_update_count", 0))
        findings += _left_over(hook) or ([] if listens else await _pollers(case, pending))
    return [ok(PART, f"The token is that of @{bot.get('username')}."), *findings]


async def username_of(case: Case) -> str:
    """What the bot is called there, without @; empty where the token is none. Raises Unreachable."""
    bot = (await _call(case, "getMe")).get("result")
    return str(bot.get("username", "")) if isinstance(bot, dict) else ""


async def waiting_updates(case: Case) -> int:
    """How many updates nobody has received yet. Raises Unreachable."""
    hook = (await _call(case, "getWebhookInfo")).get("result")
    return int(hook.get("pending_update_count", 0)) if isinstance(hook, dict) else 0


async def _call(case: Case, method: str, *, patience: float = 4.0, **query: str) -> Answer:
    base = (case.settings.telegram_api_base or "https://api.telegram.org").rstrip("/")
    url = f"{base}/bot{revealed(case.settings.telegram_token)}/{method}"
    return await case.web.get(url, patience=patience, query=query)


def _wrong_token(settings: Settings) -> Finding:
    advice = "Set TELEGRAM_TOKEN to the token that @BotFather gave you (/mybots, your bot, API Token)."
    if settings.telegram_api_base:
        advice += " TELEGRAM_API_BASE must be the root of a Bot API server, without /bot."
    return problem(PART, "Telegram does not know the token.", advice)


def _strange(settings: Settings, answer: Answer) -> Finding:
    said = f"Telegram answers {answer.status} ({answer.get('description', 'and is no Bot API')})."
    where = "TELEGRAM_API_BASE" if settings.telegram_api_base else "the network, and try again in a while"
    return problem(PART, said, f"Check {where}.")


def _unreachable(settings: Settings, error: Unreachable) -> Finding:
    if settings.telegram_api_base:
        host = urlsplit(settings.telegram_api_base).netloc.rpartition("@")[2]
        advice = f"Check TELEGRAM_API_BASE, and that a Bot API server runs at {host}; unset, it is Telegram's own."
        return unreached(PART, f"TELEGRAM_API_BASE cannot be reached: {error}.", advice)
    advice = (
        "Check the network, DNS and firewall (https to api.telegram.org); where it is blocked, TELEGRAM_API_BASE names "
        "a Bot API server elsewhere."
    )
    return unreached(PART, f"Telegram cannot be reached: {error}.", advice)


def _privacy(settings: Settings, bot: dict[str, object]) -> list[Finding]:
    if settings.groups != "always" or bot.get("can_read_all_group_messages"):
        return []
    advice = (
        "Send /setprivacy to @BotFather, choose the bot, Disable; then take the bot out of its groups and add it "
        "again. Or set GROUPS=mention, or make it an administrator of the group."
    )
    return [warning(PART, "GROUPS=always, but in groups Telegram shows the bot only what is meant for it.", advice)]


def _left_over(hook: dict[str, object]) -> list[Finding]:
    """A webhook that somebody set, where we poll."""
    if not hook.get("url"):
        return []
    host = urlsplit(str(hook["url"])).hostname
    advice = "If another program uses this token there, give each its own bot; otherwise there is nothing to do."
    return [warning(PART, f"A webhook leads to {host}: it is removed when the program starts.", advice)]


async def _pollers(case: Case, pending: int) -> list[Finding]:
    """Whether somebody else may be receiving with this token."""
    advice = "If it goes on, another program uses this token, or this one hangs: look at its log."
    if await is_held(case.settings, CONNECTOR.of("telegram")):
        if pending >= _MANY:
            return [warning(PART, f"{pending} updates wait although a program receives them.", advice)]
        return [ok(PART, "A running program receives its updates.")]
    waiting = f" {pending} updates wait." if pending else ""
    if not case.probe:
        note = "`palimpsest doctor --probe` looks; it may end one poll of that program."
        return [ok(PART, f"Not looked whether another program polls with this token.{waiting}", note)]
    if await _conflicts(case):
        advice = "End the other program, or get a bot of its own for it: Telegram serves one at a time."
        return [problem(PART, "Another program polls with this token.", advice)]
    return [ok(PART, f"No other program polls with this token.{waiting}")]


async def _conflicts(case: Case) -> bool:
    """Poll without an offset, which confirms nothing: a poller that was sent away comes again and sends us away.

    Updates that wait come back at once; that they wait means that nobody takes them.
    """
    seconds = case.probe_seconds
    try:
        polled = await _call(case, "getUpdates", patience=seconds + 2, timeout=str(seconds), limit="1")
    except Unreachable:
        return False
    return polled.status == HTTPStatus.CONFLICT
