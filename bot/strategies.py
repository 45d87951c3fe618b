"""The strategies of this process: what there is, with the options that the settings give them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from bot.compaction import Strategy
from bot.compaction.options import with_options
from bot.errors import ConfigurationError
from bot.foreign_strategy import guarded
from bot.settings import Settings
from bot.strategy_path import named


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
        chosen = named(settings.agents.strategy, strategies)
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
