"""Who provides models, which of them the settings mean, and what documentation says of known models: data, read when a
setting needs it.

Who only asks Anthropic reads none of it. What is asked of a server is in :mod:`bot.model.providers`.
"""

from bot.runtime.providers.choice import ANTHROPIC, CUSTOM, DEFAULT_MODEL, Choice, Unresolved
from bot.runtime.providers.table import Provider, Quirks, Wire, providers

__all__ = ["ANTHROPIC", "CUSTOM", "DEFAULT_MODEL", "Choice", "Provider", "Quirks", "Unresolved", "Wire", "providers"]
