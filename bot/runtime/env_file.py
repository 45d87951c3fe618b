"""`.env`: which names stand in it, and what in it is no setting at all.

python-dotenv reads the values. What it cannot read it passes over, with a line in a log that nobody looks at, and the
setting then has its default; so it is looked at here first.
"""

from __future__ import annotations

import io
import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dotenv.parser import Binding, parse_stream

from bot.errors import ConfigurationError

ENV_FILE: Final = Path(".env")
_PROGRAM = "palimpsest"
_LIVES_HERE = ("data/palimpsest.db", "data/mcp.json")
"""A folder in which it has run, or was told of servers that may want variables of their own."""
ENCODING: Final = "utf-8-sig"
"""Editors on Windows begin a file with a mark, which would become part of the first name."""

logging.getLogger("dotenv").setLevel(logging.ERROR)  # its warnings are told below, as errors


@dataclass(frozen=True)
class EnvFile:
    """The lines on which each name stands, as it is written there."""

    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def env_file() -> Path:
    """The `.env` that counts: that of the current folder; where there is none, or it seems to be another program's, the
    one of this user, which `palimpsest setup` makes for a program that has no folder of its own."""
    if ENV_FILE.exists() and not is_of_another_program():
        return ENV_FILE
    own = user_env_file()
    return own if own.is_file() else ENV_FILE


def is_of_another_program() -> bool:
    """Whether the `.env` of the current folder seems to be one."""
    if any(Path(sign).exists() for sign in _LIVES_HERE):
        return False
    from bot.runtime.settings_check import of_others  # it wants the names of all settings, and is wanted by them

    try:
        return bool(of_others(read_env_file(ENV_FILE)))
    except ConfigurationError:
        return False


def place_in_words() -> str:
    """Which settings count where this is called, in a sentence."""
    file, own = env_file(), user_env_file()
    if not file.exists():
        return f"Settings are read from the environment alone: there is no .env in {Path.cwd()}, and no {own}."
    if file == own:
        why = "the .env there seems to be another program's" if ENV_FILE.exists() else "it has no .env of its own"
        return f"Settings are read from the environment and {own}: this is {Path.cwd()}, and {why}."
    return f"Settings are read from the environment and {file.absolute()}; another folder has its own."


def user_env_file() -> Path:
    """Where systems keep what one user has set: `~/.config/palimpsest/.env`, or as macOS has it."""
    import platformdirs  # not needed where there is a `.env`

    return Path(platformdirs.user_config_dir(_PROGRAM), ENV_FILE)


def user_data_folder() -> Path:
    """Where systems keep the data of one user: `~/.local/share/palimpsest`, or as macOS has it."""
    import platformdirs

    return Path(platformdirs.user_data_dir(_PROGRAM))


def read_env_file(path: Path | None = None) -> EnvFile:
    """What stands there, or in the one that counts; nothing, where there is no such file. Raises ConfigurationError
    with a sentence, which quotes no line: it may be a secret."""
    path = path or env_file()
    try:
        text = path.read_text(encoding=ENCODING)
    except FileNotFoundError:
        return EnvFile()
    except IsADirectoryError as error:
        raise ConfigurationError(
            f"{path} is a folder: take it away, or put a file of settings in its place."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path} is not UTF-8: save it as UTF-8, or take out the letters that are not."
        ) from error
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}. Let this user read it.") from error
    bindings = list(parse_stream(io.StringIO(text)))
    if wrong := [_line(binding) for binding in bindings if binding.error or (binding.key and binding.value is None)]:
        where = f"line {wrong[0]} is" if len(wrong) == 1 else f"lines {', '.join(map(str, wrong))} are"
        raise ConfigurationError(
            f"{path}: {where} no NAME=VALUE. Write that, with both quotation marks or none, or # before it."
        )
    lines: dict[str, tuple[int, ...]] = defaultdict(tuple)
    for binding in bindings:
        if binding.key:
            lines[binding.key] += (_line(binding),)
    return EnvFile(dict(lines))


def _line(binding: Binding) -> int:
    """The blank lines before it are taken for a part of it."""
    string = binding.original.string
    return binding.original.line + string[: len(string) - len(string.lstrip())].count("\n")
