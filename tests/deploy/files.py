"""The files of `deploy/`, read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bot.runtime.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
GRACE = 10
"""Seconds that a process is given beyond SHUTDOWN_SECONDS."""


def document(path: Path) -> dict[str, Any]:
    """A YAML file that holds one object."""
    [found] = documents(path)
    return found


def documents(path: Path) -> list[dict[str, Any]]:
    """All objects of a YAML file."""
    return [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one is not None]


def instructions() -> list[tuple[str, str]]:
    """Of the Dockerfile, in order: the word, and what follows it on one line."""
    text = re.sub(r"^\s*#.*\n", "", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(word, rest) for line in lines if line for word, _, rest in [line.partition(" ")]]


def last_stage() -> list[tuple[str, str]]:
    """The instructions that make the image itself."""
    found = instructions()
    begin = max(number for number, (word, _) in enumerate(found) if word == "FROM")
    return found[begin:]


def value_of(word: str) -> str:
    """What follows the only instruction of this name in the image."""
    [found] = [rest for name, rest in last_stage() if name == word]
    return found


def image_environment() -> dict[str, str]:
    """What ENV sets in the image."""
    pairs = " ".join(rest for word, rest in last_stage() if word == "ENV").split()
    return dict(pair.split("=", 1) for pair in pairs)


def is_setting(name: str) -> bool:
    """Whether the program reads this variable."""
    return name.partition("__")[0].lower() in Settings.model_fields


def interpolated(text: str, values: Mapping[str, str]) -> str:
    """As compose does it: `${NAME}`, `${NAME:-default}`, `${NAME:?what to do}`."""

    def value(found: re.Match[str]) -> str:
        name, how, rest = found.groups()
        if values.get(name):
            return values[name]
        assert how != ":?", f"{name}: {rest}"
        return rest or ""

    return re.sub(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}", value, text)
