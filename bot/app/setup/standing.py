"""What is set already, for whoever sets it up; no key of it is shown whole."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bot.app.setup.env_lines import TAKEN_OUT, Changes, TakenOut
from bot.app.setup.settings_file import SettingsFile, is_made_by_setup
from bot.errors import ConfigurationError
from bot.runtime.env_file import env_file, user_env_file
from bot.runtime.settings import OF_A_PROVIDER, variables

_NAMES = frozenset(
    {
        "MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "TELEGRAM_TOKEN", "DISCORD_TOKEN",
        "DATABASE_URL",
    }
)  # fmt: skip
LIMIT = "AGENTS__EMERGENCY_CONTEXT_LIMIT"
"""What the step of the model asks where nobody says how large a window is."""
_SHOWN_BEGIN, _SHOWN_END, _LONG = 3, 4, 16


def is_set_up() -> bool:
    """Whether a `.env` or the environment names a model or a platform, or the program has talked here before, or was
    set up without a key, and what answers then is there."""
    given = {name.upper(): value for name, value in variables().items() if value.strip()}
    if _NAMES & given.keys() or _of_providers(given):
        return True
    data_dir = Path(given.get("DATA_DIR", "data")).expanduser()
    return (data_dir / "palimpsest.db").exists() or (is_made_by_setup(env_file()) and _has_brain(data_dir))


def _has_brain(data_dir: Path) -> bool:
    from bot.app.embedded import EmbeddedError
    from bot.app.embedded.brain import find_brain

    try:
        return bool(find_brain(data_dir))
    except EmbeddedError:
        return False


def is_named(file: SettingsFile) -> bool:
    """Whether somebody said which model answers."""
    given = file.given()
    return bool((_NAMES - {"TELEGRAM_TOKEN", "DISCORD_TOKEN", "DATABASE_URL"}) & given.keys() or _of_providers(given))


def places(file: SettingsFile) -> list[str]:
    """Where settings and data are, and for which calls they count."""
    path = file.path.absolute()
    with suppress(ConfigurationError):
        data = file.settings().data_dir
        kept = f"Settings: {path}. Data: {data if data.is_absolute() else path.parent / data}."
        if path == user_env_file():
            return [kept, "They count wherever you call `palimpsest`, but in a folder that has a .env of its own."]
        return [kept, f"They count where you call `palimpsest` in {path.parent}; another folder has its own."]
    return [f"Settings: {path}."]


def serving(file: SettingsFile) -> list[str]:
    """What whoever starts `palimpsest run` can do then, which itself says the rest."""
    from bot.page.access.shut import why_shut

    settings = file.settings()
    page = "" if why_shut(settings) else f" Its chat page is http://{settings.http_bind}/chat."
    return [f"Write to your bot.{page}"]


def masked(secret: str) -> str:
    """So much of it that one knows which it is: `sk-…9f2a`."""
    return f"{secret[:_SHOWN_BEGIN]}…{secret[-_SHOWN_END:]}" if len(secret) >= _LONG else "…"


def shown(changes: Changes) -> list[str]:
    """Lines as they stand in the file, with secrets as :func:`masked`; what was set aside or taken
    out is named."""
    return [_shown(name, value) for name, value in changes.items()]


def _shown(name: str, value: str | TakenOut | None) -> str:
    if value is None:
        return f"{name} is set aside (a comment now)"
    if value is TAKEN_OUT:
        return f"{name} is taken out"
    return f"{name}={masked(value) if _is_secret(name) else value}"


def standing(file: SettingsFile) -> list[str]:
    """What is set of the steps, as lines of a `.env`; nothing where nothing is."""
    given = file.given()
    wanted = [name for name in given if name in {*_NAMES, "ADMINS", LIMIT} or name in _of_providers(given)]
    return shown({name: given[name] for name in sorted(wanted)})


def _of_providers(given: Mapping[str, str]) -> frozenset[str]:
    if not any(OF_A_PROVIDER.search(name) for name in given):
        return frozenset()
    from bot.runtime.providers import providers  # a table, which is read where something looks like one of it

    return frozenset(name for one in providers().values() for name in one.variables) & given.keys()


def _is_secret(name: str) -> bool:
    return name.endswith(("_KEY", "_TOKEN", "_URL")) and not name.endswith("_BASE_URL")
