"""The strategy that the settings choose, with the options that they set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from bot.compaction import Strategy
from bot.errors import ConfigurationError
from bot.settings import Settings


def configured(strategies: Mapping[str, Strategy], settings: Settings) -> Strategy:
    """Raises ConfigurationError for a name that there is not."""
    chosen: Any = strategies.get(settings.agents.strategy)
    if chosen is None:
        raise ConfigurationError(
            f"AGENTS__STRATEGY={settings.agents.strategy} is not a strategy; there is: {', '.join(sorted(strategies))}."
        )
    known = {field.name for field in fields(chosen.options)}
    levels = {"warning": settings.agents.warning, "critical": settings.agents.critical}
    options = replace(chosen.options, **{name: value for name, value in levels.items() if name in known})
    strategy: Strategy = replace(chosen, options=options)
    return strategy
