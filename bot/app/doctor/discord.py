"""Discord: the token, the intent, the servers that the bot is in, and the gateway. https://docs.discord.com"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from bot.app.doctor.case import Case, revealed
from bot.app.doctor.web import Answer, Unreachable
from bot.runtime.checks import Finding, ok, problem, unreached, warning
from bot.runtime.settings import Settings

PART = "discord"
_MESSAGE_CONTENT = 1 << 18 | 1 << 19
"""GATEWAY_MESSAGE_CONTENT of a verified bot, and of one in fewer than 100 servers."""
PERMISSIONS = sum(
    1 << bit
    for bit in (
        6,  # Add Reactions
        10,  # View Channels
        11,  # Send Messages
        15,  # Attach Files
        16,  # Read Message History
        38,  # Send Messages in Threads
    )
)
_AGENT = "DiscordBot (palimpsest doctor, 1)"
_HELLO = 10


async def check_discord(case: Case) -> Sequence[Finding]:
    """No session is opened: a running program keeps its own."""
    settings = case.settings
    if not settings.discord_token:
        return [ok(PART, "DISCORD_TOKEN is not set: Discord is off.")]
    try:
        me = await _call(case, "/users/@me")
        if me.status == HTTPStatus.UNAUTHORIZED:
            advice = "Reset the token under Bot at https://discord.com/developers/applications, and set DISCORD_TOKEN."
            return [problem(PART, "Discord does not know the token.", advice)]
        if me.status != HTTPStatus.OK or not me.get("id"):
            return [_strange(settings, me)]
        application = await _call(case, "/applications/@me")
        guilds = await _call(case, "/users/@me/guilds", limit="1")
    except Unreachable as error:
        return [_unreachable(settings, error)]
    findings = [ok(PART, f"The token is that of {me.get('username')}.")]
    findings += _intent(application, str(me.get("id")))
    findings += _servers(guilds, str(application.get("id") or me.get("id")))
    return [*findings, await _gateway(case)]


async def application_of(case: Case) -> tuple[str, str]:
    """The application's id, and what the bot is called; empty where the token is none. Raises Unreachable."""
    me = await _call(case, "/users/@me")
    application = await _call(case, "/applications/@me")
    return str(application.get("id") or me.get("id") or ""), str(me.get("username") or "")


async def _call(case: Case, path: str, **query: str) -> Answer:
    base = (case.settings.discord_api_base or "https://discord.com/api/v10").rstrip("/")
    headers: Mapping[str, str] = {
        "Authorization": f"Bot {revealed(case.settings.discord_token)}",
        "User-Agent": _AGENT,
    }
    return await case.web.get(f"{base}{path}", headers=headers, query=query)


def _strange(settings: Settings, answer: Answer) -> Finding:
    said = f"Discord answers {answer.status} ({answer.get('message', 'and is no Discord API')})."
    if settings.discord_api_base:
        return problem(PART, said, "Check DISCORD_API_BASE; it ends in the version, e.g. /api/v10.")
    return problem(PART, said, "Try again in a while; https://discordstatus.com says whether it is Discord.")


def _unreachable(settings: Settings, error: Unreachable) -> Finding:
    name = "DISCORD_API_BASE" if settings.discord_api_base else "Discord"
    advice = "Check DISCORD_API_BASE." if settings.discord_api_base else "Check the network, DNS and firewall."
    return unreached(PART, f"{name} cannot be reached: {error}.", advice)


def _intent(application: Answer, bot_id: str) -> list[Finding]:
    if application.status != HTTPStatus.OK or int(application.get("flags") or 0) & _MESSAGE_CONTENT:
        return []
    page = f"https://discord.com/developers/applications/{application.get('id') or bot_id}/bot"
    advice = f"Switch on Message Content Intent under Privileged Gateway Intents at {page}, save, and start again."
    return [problem(PART, "The Message Content Intent is off: the bot cannot read what people write.", advice)]


def _servers(guilds: Answer, application_id: str) -> list[Finding]:
    if guilds.status != HTTPStatus.OK or guilds.body:
        return []
    advice = f"Open {invite(application_id)} and choose a server."
    return [warning(PART, "The bot is in no server yet.", advice)]


def invite(application_id: str) -> str:
    """Where somebody adds the bot to a server, with what it needs there."""
    what = f"scope=bot+applications.commands&permissions={PERMISSIONS}"
    return f"https://discord.com/oauth2/authorize?client_id={application_id}&{what}"


async def _gateway(case: Case) -> Finding:
    try:
        url = case.settings.discord_gateway or (await _call(case, "/gateway")).get("url") or ""
        words = await case.web.first_words(f"{url}?v=10&encoding=json" if "?" not in url else url)
    except Unreachable as error:
        name = "DISCORD_GATEWAY" if case.settings.discord_gateway else "Discord's gateway"
        return problem(PART, f"{name} cannot be reached: {error}.", "Check that WebSockets (wss, port 443) may leave.")
    host = urlsplit(url).hostname
    if not isinstance(words, dict) or words.get("op") != _HELLO:
        return problem(PART, f"The gateway at {host} does not say hello.", "Check DISCORD_GATEWAY.")
    return ok(PART, f"The gateway at {host} answers.")
