"""The table is at :mod:`bot.runtime.providers`, where the settings can read it too."""

from bot.runtime.providers import Provider, Quirks, Wire, providers

__all__ = ["Provider", "Quirks", "Wire", "providers"]
