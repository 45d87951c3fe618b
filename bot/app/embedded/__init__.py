"""Valkey and a local model: the servers that come with the program, so that a clone runs by itself."""

from __future__ import annotations

from bot.errors import PalimpsestError


class EmbeddedError(PalimpsestError):
    """An embedded server cannot run; the text is one sentence: why, and what to do where that is known."""
