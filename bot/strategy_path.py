"""A strategy by its name, or somebody's own by where it is imported from: `my_module:MyStrategy`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.compaction import Strategy
from bot.errors import ConfigurationError


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
