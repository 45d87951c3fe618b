"""The connectors of a process, as its settings want them. Part of the composition root."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.messages import Address
from bot.runtime.settings import Settings

if TYPE_CHECKING:
    from bot.connector import Connector

LOCAL_MODEL_NOTE = (
    "No key is set, so a small local model answers: a toy brain in a real body. For Claude set ANTHROPIC_API_KEY; for "
    "others OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, …; for Ollama MODEL=ollama/NAME (docs/models.md)."
)


def platforms(settings: Settings) -> list[Connector]:
    """Those of `palimpsest run`: the platforms that have a token, and the web where its page is open."""
    from bot.agent.commands.table import offered
    from bot.page.context import why_shut

    connectors: list[Connector] = []
    if settings.telegram_token:
        from connectors.telegram import Telegram

        token = settings.telegram_token.get_secret_value()
        secret = settings.telegram_webhook_secret
        connectors.append(
            Telegram(
                token,
                api_base=settings.telegram_api_base,
                commands=offered(),
                groups=settings.groups,
                webhook_url=settings.telegram_webhook_url,
                webhook_secret=secret.get_secret_value() if secret else None,
            )
        )
    if settings.discord_token:
        from connectors.discord import Discord

        connectors.append(
            Discord(
                settings.discord_token.get_secret_value(),
                api_base=settings.discord_api_base,
                gateway=settings.discord_gateway,
                commands=offered(),
                groups=settings.groups,
            )
        )
    if not why_shut(settings):
        from connectors.web import Web

        connectors.append(Web(settings.data_dir / "agents"))
    return connectors


def terminal(settings: Settings, address: Address, notes: Sequence[str] = ()) -> Connector:
    """The one of `palimpsest chat`: a prompt, or pipes. ``notes``: what is to be said of the settings."""
    said = [*notes, local_note(settings)] if settings.uses_local_model else [*notes]
    if not sys.stdin.isatty():
        from connectors.terminal.pipe import Pipe

        sys.stderr.writelines(f"{line}\n" for line in said)
        return Pipe(address, out=sys.stdout, err=sys.stderr)
    from bot.agent.commands.table import completions, offered
    from connectors.terminal.connector import Terminal

    banner = f"Palimpsest · {address.agent_id} · /help lists commands, Ctrl-C stops an answer, Ctrl-D leaves."
    banner = "\n".join([banner, *said])
    history = settings.data_dir / "agents" / address.agent_id / "input_history"
    return Terminal(address, history_file=history, commands=offered(), continues=completions, banner=banner)


def local_note(settings: Settings) -> str:
    """What is said where the local model answers."""
    ignored = f" MODEL={settings.model} is ignored until a key is set." if settings.model else ""
    return f"{LOCAL_MODEL_NOTE}{ignored}"
