"""The strategies of this process: what there is, with the options that the settings give them; and somebody's own, by
where it is imported from (`my_module:MyStrategy`)."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from bot.compaction import Strategy
from bot.compaction.options import with_options
from bot.errors import ConfigurationError
from bot.runtime.foreign_strategy import guarded
from bot.runtime.settings import Settings

_LAST_PYTHON = (3, 13)
"""For which there is WordLlama, by the extra `vectors` of pyproject.toml."""


class Strategies:
    """Strategies by name. ``default`` is that of every agent that has chosen none."""

    def __init__(self, known: Mapping[str, Strategy], default: str) -> None:
        self._known = known
        self.default = known[default]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in alphabetical order."""
        return tuple(sorted(self._known))

    def get(self, name: str) -> Strategy | None:
        """The strategy of this name, if there is one."""
        return self._known.get(name)


def configured(strategies: Mapping[str, Strategy], settings: Settings) -> Strategies:
    """Raises ConfigurationError for a name that there is not, and for an option that cannot be."""
    try:
        chosen = named(settings.strategy_of_all, strategies)
    except ConfigurationError as error:
        raise ConfigurationError(f"AGENTS__STRATEGY: {error}") from error
    if chosen.name in strategies and chosen is not strategies[chosen.name]:
        raise ConfigurationError(f"AGENTS__STRATEGY: {chosen.name} is the name of one of ours; give yours another.")
    known = {**strategies, chosen.name: chosen}
    for name in settings.strategy:
        if name not in known:
            raise ConfigurationError(
                f"STRATEGY__{name.upper()}: {name} is not a strategy; there is: {', '.join(sorted(known))}."
            )
    return Strategies({name: _with_settings(strategy, settings) for name, strategy in known.items()}, chosen.name)


def _with_settings(strategy: Strategy, settings: Settings) -> Strategy:
    """With the levels of all agents, as far as they were set, where it has such options, and then with its own
    settings."""
    names = {field.name for field in fields(strategy.options)} if is_dataclass(strategy.options) else set()
    chosen = settings.agents.model_fields_set
    levels = {"warning": settings.agents.warning, "critical": settings.agents.critical}
    values: dict[str, object] = {name: value for name, value in levels.items() if name in names & chosen}
    try:
        return guarded(with_options(strategy, values | settings.strategy.get(strategy.name, {})))
    except ValueError as error:
        given = settings.strategy.get(strategy.name, {})
        told = [name.upper() for name in given if re.search(rf"\b{re.escape(name)}\b", str(error))] or ["*"]
        variables = ", ".join(f"STRATEGY__{strategy.name.upper()}__{name}" for name in told)
        raise ConfigurationError(f"{variables}: {error}") from error


def how_to_get_vectors(python: tuple[int, ...] = sys.version_info[:2]) -> str:
    """What to do where a strategy wants vectors, and there is nobody who makes them."""
    if python[:2] > _LAST_PYTHON:
        return f"Set EMBEDDINGS__URL: for Python {'.'.join(map(str, python[:2]))} there is no WordLlama."
    return "Install palimpsest[vectors], which brings WordLlama, or set EMBEDDINGS__URL."


def named(name: str, strategies: Mapping[str, Strategy]) -> Strategy:
    """A strategy among these, or `package.module:attribute`: one itself, or what makes one when it is called without
    arguments. Modules in the current folder are found too.

    Raises ConfigurationError with a sentence for a name that there is not, and for what is no strategy.
    """
    if name in strategies:
        return strategies[name]
    if ":" not in name:
        raise ConfigurationError(
            f"{name!r} is not a strategy; there is: {', '.join(sorted(strategies))}, or your own as module:attribute."
        )
    found = _made(_imported(name), name)
    lacking = [part for part in ("name", "options", "level", "plan") if not hasattr(found, part)]
    if lacking:
        raise ConfigurationError(f"The strategy {name} has no {', '.join(lacking)}, so it is none.")
    if not isinstance(found.name, str) or not found.name or not callable(found.level) or not callable(found.plan):
        raise ConfigurationError(f"The strategy {name} is none: its name is a text, and level and plan are functions.")
    strategy: Strategy = found
    return strategy


def _imported(name: str) -> Any:
    path, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # at the end: a file of somebody's folder takes no library's place
    try:
        found: Any = importlib.import_module(path)
    except (Exception, SystemExit) as error:  # somebody else's module may do anything when it is imported
        raise ConfigurationError(f"The strategy {name} cannot be imported: {_told(error)}.") from error
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise ConfigurationError(f"The strategy {name} cannot be imported: {path} has no {attribute!r}.") from error
    return found


def _made(found: Any, name: str) -> Any:
    """A class or a function is called; a strategy is taken as it is."""
    if not callable(found) or (hasattr(found, "plan") and not isinstance(found, type)):
        return found
    try:
        return found()
    except (Exception, SystemExit) as error:  # likewise
        raise ConfigurationError(f"The strategy {name} cannot be made: {_told(error)}.") from error


def _told(error: BaseException) -> str:
    line = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
