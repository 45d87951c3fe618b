"""The connectors of a process, as its settings want them. Part of the composition root."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from bot.messages import Address, Attachment
from bot.page.access.shut import why_shut
from bot.runtime.access import WEB
from bot.runtime.settings import Settings

if TYPE_CHECKING:
    from pydantic import SecretStr

    from bot.connector import Connector
    from connectors.terminal.connector import Terminal

LOCAL_MODEL_NOTE = (
    "No key is set, so a tiny stand-in answers, for everything to be tried: it reads only what was said last, and "
    "much of what it says is wrong. For a real model: `palimpsest setup`, or set ANTHROPIC_API_KEY, OPENAI_API_KEY, "
    "GEMINI_API_KEY, OPENROUTER_API_KEY, …; for Ollama MODEL=ollama/NAME."
)


def platform_names(settings: Settings) -> tuple[str, ...]:
    """Those of `palimpsest run`: the platforms that have a token, and the web where its page is open."""
    with_token = [name for name, token in _tokens(settings).items() if token]
    return tuple(with_token if why_shut(settings) else [*with_token, WEB])


def modules_of(names: Sequence[str]) -> tuple[str, ...]:
    """What :func:`platform` imports for these."""
    return ("bot.agent.commands.table", *(f"connectors.{name}" for name in names)) if names else ()


def platforms(settings: Settings) -> list[Connector]:
    """The connectors of :func:`platform_names`. Raises ConfigurationError for a token that cannot be one."""
    return [platform(settings, name) for name in platform_names(settings)]


def platform(settings: Settings, name: str) -> Connector:
    """The one that is called so, whose token is set. Raises ConfigurationError for a token that cannot be one."""
    if name == WEB:
        from connectors.web import Web

        return Web(settings.data_dir / "agents")
    from bot.agent.commands.table import offered

    token = _tokens(settings)[name]
    assert token
    if name == "telegram":
        from connectors.telegram import Telegram

        secret = settings.telegram_webhook_secret
        return Telegram(
            token.get_secret_value(),
            api_base=settings.telegram_api_base,
            commands=offered(),
            groups=settings.groups,
            webhook_url=settings.telegram_webhook_url,
            webhook_secret=secret.get_secret_value() if secret else None,
        )
    from connectors.discord import Discord

    return Discord(
        token.get_secret_value(),
        api_base=settings.discord_api_base,
        gateway=settings.discord_gateway,
        commands=offered(),
        groups=settings.groups,
    )


def _tokens(settings: Settings) -> Mapping[str, SecretStr | None]:
    return {"telegram": settings.telegram_token, "discord": settings.discord_token}


def who_answers(settings: Settings) -> str:
    """The model that talks, as people call it."""
    return "the small local model" if settings.uses_local_model else settings.talker.name


def piped(
    settings: Settings,
    address: Address,
    notes: Sequence[str] = (),
    *,
    says: Sequence[str] | None = None,
    files: Sequence[Attachment] = (),
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> Connector:
    """The one of `palimpsest chat` where nobody sits at a terminal. ``notes``: what is to be said of the settings;
    ``says``: the messages, else the lines of standard input; ``files`` go with the first of them."""
    from connectors.terminal.pipe import Pipe

    sys.stderr.writelines(f"{line}\n" for line in _said(settings, notes))
    waiting = f"⏳ Waiting for an answer of {who_answers(settings)}; Ctrl-C ends it."
    return Pipe(address, says=says, files=files, out=out or sys.stdout, err=err or sys.stderr, waiting=waiting)


def terminal(settings: Settings, address: Address, notes: Sequence[str] = ()) -> Terminal:
    """The one of `palimpsest chat` with a prompt. ``notes``: what is to be said of the settings."""
    from bot.agent.commands.table import completions, offered
    from connectors.terminal.connector import Terminal

    about = "/help lists commands, @ attaches a file, Ctrl-C stops an answer, Ctrl-D leaves."
    banner = "\n".join([f"Palimpsest · {address.agent_id}", about, *_said(settings, notes)])
    folder = settings.data_dir / "agents" / address.agent_id
    return Terminal(
        address,
        history_file=folder / "input_history",
        unsent_file=folder / ".unsent",
        commands=offered(),
        continues=completions,
        banner=banner,
    )


def files_named(text: str) -> Sequence[Attachment]:
    """What a message at the terminal would take along for an `@` before its name. Looks at the disk."""
    from connectors.terminal.attach import mentioned

    return mentioned(text)[0]


def write_line(file: TextIO, text: str) -> None:
    """A text and the end of a line, as a pipe writes its answers."""
    from connectors.terminal.pipe import write

    write(file, text)


def write_answer(file: TextIO, text: str) -> None:
    """An answer: set from Markdown on a terminal, raw elsewhere."""
    from connectors.terminal.pipe import write_answer as write

    write(file, text)


def _said(settings: Settings, notes: Sequence[str]) -> Sequence[str]:
    return [*notes, local_note(settings)] if settings.uses_local_model else notes


def local_note(settings: Settings) -> str:
    """What is said where the local model answers."""
    ignored = f" MODEL={settings.model} is ignored until a key is set." if settings.model else ""
    return f"{LOCAL_MODEL_NOTE}{ignored}"
